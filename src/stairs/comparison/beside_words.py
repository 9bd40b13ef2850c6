"""A second way for an encoder of a climb to learn the labels of texts: beside what word vectors and terms say.

ELMo's paper puts its vectors beside those of GloVe, and asks what they add. Here an encoder stands beside the `skipgram` of the climb: its mean
vector of a text is one more part of the linear model that the row `skipgram` is (`tasks/vector_classifier.py`). That takes seconds, and what
skip-gram cost counts. The encoder also learns the labels by itself; the better of the two on the validation examples is the row of the model. If that
is this one, the row says how the encoder does by itself and, on the test examples, what it adds to `skipgram`.
"""

import time
from pathlib import Path
from typing import cast

from stairs.comparison.evaluation import validate_run
from stairs.comparison.experiment import Experiment, labelled_texts
from stairs.comparison.messages import message
from stairs.comparison.schema import LastLine, Row
from stairs.models.registry import MODELS
from stairs.progress import quiet
from stairs.tasks import Encode, Task, VectorClassifier, WordVectors
from stairs.tasks.paired_evaluation import PairedOutcomes, evaluate_task
from stairs.training.run import Run, fit_once, load
from stairs.training.run_plans import RunPlan, evenly_spaced, plan_pretraining, planned_task

WORDS_RUN, VECTORS_RUN = "classify-skipgram", "word-vectors-skipgram"
MAX_SHARE = 0.6  # of the time for the labels
TIMED_TEXTS = 64  # that are encoded to see what all of them take
SLOWER_THAN_WORDS = 1.5  # how much longer the fits take than those of `skipgram`, which reads fewer numbers of a text


def may_stand_beside(experiment: Experiment, model: str) -> bool:
    """Whether there is a `skipgram` to stand beside, and a mean vector of each text to put there."""
    has_vectors = MODELS[model].is_transformer or MODELS[model].default_layers is not None
    return has_vectors and experiment.example_kind == "classify" and Run(experiment.out / WORDS_RUN).is_finished


def seconds_expected(experiment: Experiment, model: str, seconds: float) -> float:
    """What it will take with an encoder of the size that so many seconds of pretraining allow; 0 if it will not be tried."""
    if not may_stand_beside(experiment, model):
        return 0.0
    shards = experiment.shards_for(model)
    with quiet():  # what is chosen is said when it is trained
        encoder = planned_task(model, shards.tokenizer, plan_pretraining(model, shards, seconds))
        needed = seconds_needed(experiment, text_encoder(encoder))
    return needed if needed <= MAX_SHARE * seconds else 0.0


def seconds_needed(experiment: Experiment, encoder: Task) -> float:
    """To encode the texts, by timing a few, and to fit, by what the fits of `skipgram` took."""
    texts = [example.text for example in evenly_spaced(labelled_texts(experiment.train), TIMED_TEXTS)]
    encoder.vectors(texts[:8])  # allocates memory and loads kernels
    began = time.monotonic()
    encoder.vectors(texts)
    encoding = (time.monotonic() - began) / len(texts) * (len(experiment.train) + len(experiment.dev))
    return encoding + SLOWER_THAN_WORDS * float(Run(experiment.out / WORDS_RUN).metrics()[-1]["seconds"])


def text_encoder(task: Task) -> Task:
    """What gives the mean vector of a text; for a Transformer it keeps a copy that is laid out for inference."""
    return Encode(task.model, task.tokenizer) if task.model.pools_special_tokens else task


def learn_beside_words(experiment: Experiment, model: str, source: Path, seconds: float) -> Row:
    """A part of the row: what was learnt so, and what it cost; empty if it would take more than its part of the `seconds` for the labels."""
    folder = experiment.out / f"{experiment.example_kind}-{model}-beside"
    encoder = text_encoder(load(source))

    def decide() -> RunPlan:
        is_tried = seconds_needed(experiment, encoder) <= MAX_SHARE * seconds
        return {"transfer": "features", "examples": is_tried * len(experiment.train), "validation": is_tried * len(experiment.dev), "training": {}}

    plan = experiment.plans.of(folder.name, decide)
    if not plan["examples"]:
        return {}

    def train() -> Task:
        vectors = load(experiment.out / VECTORS_RUN)
        assert isinstance(vectors, WordVectors)
        return VectorClassifier.train(labelled_texts(experiment.train), vectors, labelled_texts(experiment.dev), encoder=encoder)

    with experiment.record_peak_memory(folder):
        last_line = fit_once(folder, experiment.run_settings, train, lambda task: {})
    return validate_run(experiment, folder, cast(LastLine, last_line))


def better_way(alone: Row, beside: Row, experiment: Experiment) -> Row:
    """The row of the better one on the validation examples; both are paid for."""
    if "validation" not in alone or "validation" not in beside:
        return alone
    by_itself, together = alone["validation"]["value"], beside["validation"]["value"]
    peaks = [row["training_mb"] for row in (alone, beside) if row.get("training_mb") is not None]
    both: Row = {
        "seconds": round(alone["seconds"] + beside["seconds"], 3),
        "cpu_seconds": round(alone["cpu_seconds"] + beside["cpu_seconds"], 3),
        "training_mb": max(peaks, default=None),  # type: ignore[type-var]
        "training": alone.get("training", []),
        "validation_errors": {**alone.get("validation_errors", {"alone": 1 - by_itself}), "beside": 1 - together},
    }
    if together <= by_itself:
        return {**alone, **both}
    words = Run(experiment.out / WORDS_RUN)
    without = validate_run(experiment, words.folder, cast(LastLine, words.metrics()[-1]))["validation"]["value"]
    note = message("beside_words", together=together, alone=by_itself, words=without)
    return {**beside, **both, "alone_run": alone["run"], "transfer": "features", "insert": "beside", "beside_words": note}


def evaluate_parts(experiment: Experiment, row: Row, words: Row) -> Row:
    """On the test examples, the encoder of a row by itself, and what it adds to `words`, the row of `skipgram`."""
    metric, kind, test = experiment.metric, experiment.example_kind, experiment.test
    alone = evaluate_task(load(experiment.out / row["alone_run"]), kind, metric, test, ()).metrics[metric]
    added = PairedOutcomes(metric, kind, test, [row["outcomes"], words["outcomes"]]).difference(0, 1)
    figures = {"difference": added["difference"], "low": added["low"], "high": added["high"]}
    return {"alone_score": alone, "added_score": added, "beside_words": message("beside_words_tested", alone=alone["value"], **figures)}
