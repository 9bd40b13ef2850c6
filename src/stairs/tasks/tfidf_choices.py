"""TfidfChoices: which of several answers to a context is right, from the words that each shares with it.

    score_k = w features(context, answer_k)          P(answer_k | context) = softmax over k of the scores

The features are those of pairs (`tfidf_pairs.py`), and w is learnt by logistic regression: is this answer the right one of its context?
"""

from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np

from stairs.tasks.answers import Answer, ChoiceAnswer
from stairs.tasks.choose import choice_answer, parse_question, summarize_choice
from stairs.tasks.classifier import softmax
from stairs.tasks.from_examples import FromExamples
from stairs.tasks.measurements import Measurements
from stairs.tasks.tfidf_pairs import TfidfPairs
from stairs.text.examples import MultipleChoice, TextPair

RIGHT, WRONG = "right", "wrong"


class TfidfChoices(TfidfPairs):
    """A pair for each choice; its labels are those of the pairs."""

    name = "choose-tfidf"
    example_kind = "choose"
    takes_pairs = False

    @classmethod
    def train(cls, examples: Sequence[Any]) -> Self:
        return super().train([pair for example in examples for pair in pairs_of(example)])

    def choice_probabilities(self, example: MultipleChoice) -> np.ndarray:
        outputs = self.outputs(pairs_of(example))
        return softmax(outputs[:, self.labels.index(RIGHT)] - outputs[:, self.labels.index(WRONG)])

    def predict_examples(self, examples: Sequence[Any]) -> list[Any]:
        return [example.choices[int(self.choice_probabilities(example).argmax())] for example in examples]

    def check_examples(self, examples: Sequence[Any]) -> None:
        """The choices are different ones each time."""

    def metrics_and_predictions(self, examples: Sequence[Any]) -> tuple[Measurements, list[Any]]:
        return FromExamples.metrics_and_predictions(self, examples)

    def answer(self, text: str, *, choices: Sequence[str] = ()) -> ChoiceAnswer:  # type: ignore[override]
        """Of a context and its choices; without `choices` these follow within the text, each after a tab, or each on a line of its own."""
        example = parse_question(text, choices)
        return choice_answer(example, self.choice_probabilities(example))

    def summary(self, answer: Answer) -> str:
        return summarize_choice(cast(ChoiceAnswer, answer))


def pairs_of(example: MultipleChoice) -> list[TextPair]:
    """The context with each choice."""
    labels = [RIGHT if number == example.right else WRONG for number in range(len(example.choices))]
    return [TextPair(example.context, choice, label, where=example.where) for choice, label in zip(example.choices, labels, strict=True)]
