"""stairs plan STEP CORPUS: what a training would take, from a short probe of the corpus itself."""

import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from stairs.commands.flags import show, tokenizer_spec
from stairs.commands.train import Train, config_of, flags, given_corpus, prepared, settled_for, untrained, with_recipe
from stairs.errors import BadInput

ABOUT = """The minutes, memory and disk that `stairs train` with the same words would take. A small part of the corpus is cut and counted, and what
grows with the text is drawn on from there. Steps: {steps}."""
PROBES = (1_000_000, 4_000_000)  # characters; two sizes, since the number of different n-grams grows more slowly than the text
START = 2.0  # seconds until the first byte is read
BYTES_PER_GRAM = 20  # of the finished model
BYTES_PER_COUNT = 16 / 0.45 + 4  # of the counting table, on average half way between two growths


def main(arguments: list[str]) -> int:
    return run(flags(Train, arguments, "plan", ABOUT))


def run(options: Any) -> int:
    plan = planned(with_recipe(options)[0])
    if options.json:
        show(plan)
    else:
        for name, value in plan.items():
            print(f"{name.replace('_', ' '):18} {value if isinstance(value, str) else format(value, ',')}")
    return 0


def planned(options: Any) -> dict[str, float]:
    if options.pairs:
        return planned_pairs(options)
    corpus = given_corpus(options)
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
    return planned_counting(options, documents, growth) if options.model == "ngram" else planned_learning(options, documents, growth)


def planned_pairs(options: Any) -> dict[str, Any]:
    """A few steps on the pairs themselves, which are never many."""
    from stairs.training.fit import plan

    task, examples, _ = prepared(options)
    return plan(task, examples, settled_for(options))


def planned_counting(options: Any, documents: list[str], growth: float) -> dict[str, float]:
    small = list(islice(documents, max(1, len(documents) * PROBES[0] // PROBES[1])))
    first, second = probe(small, options), probe(documents, options)
    tokens = second["tokens"] * growth
    grams = sum(grown(a, b, first["tokens"], second["tokens"], tokens) for a, b in zip(first["sizes"], second["sizes"], strict=True))
    bytes_per_token = 2 if second["vocabulary"] * growth**0.6 <= 65536 else 4
    return {
        "tokens": round(tokens),
        "n_grams": round(grams),
        "minutes": round((START + second["seconds"] * growth) / 60, 2),
        "memory_mb": round(400 + grams * BYTES_PER_COUNT / 1e6),
        "disk_mb": round((grams * BYTES_PER_GRAM + tokens * bytes_per_token) / 1e6, 1),
    }


def planned_learning(options: Any, documents: list[str], growth: float) -> dict[str, Any]:
    """A few steps on the first part of the corpus, for real."""
    from stairs.text.shards import build_shards
    from stairs.training.fit import plan

    training = settled_for(options)
    with TemporaryDirectory() as folder:
        shards = build_shards(Part(documents), tokenizer_spec(options, options.model), cache=Path(folder))
        task = untrained(options, shards.tokenizer)
        found = plan(task, shards, training)
        if training.epochs is not None and task.model.learns_by == "sweeping":
            small = build_shards(Part(documents[: -(-len(documents) // 4)]), tokenizer_spec(options, options.model), cache=Path(folder))
            grow_vocabulary(found, task, [small, shards], growth, training.keep)
    longer = growth if training.epochs is not None else 1.0  # an epoch of the whole has so many more steps than one of the part
    found["tokens"] = round(found["tokens"] * growth)
    found["steps"], found["minutes"] = round(found["steps"] * longer), round(found["minutes"] * longer, 2)
    found["epochs"] = round(found["epochs"] * longer / growth, 2)
    return found


def grow_vocabulary(found: dict[str, Any], task: Any, parts: list[Any], growth: float, keep: int) -> None:
    """What the words take that the part has not shown yet."""
    sizes, tokens = [part.tokenizer.vocab_size for part in parts], [part.info("train")["tokens"] for part in parts]
    more = grown(sizes[0], sizes[1], tokens[0], tokens[1], tokens[1] * growth) - sizes[1]
    numbers = round(more * sum(weight.numel() / len(weight) for weight in task.model.parameters() if len(weight) == sizes[1]))
    found["parameters"] += numbers
    found["memory_mb"] = round(found["memory_mb"] + numbers * 4 / 1e6)
    found["disk_mb"] = round(found["disk_mb"] + numbers * 4 * (keep + 3) / 1e6, 1)


class Part:
    """Some documents as a corpus."""

    name = "part"

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.size = self.position = sum(len(text.encode()) for text in texts)
        self.content_hash = f"part of {len(texts)}"

    def documents(self) -> list[str]:
        return self.texts


def probe(documents: list[str], options: Any) -> dict[str, Any]:
    """Cut and count a part of the corpus for real."""
    from stairs.models import MODELS
    from stairs.text.sentences import split_sentences
    from stairs.text.tokenizers.tokenizer import Tokenizer

    began = time.monotonic()
    cut = [split_sentences(document) for document in documents]
    tokenizer = Tokenizer.train(tokenizer_spec(options, options.model), lambda: cut)
    model = MODELS[options.model](config_of(options, **tokenizer.vocabulary_settings))
    fixed = time.monotonic() - began
    ids = [i for pieces in cut for row in tokenizer.encode_batch(pieces) for i in (*row, tokenizer.end)]
    began = time.monotonic()
    model.count(np.array(ids, np.uint32))
    return {
        "tokens": len(ids),
        "vocabulary": tokenizer.vocab_size,
        "sizes": np.asarray(model.sizes).tolist(),
        "seconds": fixed + time.monotonic() - began,
    }


def grown(small: float, large: float, small_tokens: float, large_tokens: float, tokens: float) -> float:
    """A power law through two points (Heaps' law), read off at a third."""
    if large_tokens <= small_tokens or large <= small:
        return large
    exponent = min(np.log(large / small) / np.log(large_tokens / small_tokens), 1.0)
    return large * (tokens / large_tokens) ** exponent
