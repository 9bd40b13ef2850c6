"""report.json: the shape of what a climb writes. Everything that reads or writes a report goes by these types; docs/internals lists the same."""

from typing import Any, Literal, NotRequired, TypedDict

from stairs.tasks.measurements import Interval

FORMAT = 2  # of report.json: a report of another number is neither continued nor shown
CostCriterion = Literal["train", "latency", "size", "memory"]
LocalizedText = dict[str, str]  # a text by the code of its language, "en" and "zh"


class RowTime(TypedDict):
    """Seconds of a model that learns by gradients."""

    given: float  # its share of the budget
    used: float
    updates: float
    evaluation: float
    encoding: float


class Row(TypedDict, total=False):
    """One model. A row without `run` has `not_tried` or `failed` instead."""

    model: str
    not_tried: str
    failed: str
    is_bug: bool  # it failed by a bug, and not because of its input
    not_learnt: LocalizedText  # why it is not recommended although it was trained
    is_adopted: bool  # it starts from weights that were pretrained elsewhere
    run: str  # the folder that answers
    pretrained_run: str  # the folder that was pretrained, if it is another one
    size: str
    transfer: str
    training_examples: int  # how many it learnt from, if there was no time to encode all
    updates: int
    finetuning_updates: int
    bits_per_character: Interval
    perplexity: Interval
    unigram_bits: float  # bits per character of one who knows only how often each token occurs
    metric: str
    score: Interval
    outcomes: str | list[list[float]]  # how each test example turned out; `tasks.outcomes`
    predictions: list[str]  # for the first test examples
    seconds: float
    cpu_seconds: float
    ms_per_text: float
    training_mb: float | None
    answering_mb: float | None
    parameters: int
    megabytes: float
    time: RowTime
    pretraining: dict[str, Any]  # what its pretraining cost, where the other figures are of the classifier alone
    training: list[dict[str, Any]]  # last lines of metrics.jsonl; they become `time`


class Difference(TypedDict):
    """How far a model is behind the best, on the same test examples."""

    model: str
    difference: float
    low: float
    high: float
    differing_examples: int
    is_significant: bool
    more_examples: int | None  # that would make it significant; None: no number would


class Recommendation(TypedDict):
    model: str
    models: list[str]  # several where the tie is real
    names: LocalizedText
    score: float
    best: str
    best_score: float
    as_good: list[str]
    cost: CostCriterion
    behind_best: list[Difference]
    detectable_difference: float | None  # the smallest that this test separates, about; None: it separates nothing
    why: LocalizedText
    rule: LocalizedText


class ShownExample(TypedDict):
    text: str
    gold: str


class Report(TypedDict):
    format: int
    command: str
    settings: dict[str, Any]
    rows: list[Row]
    recommendation: Recommendation | None
    budget: float
    seconds_used: float
    time_shares: dict[str, float]
    peak_memory_mb: dict[str, float]
    test: list[ShownExample]
    plans: dict[str, dict[str, Any]]
    removed_text: dict[str, int]
    examples: dict[str, int]
    versions: dict[str, str]
    folder: NotRequired[str]  # where the report lies; not written
