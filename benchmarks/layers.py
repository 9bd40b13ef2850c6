"""What each layer knows: parts of speech by a linear classifier on it (UD EWT), and senses by the nearest neighbour in it (SemCor -> five sets).

python benchmarks/layers.py RUN [RUN ...] [--limit 40000]
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from side_by_side import conditions, data, stairs
from stairs.tasks import Sense, sense
from stairs.text.batch import Batch
from stairs.text.labelled import read_examples
from stairs.training.run import load as load_run

SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")


def side_by_side(model: Any, batch: Batch, chosen: Any) -> torch.Tensor:
    """All layers of each token in one vector, so that the text is encoded once."""
    return torch.cat(model.hidden_states(batch), -1)


def senses(run: str, most: int) -> list[float]:
    """F1 of each layer, over all five sets."""
    sense.sum_layers = side_by_side
    task = load_run(run)
    learned = Sense.train(list(read_examples(str(data("senses/semcor3.tsv.xz")), "sense").examples)[:most], task)
    tests = [example for name in SETS for example in read_examples(str(data(f"senses/{name}.tsv")), "sense").examples]
    vectors = list(learned.word_vectors(tests))
    layers = max(task.model.depth, 1)
    found = []
    for part in np.array_split(np.arange(learned.stored_vectors.shape[1]), layers):
        known = learned.stored_vectors[:, part] / np.maximum(np.linalg.norm(learned.stored_vectors[:, part], axis=1, keepdims=True), 1e-12)
        right = answered = asked = 0
        for example, own in zip(tests, vectors, strict=True):
            for (place, truth), vector in zip(example.senses, own, strict=True):
                candidates = learned.lemmas.get(example.lemmas[place])
                asked += 1
                if candidates:
                    answered += 1
                    right += learned.senses[candidates[int((known[candidates] @ vector[part]).argmax())]] in truth.split(";")
        found.append(2 * right / (asked + answered))
    usual = [learned.most_frequent(example.lemmas[place]) in truth.split(";") for example in tests for place, truth in example.senses]
    print(f"most frequent sense: {2 * sum(usual) / (asked + answered):.4f} of {asked} words, {answered} with a known lemma", flush=True)
    return found


def parts_of_speech(run: str, layer: int | None, cache: Path) -> float:
    """Accuracy on the test part."""
    folder, chosen = "tags/ud_ewt", [] if layer is None else ["--layers", layer]
    files = [data(f"{folder}/train.conllu.xz"), "--dev", data(f"{folder}/dev.conllu.xz"), "--test", data(f"{folder}/test.conllu.xz")]
    flags = ["--task", "tag", "--transfer", "features", "--epochs", 15, "--threads", 1, "--out", cache / f"pos-{layer}", "--json", "--quiet"]
    return json.loads(stairs("tune", run, *files, *chosen, *flags, cache=cache))["test"]["accuracy"]["value"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--limit", type=int, default=1_000_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'run':24}{'layer':>6}{'part of speech':>16}{'sense F1':>10}   {conditions()}", flush=True)
    for run in options.runs:
        scores = senses(run, options.limit)
        for layer, score in enumerate(scores):
            with tempfile.TemporaryDirectory() as folder:
                accuracy = parts_of_speech(run, layer if load_run(run).model.depth else None, Path(folder))
            print(f"{run[-23:]:24}{layer:>6}{accuracy:16.4f}{score:10.4f}", flush=True)


if __name__ == "__main__":
    main()
