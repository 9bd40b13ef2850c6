"""Compile the kernels before a clock starts; those of the models that take seconds first, which need not wait for the others.

numba compiles a loop when it is first called, which takes a minute for all of them, and caches the result in a folder beside the sources. Here a
text of a few lines is tokenized, and the models that have kernels are trained on it and asked. `make` does it as part of its set-up:

python -m stairs.comparison.compilation
"""

import hashlib
import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import llvmlite.binding
import numba
import numpy as np
import torch

from stairs import kernels
from stairs.cache import cache_folder
from stairs.files import write_json
from stairs.formats.weight_packages import WEIGHT_PACKAGES
from stairs.kernels.dropout import fill_dropout_mask
from stairs.layers.dropout import dropout
from stairs.machine import cpu_threads
from stairs.models.registry import MODELS
from stairs.models.settings import make_config
from stairs.progress import quiet, say
from stairs.search.nearest import NearestNeighbours
from stairs.tasks import CrfTagger, NGramClassifier, TfidfClassifier, Translate, pretraining_task
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.corpus.corpus import Corpus
from stairs.text.examples import LabelledText, TaggedSentence, TranslationPair
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions

SENTENCES = [f"The {size} {animal} sat on mat number {number}; 它坐在第{number}张垫子上。"
             for size in ("small", "big", "old") for animal in ("cat", "dog") for number in range(20)]  # fmt: skip
WORDS = 70_000  # of a text that has more of them than 16 bits can number, and more than a table holds at first
TINY: dict[str, int | str] = {"width": 16, "heads": 2, "layers": 1, "context": 32}
SWEEP = TrainingOptions(epochs=1, deterministic=True)
UPDATE = TrainingOptions(steps=1, batch_tokens=64, precision="fp32")
# The models that have kernels of their own, and their tokenizers.
TINY_MODELS: list[tuple[str, str, dict[str, int | str]]] = [
    ("ngram", "words", {}),
    ("cbow", "words", {"width": 16}),
    ("skipgram", "words", {"width": 16}),
    ("glove", "words", {"width": 16}),
    ("skipgram", "words", {"width": 16, "softmax": "hierarchical"}),
    ("skipgram", "words", {"width": 16, "subwords": "3-4", "buckets": 100}),
    ("gpt", "byte-bpe", TINY),
    ("bert", "wordpiece", TINY),
]
CLASSIFIERS: dict[str, type[NGramClassifier] | type[TfidfClassifier]] = {"ngram": NGramClassifier, "tfidf": TfidfClassifier}
LARGE_TEXT_MODELS = 4  # so many of them are trained on the text of many words, too


def compile_kernels(models: Collection[str] = ()) -> None:
    """Compile every kernel that a climb calls, or those of some models alone, unless a note in the cache says that all are compiled."""
    own = [tiny[0] for tiny in TINY_MODELS[:LARGE_TEXT_MODELS] if tiny[0] in models]
    if models and not own:
        return
    note = cache_folder() / f"kernels-{'-'.join([kernels_key(), *own])}.json"
    for done in {note, cache_folder() / f"kernels-{kernels_key()}.json"}:
        with suppress(OSError, ValueError, TypeError):
            if set(json.loads(done.read_text())) <= set(compiled_files()):
                return
    say("compiling the inner loops, once for this machine")
    with TemporaryDirectory(prefix="stairs-") as name, quiet(), cpu_threads(1):
        folder = Path(name)
        small, large = folder / "small.txt", folder / "large.txt"
        small.write_text("\n\n".join(SENTENCES), "utf-8")
        large.write_text("\n\n".join(" ".join([SENTENCES[0], *map(str, range(first, first + 50))]) for first in range(0, WORDS, 50)), "utf-8")
        for number, (model, kind, settings) in enumerate(TINY_MODELS):
            for text in (small, large)[: 1 + (number < LARGE_TEXT_MODELS)]:
                if not models or (model in own and number < LARGE_TEXT_MODELS):  # not the variants, which no climb trains by itself
                    train_tiny(text, folder / f"{text.stem}-{number}", model, kind, settings)
        if not models:
            train_tiny_translator(folder / "translate")
    if not models:
        compile_others()
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        write_json(note, compiled_files())


