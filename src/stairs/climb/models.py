"""Which steps there are to climb, and how: each reads the text first, then learns what the labels ask, within its share of the time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stairs.climb.evaluate import JUDGING_SHARE
from stairs.climb.experiment import Ground
from stairs.climb.finetune import at_once, seconds_to_teach, taught
from stairs.climb.pretrain import read
from stairs.climb.translate import TRANSLATORS, translator
from stairs.models import MODELS
from stairs.models.sizes import DEFAULT_TOKENIZER, TRANSLATION_MODELS
from stairs.tasks import NGramClassifier, TfidfClassifier, VectorClassifier, WordVectors
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import load

READING_SHARE = 0.5  # of a step's time, if there are labels to learn as well
MIXED_SHARE = 0.8  # at most, if only a mix of its layers and a head learn the labels: they need time, however fast the encoder is


@dataclass(frozen=True)
class Step:
    name: str
    climb: Callable[[Ground, float], dict[str, Any]]  # within so many seconds; its row
    learns_by: str  # "gradient": for as long as it may; "sweeping"; "counting": it takes what it takes
    reads: bool = True  # the text of the climb


def steps_for(example_kind: str, adopted: Sequence[str]) -> list[Step]:
    """All that can be climbed, what costs little first, should the budget be used up."""
    if example_kind == "translate":
        return [Step(name, translator(name), "gradient", reads=False) for name in TRANSLATORS]
    found = [Step("ngram", ngram, "counting")]
    if example_kind == "classify":
        found.append(Step("tfidf", words, "counting"))
    counted = [step for step in DEFAULT_TOKENIZER if MODELS[step].learns_by == "sweeping"]
    learnt = [step for step in DEFAULT_TOKENIZER if MODELS[step].learns_by == "gradient" and step not in TRANSLATION_MODELS]
    found += [Step(step, reader(step), MODELS[step].learns_by) for step in (*counted, *learnt) if example_kind
        or MODELS[step].pretrains_with != WordVectors.name]
    return found + [Step(Path(run).name, adopted_run(run), "gradient", reads=False) for run in adopted if example_kind]


def ngram(ground: Ground, seconds: float) -> dict[str, Any]:
    row = read(ground, "ngram", 0.0, order=ground.order)
    if ground.example_kind != "classify":
        return row
    learnt = at_once(ground, "ngram", lambda: NGramClassifier.train(ground.train, words_of(ground), ground.order))
    reading = {name: row[name] for name in ("seconds", "cpu_seconds", "training_mb")}  # the classifier counts the labelled texts only
    return {**row, **learnt, "read_by": row["run"], "reading": reading}


def words(ground: Ground, seconds: float) -> dict[str, Any]:
    return at_once(ground, "tfidf", lambda: TfidfClassifier.train(ground.train, words_of(ground)))


def words_of(ground: Ground) -> Tokenizer:
    return Tokenizer.train(TokenizerSpec(kind="words"), lambda: ([example.text] for example in ground.train))


def reader(step: str) -> Callable[[Ground, float], dict[str, Any]]:
    """A step that reads the text, and then learns from the examples with what it has read."""

    def climb(ground: Ground, seconds: float) -> dict[str, Any]:
        began = time.monotonic()
        seconds *= 1 - (JUDGING_SHARE if ground.example_kind else 0.0)
        at_once_too = MODELS[step].pretrains_with == WordVectors.name and ground.example_kind == "classify"
        share = 1.0 if at_once_too or not ground.example_kind else READING_SHARE
        if share == READING_SHARE and MODELS[step].learns_by == "gradient":  # what the labels do not need is for reading
            share = max(share, 1 - seconds_to_teach(ground, step, seconds * share) / seconds)
            share = min(share, MIXED_SHARE) if MODELS[step].default_layers else share
        row = read(ground, step, seconds * share)
        if not ground.example_kind:
            return row
        source = ground.out / row["run"]
        if at_once_too:
            return together(row, at_once(ground, step, lambda: VectorClassifier.train(ground.train, window_in(source))))
        return together(row, taught(ground, step, source, max(seconds - (time.monotonic() - began), seconds * (1 - share))))

    return climb


def adopted_run(run: str) -> Callable[[Ground, float], dict[str, Any]]:
    """A run that has read other text before; what that cost, nobody counts here."""

    def climb(ground: Ground, seconds: float) -> dict[str, Any]:
        name, source = Path(run).name, Path(run)
        if ground.example_kind == "classify" and isinstance(load(source), WordVectors):
            return {**at_once(ground, name, lambda: VectorClassifier.train(ground.train, window_in(source))), "adopted": True}
        return {**taught(ground, name, source, seconds * (1 - JUDGING_SHARE), new=False), "adopted": True}

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
