"""Which steps there are to climb, and how: each reads the text first, then learns what the labels ask, within its share of the time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stairs.climb.evaluate import EVALUATION_SHARE
from stairs.climb.experiment import Experiment
from stairs.climb.finetune import at_once, finetuning_seconds, taught
from stairs.climb.pretrain import read
from stairs.climb.translate import TRANSLATORS, translator
from stairs.models import MODELS
from stairs.models.sizes import DEFAULT_TOKENIZER, TRANSLATION_MODELS
from stairs.tasks import NGramClassifier, TfidfClassifier, VectorClassifier, WordVectors
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import load

PRETRAINING_SHARE = 0.5  # of a step's time, if there are labels to learn as well
MAX_PRETRAINING_SHARE_OF_MIXES = 0.8  # at most, if only a mix of its layers and a head learn the labels: they need time, however fast the encoder is


@dataclass(frozen=True)
class ClimbModel:
    name: str
    climb: Callable[[Experiment, float], dict[str, Any]]  # within so many seconds; its row
    learns_by: str  # "gradient": for as long as it may; "sweeping"; "counting": it takes what it takes
    reads_corpus: bool = True  # the text of the climb


def models_for(example_kind: str, adopted: Sequence[str]) -> list[ClimbModel]:
    """All that can be climbed, what costs little first, should the budget be used up."""
    if example_kind == "translate":
        return [ClimbModel(name, translator(name), "gradient", reads_corpus=False) for name in TRANSLATORS]
    found = [ClimbModel("ngram", ngram, "counting")]
    if example_kind == "classify":
        found.append(ClimbModel("tfidf", words, "counting"))
    counted = [model for model in DEFAULT_TOKENIZER if MODELS[model].learns_by == "sweeping"]
    learnt = [model for model in DEFAULT_TOKENIZER if MODELS[model].learns_by == "gradient" and model not in TRANSLATION_MODELS]
    found += [ClimbModel(model, reader(model), MODELS[model].learns_by) for model in (*counted, *learnt) if example_kind
        or MODELS[model].pretrains_with != WordVectors.name]
    return found + [ClimbModel(Path(run).name, adopted_run(run), "gradient", reads_corpus=False) for run in adopted if example_kind]


def ngram(experiment: Experiment, seconds: float) -> dict[str, Any]:
    row = read(experiment, "ngram", 0.0, order=experiment.order)
    if experiment.example_kind != "classify":
        return row
    learnt = at_once(experiment, "ngram", lambda: NGramClassifier.train(experiment.train, words_of(experiment), experiment.order))
    reading = {name: row[name] for name in ("seconds", "cpu_seconds", "training_mb")}  # the classifier counts the labelled texts only
    return {**row, **learnt, "read_by": row["run"], "reading": reading}


def words(experiment: Experiment, seconds: float) -> dict[str, Any]:
    return at_once(experiment, "tfidf", lambda: TfidfClassifier.train(experiment.train, words_of(experiment)))


def words_of(experiment: Experiment) -> Tokenizer:
    return Tokenizer.train(TokenizerSpec(kind="words"), lambda: ([example.text] for example in experiment.train))


def reader(model: str) -> Callable[[Experiment, float], dict[str, Any]]:
    """A step that reads the text, and then learns from the examples with what it has read."""

    def climb(experiment: Experiment, seconds: float) -> dict[str, Any]:
        began = time.monotonic()
        seconds *= 1 - (EVALUATION_SHARE if experiment.example_kind else 0.0)
        at_once_too = MODELS[model].pretrains_with == WordVectors.name and experiment.example_kind == "classify"
        share = 1.0 if at_once_too or not experiment.example_kind else PRETRAINING_SHARE
        if share == PRETRAINING_SHARE and MODELS[model].learns_by == "gradient":  # what the labels do not need is for reading
            share = max(share, 1 - finetuning_seconds(experiment, model, seconds * share) / seconds)
            share = min(share, MAX_PRETRAINING_SHARE_OF_MIXES) if MODELS[model].default_layers else share
        row = read(experiment, model, seconds * share)
        if not experiment.example_kind:
            return row
        source = experiment.out / row["run"]
        if at_once_too:
            return together(row, at_once(experiment, model, lambda: VectorClassifier.train(experiment.train, window_in(source))))
        return together(row, taught(experiment, model, source, max(seconds - (time.monotonic() - began), seconds * (1 - share))))

    return climb


def adopted_run(run: str) -> Callable[[Experiment, float], dict[str, Any]]:
    """A run that has read other text before; what that cost, nobody counts here."""

    def climb(experiment: Experiment, seconds: float) -> dict[str, Any]:
        name, source = Path(run).name, Path(run)
        if experiment.example_kind == "classify" and isinstance(load(source), WordVectors):
            return {**at_once(experiment, name, lambda: VectorClassifier.train(experiment.train, window_in(source))), "adopted": True}
        return {**taught(experiment, name, source, seconds * (1 - EVALUATION_SHARE), new=False), "adopted": True}

    return climb


def window_in(folder: Path) -> WordVectors:
    found = load(folder)
    assert isinstance(found, WordVectors)
    return found


def together(reading: dict[str, Any], learnt: dict[str, Any]) -> dict[str, Any]:
    both: dict[str, Any] = {name: round(reading[name] + learnt[name], 3) for name in ("seconds", "cpu_seconds")}
    peaks = [own["training_mb"] for own in (reading, learnt) if own.get("training_mb") is not None]
    both |= {"training_mb": max(peaks, default=None), "training": [*reading.get("training", ()), *learnt.get("training", ())]}
    return {**reading, **learnt, **both, "read_by": reading["run"]}
