"""Which models a climb trains, and how: each is pretrained on the text, then learns from the labels, within its share of the time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stairs.comparison.experiment import Experiment
from stairs.comparison.runs import EVALUATION_SHARE, TRANSLATORS, finetune, fit_classifier, pretrain, train_translator
from stairs.comparison.schema import PretrainingCost, Row
from stairs.models.registry import MODELS
from stairs.models.settings import DEFAULT_TOKENIZER, TRANSLATION_MODELS
from stairs.tasks import NGramClassifier, TfidfClassifier, VectorClassifier, WordVectors
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import load
from stairs.training.run_plans import finetuning_seconds

PRETRAINING_SHARE = 0.5  # of a model's time, if there are labels to learn from as well
MAX_FROZEN_PRETRAINING_SHARE = 0.8  # if only a mix of layers and a head learn from the labels: they need time, however fast the encoder is


@dataclass(frozen=True)
class ClimbModel:
    name: str
    train: Callable[[Experiment, float], Row]  # within so many seconds
    learns_by: str  # "gradient": for as long as it may; "sweeping"; "counting": it takes what it takes
    reads_corpus: bool = True


def models_for(example_kind: str, adopted: Sequence[str]) -> list[ClimbModel]:
    """All that can be trained, the cheap ones first, should the budget run out."""
    if example_kind == "translate":
        return [ClimbModel(name, partial(train_translator, name), "gradient", reads_corpus=False) for name in TRANSLATORS]
    models = [ClimbModel("ngram", train_ngram, "counting")]
    if example_kind == "classify":
        models.append(ClimbModel("tfidf", train_tfidf, "counting"))
    sweeping = [model for model in DEFAULT_TOKENIZER if MODELS[model].learns_by == "sweeping"]
    by_gradients = [model for model in DEFAULT_TOKENIZER if MODELS[model].learns_by == "gradient" and model not in TRANSLATION_MODELS]
    for model in (*sweeping, *by_gradients):
        if example_kind or MODELS[model].pretrains_with != WordVectors.name:
            models.append(ClimbModel(model, partial(pretrain_and_finetune, model), MODELS[model].learns_by))
    return models + [ClimbModel(Path(run).name, partial(finetune_adopted, run), "gradient", reads_corpus=False) for run in adopted if example_kind]


def train_ngram(experiment: Experiment, seconds: float) -> Row:
    pretrained = pretrain(experiment, "ngram", 0.0, order=experiment.order)
    if experiment.example_kind != "classify":
        return pretrained
    examples = labelled_texts(experiment)
    classifier = fit_classifier(experiment, "ngram", lambda: NGramClassifier.train(examples, word_tokenizer(examples), experiment.order))
    costs: PretrainingCost = {"seconds": pretrained["seconds"], "cpu_seconds": pretrained["cpu_seconds"], "training_mb": pretrained["training_mb"]}
    return {**pretrained, **classifier, "pretrained_run": pretrained["run"], "pretraining": costs}  # the classifier counts the labelled texts only


def train_tfidf(experiment: Experiment, seconds: float) -> Row:
    examples = labelled_texts(experiment)
    return fit_classifier(experiment, "tfidf", lambda: TfidfClassifier.train(examples, word_tokenizer(examples)))


def labelled_texts(experiment: Experiment) -> list[LabelledText]:
    return [example for example in experiment.train if isinstance(example, LabelledText)]


def word_tokenizer(examples: Sequence[LabelledText]) -> Tokenizer:
    return Tokenizer.train(TokenizerSpec(kind="words"), lambda: ([example.text] for example in examples))


def pretrain_and_finetune(model: str, experiment: Experiment, seconds: float) -> Row:
    began = time.monotonic()
    seconds *= 1 - (EVALUATION_SHARE if experiment.example_kind else 0.0)
    needs_one_pass = MODELS[model].pretrains_with == WordVectors.name and experiment.example_kind == "classify"
    share = 1.0 if needs_one_pass or not experiment.example_kind else PRETRAINING_SHARE
    if share == PRETRAINING_SHARE and MODELS[model].learns_by == "gradient":  # what the labels do not need is for pretraining
        share = max(share, 1 - seconds_for_labels(experiment, model, seconds * share) / seconds)
        share = min(share, MAX_FROZEN_PRETRAINING_SHARE) if MODELS[model].default_layers else share
    pretrained = pretrain(experiment, model, seconds * share)
    if not experiment.example_kind:
        return pretrained
    source = experiment.out / pretrained["run"]
    if needs_one_pass:
        return combine(pretrained, fit_vector_classifier(experiment, model, source))
    return combine(pretrained, finetune(experiment, model, source, max(seconds - (time.monotonic() - began), seconds * (1 - share))))


def seconds_for_labels(experiment: Experiment, model: str, seconds: float) -> float:
    """What fine-tuning will take, at most `seconds`, if that is not decided already."""
    if f"{experiment.example_kind}-{model}" in experiment.plans.known:
        return seconds
    data = LabelledSplits(experiment.train, experiment.dev)
    return finetuning_seconds(model, experiment.shards_for(model), experiment.example_kind, data, seconds, experiment.seed)


def finetune_adopted(run: str, experiment: Experiment, seconds: float) -> Row:
    """A run that was pretrained elsewhere; what that cost is not known here."""
    source = Path(run)
    if experiment.example_kind == "classify" and isinstance(load(source), WordVectors):
        return {**fit_vector_classifier(experiment, source.name, source), "is_adopted": True}
    return {**finetune(experiment, source.name, source, seconds * (1 - EVALUATION_SHARE), is_new=False), "is_adopted": True}


def fit_vector_classifier(experiment: Experiment, name: str, source: Path) -> Row:
    """Logistic regression on the mean of a text's word vectors."""

    def train() -> VectorClassifier:
        vectors = load(source)
        assert isinstance(vectors, WordVectors)
        return VectorClassifier.train(labelled_texts(experiment), vectors)

    return fit_classifier(experiment, name, train)


def combine(pretrained: Row, finetuned: Row) -> Row:
    """One row of both: times add up, the larger peak of memory counts."""
    peaks = [row["training_mb"] for row in (pretrained, finetuned) if row.get("training_mb") is not None]
    both: Row = {
        "seconds": round(pretrained["seconds"] + finetuned["seconds"], 3),
        "cpu_seconds": round(pretrained["cpu_seconds"] + finetuned["cpu_seconds"], 3),
        "training_mb": max(peaks, default=None),  # type: ignore[type-var]
        "training": [*pretrained.get("training", ()), *finetuned.get("training", ())],
        "pretrained_run": pretrained["run"],
    }
    return {**pretrained, **finetuned, **both}
