"""Translating with a beam beside `transformers` (Marian, or Pegasus where norms stand first) and CTranslate2, on the same weights: sentences/s,
ratios, how many translations are the same, and BLEU of each. CTranslate2 reads the folder that `stairs convert` writes, converted
by its own ct2-transformers-converter.

python benchmarks/translate.py [--run RUN] [--sentences 200] [--beam-size 4] [--batch 32] [--threads 1] [--repeats 3]

RUN is a transformer that was trained on pairs of Multi30k; without one, a small one is trained for five minutes first. All systems get the same
batches, of sentences of about the same length.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from side_by_side import PRECISIONS, conditions, data, in_turn, stairs
from stairs.tasks.translation_metrics import bleu_and_chrf
from stairs.training.run import load as load_run

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
PAIRS = "translate/multi30k_en_fr"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sources, truth = (data(f"{PAIRS}/test_2016_flickr.{side}").read_text("utf-8").splitlines()[: options.sentences] for side in ("en", "fr"))
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        run = options.run or train(there)
        stairs("convert", run, "huggingface", "--out", there / "marian", cache=there)
        task: Any = load_run(run)
        ids = task.encode_texts(sources)
        order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
        batches = [order[at : at + options.batch] for at in range(0, len(order), options.batch)]
        outputs: dict[str, dict[int, str]] = {}
        systems = peers(there, task, options) | {f"ours {kind}": ours(task, kind, options) for kind in PRECISIONS}

        def job(name: str) -> None:
            for numbers in batches:
                outputs.setdefault(name, {}).update(zip(numbers, systems[name]([ids[n] for n in numbers]), strict=True))

        jobs = {name: lambda name=name: job(name) for name in systems}
        in_turn(jobs, 1)  # warm-up: packs the weights and compiles
        taken = in_turn(jobs, options.repeats)
        config = task.model.config
        shape = f"{config.layers} + {config.layers} blocks x {config.width}, vocabulary {config.vocab_size}"
        print(f"{shape}; {len(sources)} sentences, beam {options.beam_size}, batches of {options.batch}, {options.threads} threads; {conditions()}")
        base = taken["transformers fp32"]
        for name, seconds in taken.items():
            same = sum(outputs[name][n] == outputs["transformers fp32"][n] for n in order) / len(order)
            bleu = bleu_and_chrf(truth, [outputs[name][n] for n in range(len(order))])["bleu"]["value"]
            print(
                f"  {name:20} {len(order) / seconds['wall']:7.1f} sentences/s   {base['wall'] / seconds['wall']:5.2f}x wall"
                f"   {base['cpu'] / seconds['cpu']:5.2f}x CPU   {100 * same:5.1f} % the same   BLEU {bleu:.2f}"
            )


def train(there: Path) -> Path:
    pairs, dev = data(f"{PAIRS}/train.en"), data(f"{PAIRS}/val.en")
    how = ("--norm-first", "False", "--budget", "5m", "--quiet")
    stairs("train", "transformer", "--pairs", pairs, "--dev", dev, "--out", there / "run", *how, cache=there)
    return there / "run"


def ours(task: Any, precision: str, options: argparse.Namespace) -> Any:
    speaker = task.model.for_inference(precision)
    return lambda sources: [task.tokenizer.decode(one.hypotheses[0].ids) for one in task.search(sources, options.beam_size, speaker)]


def peers(there: Path, task: Any, options: argparse.Namespace) -> dict[str, Any]:
    import ctranslate2
    import transformers

    tokenizer = task.tokenizer
    found: dict[str, Any] = {}
    for name in (precision for precision in PRECISIONS if precision in DTYPES):
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(there / "marian", dtype=DTYPES[name]).eval()

        def marian(sources: list[list[int]], model: Any = model) -> list[str]:
            rows = [[tokenizer.begin, *ids, tokenizer.end] for ids in sources]
            width = max(map(len, rows))
            given = torch.tensor([row + [tokenizer.pad] * (width - len(row)) for row in rows])
            mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
            with torch.no_grad():
                generated = model.generate(given, attention_mask=mask, num_beams=options.beam_size, max_length=task.max_output_tokens(sources) + 1,
                    do_sample=False)
            return [tokenizer.decode(cut(row[1:], tokenizer.end)) for row in generated.tolist()]

        found[f"transformers {name}"] = marian
    convert = [Path(sys.executable).parent / "ct2-transformers-converter", "--model", there / "marian"]
    for kind in ("float32", "int8"):
        subprocess.run([*map(str, convert), "--output_dir", str(there / kind), "--quantization", kind], check=True, capture_output=True)
        translator = ctranslate2.Translator(str(there / kind), device="cpu", inter_threads=1, intra_threads=options.threads)

        def translate(sources: list[list[int]], translator: Any = translator) -> list[str]:
            rows = [[tokenizer.token(i) for i in (tokenizer.begin, *ids, tokenizer.end)] for ids in sources]
            generated = translator.translate_batch(rows, beam_size=options.beam_size, max_decoding_length=task.max_output_tokens(sources))
            return [tokenizer.decode([tokenizer.id(token) for token in one.hypotheses[0]]) for one in generated]

        found[f"CTranslate2 {kind}"] = translate
    return found


def cut(ids: list[int], end: int) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids


if __name__ == "__main__":
    main()
