"""Words that look alike in ELMo's softmax: vectors from characters without a correction, with a short one and with a long one, and a table.

python benchmarks/look_alikes.py [--corrections 0 128 8] [--size nano] [--steps 500] [--megabytes 3] [--out FOLDER]

All make the same updates with the same sampled softmax. On held-out text, every word that has a look-alike (`inspection/look_alikes.py`) is compared
with it and, as a control, with the word behind the look-alike in the order of frequency: in how many places the wrong one is more probable, and how
much of the probability of both it gets. If it is interrupted, the same command resumes it.
"""

import argparse
import lzma
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cosine_similarity, linear

from side_by_side import conditions, data, stairs
from stairs.inspection.look_alikes import OutputSpellings
from stairs.tasks.parts.stream import overlapping_batch
from stairs.text.batch import IGNORE_INDEX
from stairs.training.run import Run, load

HELD_OUT_BYTES = 120_000
CONTEXT, ROWS = 128, 16
VOCABULARY, SAMPLES = 8000, 512


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corrections", type=int, nargs="+", default=[0, 128, 8])
    parser.add_argument("--size", default="nano")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--megabytes", type=int, default=3)
    parser.add_argument("--out", default="runs/look-alikes")
    options = parser.parse_args()
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    text = out / "text.txt"
    with lzma.open(data("corpora/wiki_en.txt.xz")) as packed:
        text.write_bytes(packed.read(options.megabytes * 1_000_000).rsplit(b"\n", 1)[0])
        held_out = packed.read(HELD_OUT_BYTES).decode(errors="ignore").split("\n", 1)[1]
    shared = ["--size", options.size, "--output-vocab", VOCABULARY, "--samples", SAMPLES, "--threads", 1]
    shared += ["--steps", options.steps, "--evaluate-every", options.steps]
    runs = {f"characters, correction {width}": ("--softmax", "cnn", "--correction-width", width) for width in options.corrections}
    columns = "bits a word", "mistaken", "control", "share", "control", "cosine", "control", "CPU s"
    print(f"{'':30}" + "".join(f"{column:>13}" for column in columns) + f"   {conditions()}", flush=True)
    for name, own in {**runs, "table": ("--softmax", "sampled")}.items():
        folder = out / name.replace(", correction ", "-")
        stairs("train", "elmo", text, *shared, *own, "--out", folder, cache=out / "cache")
        measured = [*evaluate(folder, held_out), Run(folder).metrics()[-1]["cpu_seconds"]]
        print(f"{name:30}" + "".join(f"{value:13.3f}" for value in measured), flush=True)


@torch.no_grad()
def evaluate(folder: Path, text: str) -> Iterator[float]:
    """Bits per word; then, against look-alikes and controls in turn: places where the word is less probable, the mean share of the wrong one, and the
    mean cosine of the output vectors of the different pairs, less the mean of all, which the softmax does not see."""
    task = load(folder)
    model, output = task.model, OutputSpellings(task)
    ids = np.array(task.tokenizer.encode(text))
    weight, nll, tokens = model.output_weight, 0.0, 0
    similar = {number: found.id for number in set(ids.tolist()) if (found := output.look_alike(number)) is not None}
    wrong = [similar, {word: control(word, other, model.output_vocab) for word, other in similar.items()}]
    shares: list[list[torch.Tensor]] = [[], []]
    stride = CONTEXT // 2
    rows = np.arange(-(-len(ids) // stride))
    for group in np.array_split(rows, -(-len(rows) // ROWS)):
        batch = task.add_characters(overlapping_batch(ids, group, CONTEXT, stride))
        has_target = batch.targets != IGNORE_INDEX
        hidden, targets = model.run_lstms(model.forwards, model.words(batch))[0][-1][has_target], batch.targets[has_target]
        scores = linear(hidden, weight, model.output_bias).log_softmax(-1)
        nll -= float(scores.gather(1, model.output_targets(targets)[:, None]).sum())
        tokens += len(targets)
        at = torch.tensor([position for position, number in enumerate(targets.tolist()) if number in similar], dtype=torch.long)
        for own, others in zip(shares, wrong, strict=True):
            chosen = torch.tensor([others[number] for number in targets[at].tolist()])
            own.append((scores[at, chosen] - scores[at, targets[at]]).sigmoid())
    yield nll / tokens / math.log(2)
    joined = [torch.cat(own) for own in shares]
    yield from (float((own > 0.5).float().mean()) for own in joined)
    yield from (float(own.mean()) for own in joined)
    words, weight = torch.tensor(list(similar)), weight - weight.mean(0)
    yield from (float(cosine_similarity(weight[words], weight[torch.tensor(list(others.values()))]).mean()) for others in wrong)


def control(word: int, look_alike: int, vocab_size: int) -> int:
    """A word that is about as frequent as the look-alike."""
    return look_alike + 1 if look_alike + 1 < vocab_size and look_alike + 1 != word else look_alike - 1


if __name__ == "__main__":
    main()
