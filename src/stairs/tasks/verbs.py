"""The verbs of a task, for a program or a notebook: `bert.fill("The cat sat on the ___.")`. Completion shows those that a task has.

Most are `answer` under a name of their own and with the arguments that mean something to it, so that they give what `stairs ask` prints.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast, overload

import numpy as np

from stairs.errors import BadInput, Unsupported
from stairs.session import python_verb
from stairs.tasks.answers import BlanksAnswer, ChoiceAnswer, PseudoLikelihoodAnswer, SenseAnswer, SentencePairAnswer, SpanAnswer, TagsAnswer
from stairs.tasks.availability import compares
from stairs.tasks.run_verbs import RunVerbs, as_task, check_top
from stairs.text.examples import LabelledText, TextPair
from stairs.text.python_rows import Texts, kind_of, list_texts
from stairs.text.windows import LongTextRule

TEXTS_PER_BATCH = 256
Label = str | float | list[str]  # a number where the run learnt numbers, a list where a text has any number of labels


class Verbs(RunVerbs):
    """What every task inherits; one that it has no use for says who has it."""

    searches_texts = False  # a claim, as those of `Task`: it finds the nearest of the texts that it was made from

    @python_verb
    def fill(self, text: str, *, top: int = 10, long_text: LongTextRule | None = None) -> BlanksAnswer:
        """The words that fit each blank of a text, the most probable first. A blank is ___ or [MASK].

        >>> answer = bert.fill("the cat sat on the ___ .", top=3)
        >>> len(answer["blanks"][0]["words"])
        3
        """
        check_top(top)
        return cast(BlanksAnswer, self.answer_as("fill", text, top=top, long_text=long_text))

    @python_verb
    def next_sentence(self, first: str, second: str) -> SentencePairAnswer:
        """Whether a sentence follows another one, and with which probability.

        >>> 0 <= bert.next_sentence("the cat sat .", "the dog ran .")["next_sentence_probability"] <= 1
        True
        """
        return cast(SentencePairAnswer, self.answer_as("next_sentence", first, second=second))

    @python_verb
    def pseudo_log_likelihood(self, text: str) -> PseudoLikelihoodAnswer:
        """How well each token fits among the others, in nats, and the sum.

        >>> bert.pseudo_log_likelihood("the cat sat .")["pseudo_log_likelihood"] < 0
        True
        """
        return cast(PseudoLikelihoodAnswer, self.answer_as("pseudo_log_likelihood", text, likelihood=True))

    @python_verb
    def generate(
        self, text: str = "", *, length: int = 20, temperature: float | None = None, top_k: int = 0, top_p: float = 1.0, seed: int = 0
    ) -> str:
        """A text with its continuation of at most `length` tokens. The most probable token is taken each time; with a temperature, `top_k` or `top_p`
        one is drawn, where the temperature is 1 unless it is given.

        >>> gpt.generate("the cat", length=3, top_p=0.9).startswith("the cat")
        True
        """
        if temperature is None:
            temperature = 1.0 if top_k or top_p < 1 else 0.0
        for name, value, low, high in (("length", length, 0, 100_000), ("temperature", temperature, 0, 100), ("top_k", top_k, 0, 1 << 24)):
            if not low <= value <= high:
                raise BadInput(f"{name} {value} is not between {low} and {high}")
        if not 0 < top_p <= 1:
            raise BadInput(f"top_p {top_p} is not above 0 and at most 1")
        sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
        return str(self.answer_as("generate", text, length=length, **sampling)["continuation"])

    @overload
    def translate(self, text: str, *, beam_size: int | None = ..., length_penalty: float = ...) -> str: ...  # type: ignore[overload-overlap]

    @overload
    def translate(self, text: Iterable[str], *, beam_size: int | None = ..., length_penalty: float = ...) -> list[str]: ...

    @python_verb
    def translate(self, text: Texts, *, beam_size: int | None = None, length_penalty: float = 1.0) -> str | list[str]:
        """The translation of a text, or of each text of a list.

        >>> len(translator.translate(["twelve", "forty two"]))
        2
        """
        if not -10 <= length_penalty <= 10:
            raise BadInput(f"length_penalty {length_penalty} is not between -10 and 10; 1 takes the mean, 0 the sum")
        task = self.require("translate")
        found = [str(one["translation"]) for one in task.answers(list_texts(text), beam_size=beam_size, length_penalty=length_penalty, details=False)]
        return found[0] if isinstance(text, str) else found

    @python_verb
    def similarity(self, first: str, second: str) -> float:
        """The cosine between the vectors of two texts.

        >>> round(bert.similarity("a cat", "a cat"), 3)
        1.0
        """
        a, b = self.require("similarity").vectors([first, second]).astype(np.float64)
        return float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12))

    @overload
    def predict(self, texts: str, second: str | None = ...) -> Label: ...  # type: ignore[overload-overlap]

    @overload
    def predict(self, texts: Iterable[str], second: Iterable[str] | None = ...) -> list[Label]: ...

    @python_verb
    def predict(self, texts: Texts, second: Texts | None = None) -> Label | list[Label]:
        """The label of each text, or of each pair of texts: a string, a number where the run learnt numbers, or a list of strings where a text has
        any number of labels. One text gives one, a list a list.

        >>> len(reviews.predict(["a good film", "a bad film"]))
        2
        """
        task = cast(Any, self.require("predict"))
        found: list[Label] = task.predict_examples(self.examples_of(texts, second))
        return found[0] if isinstance(texts, str) else found

    @python_verb
    def predict_proba(self, texts: Texts, second: Texts | None = None) -> np.ndarray:
        """P(label | text) as an array (N, K), with a column for each of `labels`, in that order; of one text, (K,). Where a text has any number of
        labels, each column is a probability of its own, and a row does not sum to 1.

        >>> reviews.predict_proba(["a good film", "a bad film"]).shape
        (2, 2)
        """
        task, examples = cast(Any, self.require("predict_proba")), self.examples_of(texts, second)
        batches = [examples[start : start + TEXTS_PER_BATCH] for start in range(0, len(examples), TEXTS_PER_BATCH)]
        probabilities: np.ndarray = np.concatenate([task.example_probabilities(batch) for batch in batches])
        return probabilities[0] if isinstance(texts, str) else probabilities

    def examples_of(self, texts: Texts, second: Texts | None) -> list[LabelledText] | list[TextPair]:
        """Texts, or pairs of texts, as examples without a label."""
        task, first = as_task(self), list_texts(texts)
        if not compares(task):
            if second is not None:
                raise Unsupported(f"a {task.name} run reads one text and takes no second one; leave `second` out")
            return [LabelledText(text, "", where) for text, where in zip(first, locations(texts, first), strict=True)]
        if second is None:
            raise BadInput("only one text was given and two are compared; give the other as `second`")
        others = list_texts(second)
        if len(first) != len(others):
            raise BadInput(f"{len(first)} first and {len(others)} second texts; give as many of both")
        return [TextPair(a, b, where=where) for a, b, where in zip(first, others, locations(texts, first), strict=True)]

    @python_verb
    def tag(self, text: str) -> TagsAnswer:
        """A tag for each word of a text.

        >>> len(tagger.tag("the cat sat in Rome .")["tags"])
        6
        """
        return cast(TagsAnswer, self.answer_as("tag", text))

    @python_verb
    def find_span(self, question: str, passage: str) -> SpanAnswer:
        """Where a passage answers a question.

        >>> reader.find_span("where is it ?", "the cat sat in Rome .")["answer"] in "the cat sat in Rome ."
        True
        """
        return cast(SpanAnswer, self.answer_as("find_span", question, second=passage))

    @python_verb
    def choose(self, context: str, choices: Sequence[str]) -> ChoiceAnswer:
        """Which of several answers to a context is right, and the probability of each.

        >>> quiz.choose("what is for dinner ?", ["a cat", "rice"])["number"] in (1, 2)
        True
        """
        return cast(ChoiceAnswer, self.answer_as("choose", context, choices=tuple(choices)))

    @python_verb
    def find_sense(self, text: str) -> SenseAnswer:
        """The sense of the word between stars.

        >>> senses.find_sense("the *bank* of the river")["word"]
        'bank'
        """
        return cast(SenseAnswer, self.answer_as("find_sense", text))

    def answer_as(self, verb: str, text: str, **given: Any) -> Any:
        """`answer`, if the task has the verb; None is the same as not given."""
        return cast(Any, self.require(verb)).answer(text, **{name: value for name, value in given.items() if value is not None})


def locations(texts: Texts, items: list[str]) -> list[str]:
    """Where each text stands, for errors; one alone has no place."""
    return [""] if isinstance(texts, str) else [f"{kind_of(texts)}:{number}" for number in range(1, len(items) + 1)]
