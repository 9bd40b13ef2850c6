"""report.json: the shape of what a climb writes. Everything that reads or writes a report goes by these types; docs/internals lists the same."""

from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

from stairs.tasks.measurements import ComparedOutcomes, Interval, ModelDetails

if TYPE_CHECKING:
    from stairs.tasks.outcomes import Outcomes
    from stairs.training.run_plans import RunPlan

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


class LastLine(TypedDict, total=False):
    """The last line of a run's metrics.jsonl, as far as a climb reads it."""

    step: int
    seconds: float
    cpu_seconds: float
    seconds_by_phase: dict[str, float]
    bits_per_character: Interval
    perplexity: Interval


class PretrainingCost(TypedDict):
    seconds: float
    cpu_seconds: float
    training_mb: float | None


class Row(TypedDict, total=False):
    """One model. A row without `run` has `not_tried` or `failed` instead; one without `score` waits for the test examples."""

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
    insert: str  # where the layers of the encoder go, if not to a head alone: "beside" words, or to the "input" of a BiLSTM
    alone_run: str  # the folder of the encoder that learnt the labels by itself, if the one that answers reads it beside words
    alone_score: Interval  # of that run, on the test examples
    added_score: ComparedOutcomes  # how much better it is beside words than they are without it, on the test examples
    beside_words: LocalizedText  # the same in words; before the test examples are opened, of the validation examples
    adaptation_updates: int  # of continued pretraining on the texts of the training examples
    validation_errors: dict[str, float]  # of the ways to learn the labels that were tried, if several
    training_examples: int  # how many it learnt from, if there was no time to encode all
    updates: int
    finetuning_updates: int
    bits_per_character: Interval
    perplexity: Interval
    unigram_bits: float  # bits per character of one who knows only how often each token occurs
    metric: str
    validation: Interval  # on the validation examples, known before the score
    score: Interval  # on the test examples
    outcomes: "Outcomes"  # how each test example turned out; `tasks.outcomes`
    predictions: list[str]  # for the first test examples
    details: ModelDetails  # on the test examples, by label or by type of span
    seconds: float
    cpu_seconds: float
    ms_per_text: float
    training_mb: float | None
    answering_mb: float | None
    parameters: int
    megabytes: float
    time: RowTime
    pretraining: PretrainingCost  # what its pretraining cost, where the other figures are of the classifier alone
    training: list[LastLine]  # they become `time`


class Difference(ComparedOutcomes):
    """How far a model is behind the best."""

    model: str


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
    encoder_note: NotRequired[LocalizedText]  # if a pretrained encoder would probably pay, and none took part
    below_tfidf: NotRequired[list[Difference]]  # of the models that score lower than tfidf, where it has a row
    detectable_difference: float | None  # the smallest that this test separates, about; None: it separates nothing
    why: LocalizedText
    rule: LocalizedText


class ReportBaseline(TypedDict):
    """What every model has to beat: the prediction that needs no learning."""

    name: str  # majority, frequent_labels, mean, frequent_tag, nearest_sentence or nearest_choice
    metric: str
    score: Interval


class LabelCurvePoint(TypedDict):
    """The score with so many labels, measured or forecast."""

    labels: int
    score: Interval


class LabelCurve(TypedDict):
    """How the score of a model grows with the labels: measured by cross-validation, and forecast."""

    model: str
    metric: str
    points: list[LabelCurvePoint]  # with 1/8, 1/4, 1/2 and all of the labels that a fold has
    forecasts: list[LabelCurvePoint]  # with as many labels as there are to train on, twice and four times as many


class FirstRecommendation(TypedDict):
    """Of the models that take seconds, before the others begin: the best on the validation examples, since the test examples stay closed."""

    model: str
    metric: str
    examples: int  # for validation
    seconds: float  # since the climb began
    scores: dict[str, float]  # of each model so far


class ShownExample(TypedDict):
    text: str
    gold: str


class ReportSettings(TypedDict):
    """What a climb must have in common with the one that it resumes."""

    seed: int
    order: int
    text: str  # hash of the corpus
    task: str  # what the labels are for; empty if there are none
    labelled: str  # hash of the labelled examples
    metric: str


class Report(TypedDict):
    format: int
    command: str
    settings: ReportSettings
    rows: list[Row]
    recommendation: Recommendation | None
    budget: float
    seconds_used: float
    time_shares: dict[str, float]
    peak_memory_mb: dict[str, float]
    test: list[ShownExample]
    plans: "dict[str, RunPlan]"
    removed_text: dict[str, int]
    examples: dict[str, int]
    versions: dict[str, str]
    baseline: NotRequired[ReportBaseline]  # where the task has one
    label_curves: NotRequired[list[LabelCurve]]  # of tfidf, and of the recommended model
    label_note: NotRequired[LocalizedText]  # why one is missing
    first_recommendation: NotRequired[FirstRecommendation]
    is_stopped: NotRequired[bool]  # by Ctrl-C, before all models were trained
    folder: NotRequired[str]  # where the report lies; not written
