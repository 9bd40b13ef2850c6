"""A model on the test examples of a comparison: its metrics, its answers, how fast it is; and several models on the same examples, in pairs."""

import itertools
import math
import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple, cast

from stairs.progress import quiet
from stairs.tasks.answers import Answer, TagsAnswer
from stairs.tasks.classifier import Classifier
from stairs.tasks.from_examples import FromExamples
from stairs.tasks.label_sets import labels_summary
from stairs.tasks.measurements import ComparedOutcomes, Interval, Measurements, ModelDetails
from stairs.tasks.metric_table import METRICS
from stairs.tasks.metrics import PairedBootstrap, examples_to_separate
from stairs.tasks.outcomes import Outcomes, all_metrics, groups_of, model_details, outcomes, score_with_interval, statistic
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.task import Task
from stairs.tasks.translate import Translate
from stairs.text.examples import Example, LabelledText, TranslationPair

TIMED_EXAMPLES, MAX_TIMINGS, MAX_TIMING_SECONDS = 100, 40, 1.0  # texts that are answered at once, how often, and for how long
LIKELIHOODS = ("bits_per_character", "perplexity")  # of a model that translates
MIN_DIFFERING = 6  # examples on which two models differ: of fewer, all may favour one of them by chance (2 / 2^5 is above 5 %)


class Evaluation(NamedTuple):
    metrics: dict[str, Interval]  # all that the examples allow
    outcomes: Outcomes
    answers: list[str]  # to the questions, in a word or a few
    details: ModelDetails  # by label, or by type of span


def evaluate_task(task: Task, example_kind: str, metric: str, examples: Sequence[Example], questions: Sequence[str]) -> Evaluation:
    """The metrics of the predictions for all examples, the outcome of each by one `metric`, and the answers to some `questions`."""
    measured, predictions = measure_and_predict(task, example_kind, examples)
    of_examples = [metric.name for metric in METRICS.values() if example_kind in metric.example_kinds]
    metrics = {name: cast(Interval, measured[name]) for name in (*of_examples, *LIKELIHOODS) if name in measured}
    metrics[metric] = score_with_interval(metric, example_kind, examples, predictions)
    with quiet():  # which texts are too long is said of all of them
        answers = [short_answer(task.answer(question)) for question in questions]
    details = model_details(measured, example_kind, examples, predictions)
    return Evaluation(metrics, outcomes(metric, example_kind, examples, predictions), answers, details)


def measure_and_predict(task: Task, example_kind: str, examples: Sequence[Example]) -> tuple[Measurements, Sequence[object]]:
    """All that is measured of a task, and a prediction for each of the examples, which are of its kind."""
    if isinstance(task, Translate):
        pairs = cast(Sequence[TranslationPair], examples)
        predictions = task.predict_examples(pairs)
        return {**all_metrics(example_kind, examples, predictions), **task.likelihood_metrics(task.rows(pairs), None)}, predictions
    assert isinstance(task, Supervised | FromExamples | Classifier)
    return task.metrics_and_predictions(examples)


def milliseconds_per_text(task: Task, examples: Sequence[Example]) -> float:
    """Of TIMED_EXAMPLES given at once: the median of several passes, after one to warm up, unless that alone takes long. A pass counts the process's
    own time where that is less than the clock's: then something else kept the processor busy."""
    timed = list(itertools.islice(itertools.cycle(examples), TIMED_EXAMPLES))
    times: list[float] = []
    began = time.monotonic()
    with quiet():
        while len(times) < MAX_TIMINGS and time.monotonic() - began < MAX_TIMING_SECONDS:
            started, cpu_started = time.monotonic(), time.process_time()
            answer_all(task, timed)
            times.append(min(time.monotonic() - started, time.process_time() - cpu_started))
    return round(statistics.median(times[1:] or times) / len(timed) * 1000, 4)


def answer_all(task: Task, examples: Sequence[Example]) -> None:
    """What is asked of it, all at once."""
    if isinstance(task, Translate):
        task.translate_texts([example.source for example in cast(Sequence[TranslationPair], examples)])
    elif isinstance(task, Supervised):
        task.logits(task.rows(examples))
    elif isinstance(task, FromExamples):
        task.predict_examples(examples)
    elif isinstance(task, Classifier):
        task.predict_examples(cast(Sequence[LabelledText], examples))


def short_answer(answer: Answer) -> str:
    """An answer in a word or a few."""
    if "tags" in answer:
        return " ".join(cast(TagsAnswer, answer)["tags"])
    if "translation" in answer:
        return str(answer["translation"])
    if "label" in answer:
        return str(answer["label"])
    if "labels" in answer:
        return labels_summary(answer)
    if "value" in answer:
        return f"{answer['value']:.4g}"
    return f"{answer['score']:.2f}" if "score" in answer else str(answer.get("answer", ""))


class PairedOutcomes:
    """Several models by the outcomes of the same test examples, drawn in the same bootstrap samples."""

    def __init__(self, metric: str, example_kind: str, examples: Sequence[Example], recorded: Sequence[Outcomes]) -> None:
        self.recorded, self.count, self.groups = recorded, len(examples), groups_of(examples)
        self.maximum = METRICS[metric].maximum
        self.paired = PairedBootstrap([statistic(metric, example_kind, examples, own) for own in recorded], self.groups)

    def difference(self, first: int, second: int) -> ComparedOutcomes:
        """How much better one is than another, whether that is significant, and if not how many more examples would make it so."""
        found, differing = self.paired.difference(first, second), self.count_differing(first, second)
        more = examples_to_separate(found["difference"], found["standard_error"], self.count)
        more = max(more, self.count * (MIN_DIFFERING / max(differing, 1) - 1))
        return {
            "difference": found["difference"],
            "low": found["low"],
            "high": found["high"],
            "differing_examples": differing,
            "is_significant": found["low"] > 0 and differing >= MIN_DIFFERING,
            "more_examples": None if math.isinf(more) else math.ceil(more),
        }

    def count_differing(self, first: int, second: int) -> int:
        """Examples, or groups of them, that the two do not answer equally well."""
        pairs = zip(self.groups or range(self.count), self.recorded[first], self.recorded[second], strict=True)
        return len({unit for unit, one, other in pairs if one != other})

    def detectable_difference(self, widths: Sequence[float]) -> float | None:
        """About the smallest difference that this test separates: half the median width of the paired intervals, or of the score's own if there is
        only one model. None if the test is too small to separate anything."""
        units = len(set(self.groups)) if self.groups else self.count
        smallest = max(sorted(widths)[len(widths) // 2] / 2, self.maximum * MIN_DIFFERING / units)
        return smallest if smallest < self.maximum else None
