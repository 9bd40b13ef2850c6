"""How good is the advice about labels? On SST-2 (needs STAIRS_DATA): mistakes that `stairs check` finds, rows that `stairs label-next` chooses, and
how far ahead the learning curve sees.

    python benchmarks/label_advice.py [mistakes next curve]
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from stairs.progress import quiet
from stairs.tasks.classifier import word_tokenizer
from stairs.tasks.label_curve import Predictor, extrapolate, measure_curve
from stairs.tasks.label_mistakes import find_mistakes
from stairs.tasks.out_of_fold import out_of_fold, text_features
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.tasks.valuable_texts import choose_texts, uncertainties
from stairs.text.examples import LabelledText
from stairs.text.labelled import read_examples

FLIPPED = 0.05
START, STEP, STEPS, SEEDS = 200, 100, 5, 5


def sst2(part: str) -> list[LabelledText]:
    with quiet():
        found = read_examples(Path(os.environ["STAIRS_DATA"]) / "classify" / "sst2" / f"{part}.tsv", "classify").examples
    return [example for example in found if isinstance(example, LabelledText)]


def find_flipped_labels() -> None:
    """Labels that were changed on purpose, among those that are reported."""
    examples = sst2("train")
    random = np.random.default_rng(0)
    flipped = set(random.choice(len(examples), int(FLIPPED * len(examples)), replace=False).tolist())
    changed = [LabelledText(own.text, str(1 - int(own.label)) if i in flipped else own.label) for i, own in enumerate(examples)]
    began = time.process_time()
    mistakes = find_mistakes(changed, out_of_fold(changed, text_features(changed).matrix))
    print(f"{len(examples)} rows, {len(flipped)} labels flipped; {len(mistakes)} reported in {time.process_time() - began:.1f} CPU s")
    print("| the surest | precision | recall |\n|---|---|---|")
    for top in (50, 100, 200, len(flipped), 2 * len(flipped), len(mistakes)):
        hits = sum(own.number in flipped for own in mistakes[:top])
        print(f"| {top} | {hits / top:.2f} | {hits / len(flipped):.2f} |")


def active_learning() -> None:
    """Accuracy of TF-IDF on the test examples, with labels that were chosen and with labels drawn at random."""
    train, test = sst2("train"), sst2("test")
    ways: dict[str, Callable[[TfidfClassifier, list[int], int, np.random.Generator], list[int]]] = {
        "random": lambda task, left, count, random: random.choice(left, count, replace=False).tolist(),
        "label-next": lambda task, left, count, random: choose(task, train, left, count),
    }
    scores: dict[str, np.ndarray] = {}
    for name, take in ways.items():
        runs = []
        for seed in range(SEEDS):
            random = np.random.default_rng(seed)
            labelled = random.choice(len(train), START, replace=False).tolist()
            own = []
            for step in range(STEPS + 1):
                task = fit([train[i] for i in labelled])
                own.append(accuracy(task, test))
                if step < STEPS:
                    known = set(labelled)
                    labelled = labelled + take(task, [i for i in range(len(train)) if i not in known], STEP, random)
            runs.append(own)
        scores[name] = np.array(runs)
    print(f"tfidf on SST-2, mean of {SEEDS} seeds (standard deviation)\n| labels | {' | '.join(scores)} |\n|{'---|' * (len(scores) + 1)}")
    for step in range(STEPS + 1):
        cells = " | ".join(f"{own[:, step].mean():.4f} ({own[:, step].std():.4f})" for own in scores.values())
        print(f"| {START + step * STEP} | {cells} |")


def choose(task: TfidfClassifier, train: list[LabelledText], left: list[int], count: int) -> list[int]:
    texts = [train[i].text for i in left]
    return [left[own.number] for own in choose_texts(task, texts, uncertainties(task, texts), count)]


def fit(examples: list[LabelledText]) -> TfidfClassifier:
    return TfidfClassifier.train(examples, word_tokenizer(examples))


def accuracy(task: TfidfClassifier, examples: list[LabelledText]) -> float:
    return sum(a == b.label for a, b in zip(task.predict_examples(examples), examples, strict=True)) / len(examples)


def forecast_accuracy() -> None:
    """The forecast from a part of the labels beside what twice and four times as many give, measured by the same cross-validation."""
    examples = sst2("train")
    measured = measure_curve(learn, examples)
    assert measured is not None
    actual = dict(zip(measured.labels, measured.is_correct.mean(0).tolist(), strict=True))
    largest = measured.labels[-1]
    print(f"cross-validated accuracy of tfidf on SST-2: {', '.join(f'{value:.4f} with {count}' for count, value in actual.items())}")
    print("| fitted on up to | forecast for | forecast (95 % interval) | measured | error | inside |\n|---|---|---|---|---|---|")
    errors: dict[int, list[float]] = {}
    for share in (2, 4):
        for seed in range(SEEDS):
            part = [examples[i] for i in np.random.default_rng(seed).permutation(len(examples))[: len(examples) // share].tolist()]
            curve = measure_curve(learn, part, seed=seed)
            assert curve is not None
            (found,) = extrapolate(curve, [largest])
            error = found["value"] - actual[largest]
            errors.setdefault(share, []).append(abs(error))
            interval = f"{found['value']:.4f} ({found['low']:.4f} to {found['high']:.4f})"
            inside = "yes" if found["low"] <= actual[largest] <= found["high"] else "no"
            print(f"| {curve.labels[-1]} | {largest} | {interval} | {actual[largest]:.4f} | {error:+.4f} | {inside} |")
    print(", ".join(f"mean error at {share} times the labels {np.mean(own):.4f}" for share, own in errors.items()))


def learn(examples: Sequence[LabelledText]) -> Predictor:
    return fit(list(examples)).predict_examples


PARTS = {"mistakes": find_flipped_labels, "next": active_learning, "curve": forecast_accuracy}


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
