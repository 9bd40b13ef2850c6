"""Our models as `peers_on_labels.py` compares them: each function learns from training and validation examples, and gives one that predicts."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from stairs.tasks.classifier import word_tokenizer
from stairs.tasks.crf_tagger import CrfTagger
from stairs.tasks.hmm_tagger import HmmTagger
from stairs.tasks.linear_mixture import Mixture
from stairs.tasks.ngram_classifier import NGramClassifier
from stairs.tasks.tfidf_choice import DEFAULT_CHOICE, TfidfChoice
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.tasks.tfidf_pairs import TfidfPairs
from stairs.tasks.vector_classifier import VectorClassifier
from stairs.training.run import load

Predict = Callable[[Sequence[Any]], list[Any]]


class Splits(NamedTuple):
    train: list[Any]
    dev: list[Any]


@dataclass(frozen=True)
class Sources:
    """What some models start from; empty if it was not given."""

    vectors: str = ""  # a run of word vectors
    minilm: str = ""  # a folder of transformers


class Missing(Exception):
    """What a model needs was not given."""


def minilm_folder(sources: Sources) -> str:
    if not sources.minilm:
        raise Missing("no weights of MiniLM, --minilm FOLDER")
    return sources.minilm


def ours_tfidf(data: Splits, sources: Sources) -> Predict:
    return TfidfClassifier.train(data.train, word_tokenizer(data.train), data.dev).predict_examples


def ours_tfidf_default(data: Splits, sources: Sources) -> Predict:
    """One fit, with what is the default where nothing can be chosen."""
    return TfidfClassifier.train(data.train, word_tokenizer(data.train), mixture=Mixture((DEFAULT_CHOICE,))).predict_examples


def ours_tfidf_words(data: Splits, sources: Sources) -> Predict:
    """One fit of words alone and in pairs, without characters: the quickest."""
    return TfidfClassifier.train(data.train, word_tokenizer(data.train), mixture=WORDS_ALONE).predict_examples


def ours_ngram(data: Splits, sources: Sources) -> Predict:
    return NGramClassifier.train(data.train, word_tokenizer(data.train), 3).predict_examples


def ours_vectors(data: Splits, sources: Sources) -> Predict:
    if not sources.vectors:
        raise Missing("no run of word vectors, --vectors LANGUAGE=RUN")
    return VectorClassifier.train(data.train, load(sources.vectors), data.dev).predict_examples  # type: ignore[arg-type]


def tune_minilm(data: Splits, sources: Sources, transfer: Any) -> Predict:
    import stairs

    folder = Path(tempfile.mkdtemp())
    stairs.adopt(minilm_folder(sources), out=folder / "minilm")
    rows = {}
    for name, examples in data._asdict().items():
        texts = [[own.first, own.second] if hasattr(own, "first") else [own.text] for own in examples]
        lines = ["\t".join([*(" ".join(text.split()) for text in own), example.label]) for own, example in zip(texts, examples, strict=True)]
        rows[name] = folder / f"{name}.tsv"
        rows[name].write_text("\n".join([("first\tsecond" if len(texts[0]) == 2 else "text") + "\tlabel", *lines]) + "\n", "utf-8")
    task = "compare" if hasattr(data.train[0], "first") else "classify"
    tuned: Any = stairs.tune(folder / "minilm", rows["train"], dev=rows["dev"], test=rows["dev"], task=task, transfer=transfer, out=folder / "tuned")
    return lambda test: list(tuned.predict_examples(test))


def ours_pairs(data: Splits, sources: Sources) -> Predict:
    return TfidfPairs.train(data.train).predict_examples


def ours_crf(data: Splits, sources: Sources) -> Predict:
    return CrfTagger.train(data.train).predict_examples


def ours_hmm(data: Splits, sources: Sources) -> Predict:
    return HmmTagger.train(data.train).predict_examples


Fit = Callable[[Splits, Sources], Predict]
MINILM: dict[str, Fit] = {"minilm features": partial(tune_minilm, transfer="features"), "minilm tuned": partial(tune_minilm, transfer="full")}
OURS: dict[str, dict[str, Fit]] = {
    "classify": {"ngram": ours_ngram, "tfidf, words, one fit": ours_tfidf_words, "tfidf, one fit": ours_tfidf_default, "tfidf": ours_tfidf,
                 "vectors": ours_vectors, **MINILM},
    "compare": {"tfidf": ours_pairs, **MINILM},
    "tag": {"hmm": ours_hmm, "crf": ours_crf},
}  # fmt: skip
WORDS_ALONE = Mixture((TfidfChoice(words=2, characters=False, by_ratio=True, c=4.0),))
WARM_UP = 200  # examples of each split that are learnt first, so that no import and no compilation is counted


def warm_up(fit: Fit, data: Splits, sources: Sources) -> None:
    small = Splits(data.train[:WARM_UP], data.dev[:WARM_UP])
    with suppress(RuntimeError):  # of a fit that fails on so few
        fit(small, sources)(small.dev[:32])

