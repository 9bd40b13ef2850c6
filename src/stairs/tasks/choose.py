"""Choose: which of several answers to a context is right.

Radford et al. 2018, section 3.3: each answer is read with the context in a row of its own, and a linear layer scores the row.

    row_k = [CLS] context [SEP] answer_k [SEP]          P(answer_k | context) = softmax over k of w v_k + b          v_k see `parts/pair_features.py`

The examples may have different numbers of answers. Guessing is right in the mean of 1 / the number of answers.

Departures: the delimiters are [CLS] and [SEP], as in `parts/encoder_features.py`; a question about a passage is part of the context.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from stairs.errors import BadInput
from stairs.tasks.answers import Answer, ChoiceAnswer
from stairs.tasks.classifier import softmax
from stairs.tasks.measurements import Measurements
from stairs.tasks.metrics import choice_metrics
from stairs.tasks.parts.encoder_features import EncodedInput, LabelledRows, Targets
from stairs.tasks.parts.layer_mix import LinearHead
from stairs.tasks.parts.pair_features import PairFeatures
from stairs.text.batch import Batch
from stairs.text.examples import MultipleChoice


class ChoiceRows(LabelledRows):
    """What training goes through: an example is all rows of its choices."""

    def __init__(self, rows: list[EncodedInput], pad: int, targets: Targets) -> None:
        super().__init__(rows, pad, targets)
        _, starts, counts = np.unique([row.example for row in rows], return_index=True, return_counts=True)
        self.row_numbers = [np.arange(start, start + count) for start, count in zip(starts, counts, strict=True)]
        self.lengths = np.array([self.lengths[own].sum() for own in self.row_numbers], np.int64)

    def batch(self, numbers: np.ndarray, epoch: int, seed: int) -> Batch:
        return super().batch(np.concatenate([self.row_numbers[number] for number in numbers]), epoch, seed)


class Choose(PairFeatures):
    """One score for each choice, and a softmax over the choices of an example."""

    name = "choose"
    example_kind = "choose"

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        return {}  # the choices are different ones each time

    def new_head(self) -> nn.Module:
        return LinearHead(self.feature_width, 1, self.transfer)

    def rows(self, examples: Sequence[Any]) -> list[EncodedInput]:
        numbers = [number for number, example in enumerate(examples) for _ in example.choices]
        contexts, where = [examples[number].context for number in numbers], [examples[number].where for number in numbers]
        choices = [choice for example in examples for choice in example.choices]
        return self.add_targets(self.pair_rows(contexts, choices, where, numbers), examples)

    def add_targets(self, rows: list[EncodedInput], examples: Sequence[Any]) -> list[EncodedInput]:
        """1 for the row of the right choice, 0 for the others."""
        for example, own in zip(examples, self.split_choices(rows, rows), strict=True):
            for number, row in enumerate(own):
                row.target = int(number == example.right)
        return rows

    def split_choices(self, rows: Sequence[EncodedInput], values: Sequence[Any]) -> list[list[Any]]:
        """A value of each row as a list for each example, whose rows come one after the other."""
        parts: dict[int, list[Any]] = {}
        for row, value in zip(rows, values, strict=True):
            parts.setdefault(row.example, []).append(value)
        return list(parts.values())

    def labelled_rows(self, examples: Sequence[Any]) -> LabelledRows:
        return ChoiceRows(self.rows(examples), self.tokenizer.pad, self.targets)

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        """Whether each row is that of the right choice, and the number of its example within the batch."""
        numbers = np.unique([row.example for row in rows], return_inverse=True)[1]
        return {"labels": torch.tensor([row.target for row in rows]), "targets": torch.from_numpy(numbers)}

    def summed_loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.labels is not None and batch.targets is not None
        counts = [len(list(own)) for _, own in groupby(batch.targets.tolist())]
        scores = pad_sequence(list(torch.split(logits[:, 0], counts)), batch_first=True, padding_value=torch.finfo(logits.dtype).min)
        right = pad_sequence(list(torch.split(batch.labels, counts)), batch_first=True).argmax(1)
        return cross_entropy(scores, right, reduction="sum"), len(counts)

    def choice_probabilities(self, rows: Sequence[EncodedInput], logits: list[np.ndarray]) -> list[np.ndarray]:
        """P(choice | context) for the choices of each example."""
        return [softmax(np.concatenate(own)) for own in self.split_choices(rows, logits)]

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        probabilities = self.choice_probabilities(rows, logits)
        of_right = np.array([own[example.right] for example, own in zip(examples, probabilities, strict=True)])
        return {**choice_metrics(examples, self.predictions(examples, rows, logits)), "nll": float(-np.log(np.maximum(of_right, 1e-12)).mean())}

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> list[Any]:
        return [example.choices[own.argmax()] for example, own in zip(examples, self.choice_probabilities(rows, logits), strict=True)]

    def answer(self, text: str, *, choices: Sequence[str] = ()) -> ChoiceAnswer:
        """Of a context and its choices; without `choices` these follow within the text, each after a tab, or each on a line of its own."""
        example = parse_question(text, choices)
        rows = self.rows([example])
        return choice_answer(example, self.choice_probabilities(rows, self.logits(rows))[0])

    def summary(self, answer: Answer) -> str:
        return summarize_choice(cast(ChoiceAnswer, answer))


def parse_question(text: str, choices: Sequence[str] = ()) -> MultipleChoice:
    """A context and its choices; without `choices` these follow within the text, each after a tab, or each on a line of its own."""
    context, *given = [text, *choices] if choices else text.split("\t" if "\t" in text else "\n")
    example = MultipleChoice(context.strip(), tuple(choice.strip() for choice in given))
    check_choices(example.choices)
    return example


def choice_answer(example: MultipleChoice, probabilities: np.ndarray) -> ChoiceAnswer:
    order = np.argsort(-probabilities, kind="stable").tolist()
    shown = {example.choices[i]: float(probabilities[i]) for i in order}
    return {"text": example.context, "answer": example.choices[order[0]], "number": order[0] + 1, "probabilities": shown}


def summarize_choice(answer: ChoiceAnswer) -> str:
    return f"{answer['number']}: {answer['answer']} ({next(iter(answer['probabilities'].values())):.3f})"


def check_choices(choices: Sequence[str]) -> None:
    """Refuse what nobody can choose from."""
    if len(choices) < 2:
        advice = "give at least two with --choices, or write them after the text, a tab before each"
        raise BadInput(f"{len(choices) or 'no'} choice{'' if len(choices) == 1 else 's'} to choose from; {advice}")
    if not all(choices):
        raise BadInput(f"choice {list(choices).index('') + 1} of {len(choices)} is empty; write what it says, or leave it out")