def compile_others() -> None:
    """What no training of a tiny model calls."""
    train_tiny_tagger()
    for precision in (torch.float32, torch.bfloat16):
        dropout(torch.ones(8, dtype=precision), 0.5)
    for questions in (1, 3):
        NearestNeighbours(np.eye(32, 16, dtype=np.float32)).nearest(np.eye(questions, 16, dtype=np.float32), 2)


def warm_up(models: Collection[str] = ()) -> None:
    """Load compiled loops and libraries that are loaded at their first use, so that no model of a climb pays for it; for all if none is named. A name
    that is unknown here is that of an adopted encoder."""
    with TemporaryDirectory(prefix="stairs-") as name, quiet(), cpu_threads(1):
        small = Path(name) / "small.txt"
        small.write_text("\n\n".join(SENTENCES), "utf-8")
        known = {*MODELS, *CLASSIFIERS, "crf", "hmm", "overlap", *(name for name, own in WEIGHT_PACKAGES.items() if own.kind == "vectors")}
        wanted = {*models, *(["bert"] if set(models) - known else [])}
        first = {tiny[0]: tiny for tiny in reversed(TINY_MODELS) if not models or tiny[0] in wanted}
        for number, (model, kind, settings) in enumerate(first.values()):
            with suppress(Exception):  # a model that is broken says so in its own row
                train_tiny(small, small.with_name(str(number)), model, kind, settings)
        examples = [LabelledText(sentence, str(number % 2)) for number, sentence in enumerate(SENTENCES)]
        tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [SENTENCES])
        for name, classifier in CLASSIFIERS.items():
            if not models or name in models:
                with suppress(Exception):
                    classifier.train(examples, tokenizer).predict_examples(examples)
        if not models or "crf" in models:
            with suppress(Exception):
                train_tiny_tagger()


def kernels_key() -> str:
    """A hash of all that the compiled code depends on: the sources, the compiler and the processor."""
    sources = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(Path(kernels.__path__[0]).glob("*.py"))]
    processor = llvmlite.binding.get_host_cpu_name(), os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    return hashlib.sha256(repr((sources, numba.__version__, processor)).encode()).hexdigest()[:16]


def compiled_files() -> list[str]:
    """The files of numba's cache: those of all kernels are in one folder."""
    return sorted(str(path) for path in Path(fill_dropout_mask._cache.cache_path).glob("*.nb[ci]"))


def train_tiny(text: Path, out: Path, model: str, kind: str, settings: dict[str, int | str]) -> None:
    shards = build_shards(Corpus(text), TokenizerSpec(kind, vocab_size=None if kind == "words" else 400), cache=text.parent)
    task = pretraining_task(MODELS[model](make_config(model, shards.tokenizer.vocabulary_settings, **settings)), shards.tokenizer)
    fit(task, shards, out, SWEEP if task.learns_by == "sweeping" else UPDATE)
    task.answer("the big cat [MASK]" if model == "bert" else "the big cat")


def train_tiny_translator(out: Path) -> None:
    tokenizer = Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=400), lambda: [SENTENCES])
    pairs = [TranslationPair(sentence, sentence[::-1]) for sentence in SENTENCES[:24]]
    task = Translate(MODELS["transformer"](make_config("transformer", tokenizer.vocabulary_settings, **{**TINY, "context": 128})), tokenizer)
    fit(task, LabelledSplits(pairs[:20], pairs[20:]), out, UPDATE)


def train_tiny_tagger() -> None:
    words = [tuple(sentence.split()) for sentence in SENTENCES]
    sentences = [TaggedSentence(own, tuple("N" if word.istitle() else "O" for word in own)) for own in words]
    CrfTagger.train(sentences).predict_examples(sentences)


if __name__ == "__main__":
    compile_kernels()
