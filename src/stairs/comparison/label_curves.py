"""The part of a climb that says how many more labels would help, for TF-IDF and for the recommended model if it learns in one pass."""

import time
from collections.abc import Sequence
from functools import partial

from stairs.comparison.experiment import Experiment
from stairs.comparison.messages import message
from stairs.comparison.schema import LabelCurve, LocalizedText, Report, Row
from stairs.tasks.classifier import Classifier, word_tokenizer
from stairs.tasks.label_curve import MIN_LABELS, SHARES, Learner, Predictor, extrapolate, measure_curve, measured_points
from stairs.tasks.linear_mixture import Mixture
from stairs.tasks.ngram_classifier import NGramClassifier
from stairs.tasks.out_of_fold import FOLDS
from stairs.tasks.tfidf_choice import DEFAULT_CHOICE, TfidfChoice
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.tasks.vector_choice import VectorChoice
from stairs.tasks.vector_classifier import VectorClassifier
from stairs.text.examples import LabelledText
from stairs.training.run import load

MULTIPLES = (1, 2, 4)  # of the labels that there are
FIRST = "tfidf"


def add_label_curves(report: Report, experiment: Experiment, seconds: float) -> None:
    """Measure what is missing, within so many seconds; what cannot be measured is said in `label_note`. Test examples are not looked at."""
    if experiment.example_kind != "classify":
        return
    began = time.monotonic()
    report.pop("label_note", None)
    examples = [own for own in (*experiment.train, *experiment.dev) if isinstance(own, LabelledText)]
    known = {own["model"] for own in report.setdefault("label_curves", [])}
    found = report["recommendation"] or report.get("first_recommendation")
    wanted = dict.fromkeys([FIRST, *([found["model"]] if found else [])])
    for model in wanted:
        if model in known:
            continue
        curve, reason = curve_of(model, report, experiment, examples, seconds - (time.monotonic() - began))
        if curve is not None:
            report["label_curves"].append(curve)
        elif reason is not None:
            report["label_note"] = reason


def curve_of(
    model: str, report: Report, experiment: Experiment, examples: Sequence[LabelledText], seconds: float
) -> tuple[LabelCurve | None, LocalizedText | None]:
    """The curve of a model, or why there is none."""
    row: Row = next((row for row in report["rows"] if row["model"] == model), Row())
    task = load(experiment.out / row["run"]) if "run" in row else None
    learn = learner(task, experiment) if task is not None else tfidf_learner if model == FIRST else None
    if len(examples) < MIN_LABELS:
        return None, message("few_labels", count=len(examples), least=MIN_LABELS)
    if learn is None:
        return None, message("no_curve", model=model)
    needed = row.get("seconds", 0.0) * 2 * sum(SHARES)  # two folds at least
    curve = measure_curve(learn, examples, seconds, experiment.seed) if needed <= seconds else None
    if curve is None:
        return None, message("no_time_for_curve", model=model, seconds=max(needed * FOLDS / 2, 1.0))
    sizes = [multiple * len(experiment.train) for multiple in MULTIPLES]
    forecasts = extrapolate(curve, sizes, experiment.seed)
    measured: LabelCurve = {
        "model": model,
        "metric": "accuracy",
        "points": [{"labels": labels, "score": score} for labels, score in measured_points(curve)],
        "forecasts": [{"labels": labels, "score": score} for labels, score in zip(sizes, forecasts, strict=True)],
    }
    return measured, None


def learner(task: object, experiment: Experiment) -> Learner | None:
    """How the classifier of a run learns from other labels; None for one with an encoder, which takes too long to be repeated."""
    if isinstance(task, TfidfClassifier):
        return partial(tfidf_learner, mixture=Mixture.from_settings(task.choice, TfidfChoice))
    if isinstance(task, NGramClassifier):
        return lambda examples: predictor(NGramClassifier.train(examples, word_tokenizer(examples), experiment.order))
    if isinstance(task, VectorClassifier) and task.encoder is None:
        vector_mixture = Mixture.from_settings(task.choice, VectorChoice)
        return lambda examples: predictor(VectorClassifier.train(examples, task.words, mixture=vector_mixture))
    return None


def tfidf_learner(examples: Sequence[LabelledText], mixture: Mixture[TfidfChoice] | None = None) -> Predictor:
    return predictor(TfidfClassifier.train(examples, word_tokenizer(examples), mixture=mixture or Mixture((DEFAULT_CHOICE,))))


def predictor(classifier: Classifier) -> Predictor:
    return classifier.predict_examples
