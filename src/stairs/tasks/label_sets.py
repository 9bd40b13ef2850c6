"""What tasks that give a text any number of labels share, on top of an encoder and without one. Free of torch."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

import numpy as np

from stairs.errors import BadInput, preview
from stairs.tasks.answers import Answer, LabelSetAnswer
from stairs.text.examples import MultiLabelText

NO_LABEL = "-"  # what a person reads where a text has none


def count_labels(examples: Sequence[MultiLabelText]) -> Counter[str]:
    """How often each label occurs; examples that teach nothing are refused."""
    counts = Counter(label for example in examples for label in example.labels)
    if not counts:
        raise BadInput(f"{examples[0].where}: none of the {len(examples)} texts has a label; there is nothing to learn")
    if all(count == len(examples) for count in counts.values()):
        what = f"the label {preview(next(iter(counts)))}" if len(counts) == 1 else f"the same {len(counts)} labels"
        raise BadInput(f"{examples[0].where}: all {len(examples)} texts have {what}; there is nothing to learn")
    return counts


def unknown_label(example: MultiLabelText, label: str, labels: Sequence[str]) -> BadInput:
    known = ", ".join(labels[:8])
    return BadInput(f"{example.where}: the label {label!r} is not in the training file, which has {known}; correct it, or train with it")


def label_set_answer(text: str, probabilities: np.ndarray, labels: Sequence[str], threshold: float) -> LabelSetAnswer:
    order = np.argsort(-probabilities, kind="stable")
    shown = {labels[i]: float(probabilities[i]) for i in order}
    return {"text": text, "labels": [label for label, own in shown.items() if own >= threshold], "probabilities": shown}


def labels_summary(answer: Answer) -> str:
    return ";".join(cast(LabelSetAnswer, answer)["labels"]) or NO_LABEL


def sigmoid(scores: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    exponentials = np.exp(-np.abs(scores))
    values: np.ndarray = np.where(scores >= 0, 1.0, exponentials) / (1 + exponentials)
    return values
