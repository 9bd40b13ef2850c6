"""The shapes of answers: what `task.answer(text)` gives and `stairs ask --json` prints. Strings, numbers, lists and dictionaries only."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

Answer = Mapping[str, object]  # one of the shapes below


class NextTokenEntry(TypedDict):
    token: str
    probability: float
    order: NotRequired[int]  # of the n-gram that the probability comes from, for models with n-grams


class TokenBits(TypedDict):
    token: str
    bits: float  # its negative log-likelihood


class ContinuationAnswer(TypedDict):
    """`next-token`, `bidirectional-lm`, `unified-lm`"""

    text: str
    continuation: str  # the text with what was generated
    new: str  # what was generated
    next: list[NextTokenEntry]


class BlankWord(TypedDict):
    word: str
    probability: float
    pieces: int  # tokens that the word is cut into


class Blank(TypedDict):
    words: list[BlankWord]


class BlanksAnswer(TypedDict):
    """`masked-token`, `unified-lm`"""

    text: str
    filled: str
    blanks: list[Blank]
    truncation: NotRequired[str]  # what was read of a text that is too long


class SentencePairAnswer(TypedDict):
    """`masked-token` with a second text"""

    first: str
    second: str
    verdict: str
    next_sentence_probability: float
    truncation: NotRequired[str]


class TokenLogProbability(TypedDict):
    token: str
    log_probability: float


class PseudoLikelihoodAnswer(TypedDict):
    """`masked-token` with `likelihood`"""

    text: str
    pseudo_log_likelihood: float
    tokens: list[TokenLogProbability]
    measure: str


class WordNeighbour(TypedDict):
    word: str
    cosine: float


class WordNeighboursAnswer(TypedDict):
    """`word-vectors`"""

    text: str
    words: list[str]
    near: list[WordNeighbour]


class VectorAnswer(TypedDict):
    """`encode`"""

    text: str
    vector: list[float]


class CosineAnswer(TypedDict):
    """`encode` and `similar` with a second text"""

    first: str
    second: str
    cosine: float


class TextNeighbour(TypedDict):
    text: str
    cosine: float


class TextNeighboursAnswer(TypedDict):
    """`similar`"""

    text: str
    near: list[TextNeighbour]


class LabelAnswer(TypedDict):
    """`classify`, `classify-ngram`, `classify-tfidf`, `classify-vectors`"""

    text: str
    label: str
    probabilities: dict[str, float]  # the most probable label first


class LabelSetAnswer(TypedDict):
    """`multilabel`, `multilabel-ngram`, `multilabel-tfidf`, `multilabel-vectors`"""

    text: str
    labels: list[str]  # the most probable first; empty if none is probable enough
    probabilities: dict[str, float]  # of every label by itself, the most probable first


class NumberAnswer(TypedDict):
    """`regress`, `regress-tfidf`, `regress-vectors`"""

    text: str
    value: float


class PairLabelAnswer(TypedDict):
    """`compare` and `compare-tfidf`, learnt from labels"""

    first: str
    second: str
    label: str
    probabilities: dict[str, float]


class PairScoreAnswer(TypedDict):
    """`compare`, `bi-encoder` and `compare-tfidf`, learnt from scores"""

    first: str
    second: str
    score: float


class ChoiceAnswer(TypedDict):
    """`choose`"""

    text: str  # the context
    answer: str  # the most probable choice
    number: int  # its number, from 1, in the order in which the choices were given
    probabilities: dict[str, float]  # of each choice, the most probable first; one that was given twice is listed once


class TaggedSpan(TypedDict):
    label: str
    text: str
    start: int  # in code points, as everywhere
    end: int


class TagsAnswer(TypedDict):
    """`tag`, `tag-hmm`, `tag-crf`"""

    text: str
    words: list[str]
    tags: list[str]
    segmentation: str  # what counts as a word: those given, those of the training file, characters, or a dictionary's words
    spans: NotRequired[list[TaggedSpan]]


class SpanAnswer(TypedDict):
    """`find-span`, `find-span-overlap`"""

    question: str
    answer: str
    start: int
    end: int
    margin: float  # the score of this answer above that of no answer


class SenseCosine(TypedDict):
    sense: str
    cosine: float


class SenseAnswer(TypedDict):
    """`sense`"""

    text: str
    word: str
    label: str  # the nearest sense
    senses: list[SenseCosine]


class ScoredTranslation(TypedDict):
    translation: str
    score: float
    log_probability: float


class DecoderStep(TypedDict):
    input: str  # all that the decoder has read
    output: str  # the token it then gives


class Alignment(TypedDict):
    source: list[str]
    target: list[str]
    weights: list[list[float]]  # a row for each target token


class TreeNode(TypedDict):
    """A hypothesis that beam search looked at."""

    parent: int  # which hypothesis of the step before it continues
    id: int
    log_probability: float
    rank: int | None  # its place among the hypotheses that are continued; None if it is not
    is_finished: bool
    token: NotRequired[str]  # given in an answer


class TranslationAnswer(TypedDict):
    """`translate`"""

    text: str
    translation: str
    translations: NotRequired[list[ScoredTranslation]]
    trace: NotRequired[list[DecoderStep]]
    alignment: NotRequired[Alignment | None]
    tree: NotRequired[list[list[TreeNode]]]
