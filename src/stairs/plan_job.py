"""What a training would take, from a short probe of the corpus itself."""

import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stairs.errors import BadInput
from stairs.train_job import TrainJob

if TYPE_CHECKING:
    from stairs.tasks import Task
    from stairs.text.shards import Shards

PROBES = (1_000_000, 4_000_000)  # characters; two sizes, since the number of different n-grams grows more slowly than the text
START_SECONDS = 2.0  # until the first byte is read
BYTES_PER_NGRAM = 20  # of the finished model
BYTES_PER_COUNT = 16 / 0.45 + 4  # of the counting table, on average half way between two growths
Plan = dict[str, Any]


def plan_training(job: TrainJob) -> Plan:
    """The minutes, memory and disk that `train` with the same arguments would take."""
    job, _ = job.with_recipe()
    if job.pairs:  # a few steps on the pairs themselves, which are never many
        from stairs.training.estimates import plan

        tokenizer, data = job.read_data()
        return plan(job.new_task(tokenizer), data, job.validated_options())
    from stairs.text.corpus.corpus import open_corpus

    corpus = open_corpus(job.corpus, job.reading)
    documents: list[str] = []
    characters = 0
    for document in corpus.documents():
        documents.append(document)
        characters += len(document)
        if characters >= PROBES[-1]:
            break
    read = max(corpus.position, 1) if characters >= PROBES[-1] else corpus.size
    growth = max(corpus.size / read, 1.0)
    if not documents:
        raise BadInput(f"no text in {corpus.name}; give a file with text")
    return plan_counting(job, documents, growth) if job.model == "ngram" else plan_learning(job, documents, growth)


def plan_counting(job: TrainJob, documents: list[str], growth: float) -> Plan:
    """Of n-grams, extrapolated from counts of two parts of the text."""
    small = list(islice(documents, max(1, len(documents) * PROBES[0] // PROBES[1])))
    first, second = count_part(small, job), count_part(documents, job)
    tokens = second["tokens"] * growth
    ngrams = sum(extrapolate(a, b, first["tokens"], second["tokens"], tokens) for a, b in zip(first["sizes"], second["sizes"], strict=True))
    bytes_per_token = 2 if second["vocabulary"] * growth**0.6 <= 65536 else 4
    return {
        "tokens": round(tokens),
        "n_grams": round(ngrams),
        "minutes": round((START_SECONDS + second["seconds"] * growth) / 60, 2),
        "memory_mb": round(400 + ngrams * BYTES_PER_COUNT / 1e6),
        "disk_mb": round((ngrams * BYTES_PER_NGRAM + tokens * bytes_per_token) / 1e6, 1),
    }


def plan_learning(job: TrainJob, documents: list[str], growth: float) -> Plan:
    """Of the other models, from a few steps on the first part of the corpus."""
    from stairs.text.shards import build_shards
    from stairs.training.estimates import plan

    options, tokenizer = job.validated_options(), job.tokenizing.read_file() or job.spec
    with TemporaryDirectory() as folder:
        shards = build_shards(CorpusPart(documents), tokenizer, cache=Path(folder))
        task = job.new_task(shards.tokenizer)
        found = plan(task, shards, options)
        if options.epochs is not None and task.model.learns_by == "sweeping":
            small = build_shards(CorpusPart(documents[: -(-len(documents) // 4)]), tokenizer, cache=Path(folder))
            add_unseen_words(found, task, [small, shards], growth, options.keep)
    longer = growth if options.epochs is not None else 1.0  # an epoch of the whole has so many more steps than one of the part
    found["tokens"] = round(found["tokens"] * growth)
    found["steps"], found["minutes"] = round(found["steps"] * longer), round(found["minutes"] * longer, 2)
    found["epochs"] = round(found["epochs"] * longer / growth, 2)
    return found


def add_unseen_words(found: Plan, task: "Task", parts: "list[Shards]", growth: float, kept_checkpoints: int) -> None:
    """What the words take that the part of the text does not have."""
    sizes, tokens = [part.tokenizer.vocab_size for part in parts], [part.info("train")["tokens"] for part in parts]
    more = extrapolate(sizes[0], sizes[1], tokens[0], tokens[1], tokens[1] * growth) - sizes[1]
    parameters = round(more * sum(weight.numel() / len(weight) for weight in task.model.parameters() if len(weight) == sizes[1]))
    found["parameters"] += parameters
    found["memory_mb"] = round(found["memory_mb"] + parameters * 4 / 1e6)
    found["disk_mb"] = round(found["disk_mb"] + parameters * 4 * (kept_checkpoints + 3) / 1e6, 1)


class CorpusPart:
    """Some documents as a corpus."""

    name = "part"

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.size = self.position = sum(len(text.encode()) for text in texts)
        self.content_hash = f"part of {len(texts)}"

    def documents(self) -> list[str]:
        return self.texts


def count_part(documents: list[str], job: TrainJob) -> dict[str, Any]:
    """Tokenize and count a part of the corpus."""
    from stairs.models.ngram import NGram
    from stairs.models.registry import MODELS
    from stairs.text.sentences import split_sentences
    from stairs.text.tokenizers.tokenizer import Tokenizer

    began = time.monotonic()
    sentences = [split_sentences(document) for document in documents]
    tokenizer = job.tokenizing.read_file() or Tokenizer.train(job.spec, lambda: sentences)
    model = cast(NGram, MODELS[job.model](job.config(**tokenizer.vocabulary_settings)))
    seconds = time.monotonic() - began
    ids = [i for own in sentences for row in tokenizer.encode_batch(own) for i in (*row, tokenizer.end)]
    began = time.monotonic()
    model.count(np.array(ids, np.uint32))
    return {
        "tokens": len(ids),
        "vocabulary": tokenizer.vocab_size,
        "sizes": np.asarray(model.sizes).tolist(),
        "seconds": seconds + time.monotonic() - began,
    }


def extrapolate(small: float, large: float, small_tokens: float, large_tokens: float, tokens: float) -> float:
    """A power law through two points (Heaps' law), read off at a third."""
    if large_tokens <= small_tokens or large <= small:
        return large
    exponent = min(np.log(large / small) / np.log(large_tokens / small_tokens), 1.0)
    return float(large * (tokens / large_tokens) ** exponent)
