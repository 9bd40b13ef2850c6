"""The shapes of measurements: what `evaluate_examples` gives, `stairs score --json` prints and a run's metrics.jsonl holds.

A number that was measured on a sample is an `Interval`. `metrics.py` computes the metrics, `metric_table.py` has their names.
"""

from collections.abc import Callable, Mapping
from typing import NotRequired, TypedDict, cast

EVALUATION_FILE = "evaluation.json"  # of a tuned run: its measurements on the validation and test examples
Measurements = Mapping[str, object]  # one of the shapes below, or several of them together; `interval` reads one


class Interval(TypedDict):
    """A metric with its 95 % confidence interval, which evaluations during training leave out."""

    value: float
    low: NotRequired[float]
    high: NotRequired[float]


def interval(metrics: Measurements, name: str) -> Interval:
    """A metric that was measured."""
    return cast(Interval, metrics[name])


def map_interval(function: Callable[[float], float], interval: Interval) -> Interval:
    """A rising function of a metric, and of the bounds of its interval."""
    bounds = cast(dict[str, float], interval)
    return cast(Interval, {bound: function(value) for bound, value in bounds.items()})


class PairedDifference(TypedDict):
    """How much better one model is than another on the same examples, with the 95 % interval and the standard error of that difference."""

    difference: float
    low: float
    high: float
    standard_error: float


class ComparedOutcomes(TypedDict):
    """How much better one model of a climb is than another, on the same test examples."""

    difference: float
    low: float
    high: float
    differing_examples: int
    is_significant: bool
    more_examples: int | None  # that would make it significant; None: no number would


class LanguageModelMetrics(TypedDict):
    """How well a model predicts a text."""

    bits_per_character: Interval
    perplexity: Interval
    tokens: int
    characters: int
    unknown_words: int
    backward_perplexity: NotRequired[Interval]  # of a bidirectional language model
    backward_bits_per_character: NotRequired[Interval]


class LabelMetrics(TypedDict):
    """One label for each text, or for each pair of texts."""

    accuracy: Interval
    macro_f1: Interval
    texts: int
    nll: NotRequired[float]  # mean negative log-likelihood of the gold labels, in nats


class MultiLabelMetrics(TypedDict):
    """Any number of labels for each text."""

    micro_f1: Interval  # of all labels of all texts together
    macro_f1: Interval  # the mean over the labels
    exact_match: Interval  # texts with all the right labels and no other
    texts: int


class RegressionMetrics(TypedDict):
    """A number for each text."""

    spearman: Interval
    pearson: Interval
    r2: Interval  # the share of the variance that is explained: 0 for always predicting the mean, below 0 for worse
    rmse: Interval  # root of the mean squared error, in the unit of the numbers
    mae: Interval  # mean absolute error
    texts: int


class ChoiceMetrics(TypedDict):
    """The right one of several answers."""

    accuracy: Interval
    guessing_accuracy: float  # what guessing would score: the mean of 1 / the number of choices
    questions: int
    nll: NotRequired[float]  # mean negative log-likelihood of the right answers, in nats


class CorrelationMetrics(TypedDict):
    """Scores of pairs."""

    spearman: Interval
    pearson: Interval
    pairs: int


class TagMetrics(TypedDict):
    """A tag for each word; F1, precision and recall of whole spans where the tags mark spans."""

    accuracy: Interval
    f1: NotRequired[Interval]
    precision: NotRequired[float]
    recall: NotRequired[float]
    spans: NotRequired[int]
    words: int
    sentences: int


class AnswerMetrics(TypedDict):
    """Answers to questions about a passage."""

    exact_match: Interval
    f1: Interval
    questions: int


class TranslationMetrics(TypedDict):
    """Translations against one reference each."""

    bleu: Interval
    chrf: Interval
    exact_match: Interval
    sentences: int
    signature: str  # sacrebleu's, which names the tokenization


class LabelDetails(TypedDict):
    """One label in a classification report."""

    precision: float
    recall: float
    f1: float
    texts: int


class CalibrationBin(TypedDict):
    """Answers of about the same confidence."""

    confidence: float
    accuracy: float
    texts: int


class Calibration(TypedDict):
    """The expected calibration error, and the bins it is the mean of."""

    error: float
    bins: list[CalibrationBin]


class ClassificationReport(TypedDict):
    """A classifier in detail; `confusion` has a row for each gold label and a column for each predicted one."""

    labels: dict[str, LabelDetails]
    confusion: list[list[int]]
    calibration: Calibration


class TagDetails(TypedDict):
    """One type of span in the report of a tagger; one tag, where tags mark no spans."""

    precision: float
    recall: float
    f1: float
    gold: int  # spans, or words, of this type


class ConfusedLabels(TypedDict):
    """Texts of one label that were given another."""

    gold: str
    predicted: str
    texts: int


class ModelDetails(TypedDict, total=False):
    """A model of a climb in detail: a classifier by label, a tagger by type of span."""

    labels: dict[str, LabelDetails]
    confusion: list[list[int]]  # as in ClassificationReport; left out where there are more than 50 labels
    confused: list[ConfusedLabels]  # the labels that are confused most
    calibration: Calibration
    tags: dict[str, TagDetails]


class LayerMixWeights(TypedDict):
    """How the layers of an encoder are mixed for a head."""

    gamma: float
    layers: dict[int, float]
    is_trained: bool  # False where all layers still have the same weight


class BaselineComparison(TypedDict):
    """The best baseline on the same examples, and how much better the model is."""

    name: str
    metric: str
    value: float
    low: float
    high: float
    improvement: PairedDifference
    is_beaten: bool


class AnalogyMetrics(TypedDict):
    """Analogies of one section, or of all: `covered` of `total` have all their words in the vocabulary."""

    accuracy: Interval | None
    covered: int
    total: int


class SimilarityMetrics(TypedDict):
    """Word similarities."""

    spearman: Interval
    covered: int
    total: int
