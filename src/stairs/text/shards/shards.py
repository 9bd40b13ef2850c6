"""Token ids on disk, made once for a text and a tokenizer and memory-mapped afterwards.

train.bin, validation.bin, test.bin   uint16, or uint32 when the vocabulary is larger: each sentence followed by [SEP], the last of a document by
                                      [CLS], which begins the next: nothing but the tokens themselves takes room
tokenizer.json                        and tokenizer_config.json
manifest.json                         written last: counts, sizes, sha256
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stairs.errors import BadInput
from stairs.files import cache_folder, check_free_space, new_folder, verified_manifest
from stairs.progress import format_count, say
from stairs.text.shards.writer import SPLITS, document_split, split_corpus, write_counting_vocabulary, write_encoded
from stairs.text.tokenizers.bulk_encoding import id_dtype
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

__all__ = ["Shards", "build_shards", "document_split", "is_sentence_end"]

FORMAT = 4
MAX_REPORTED_FILES = 10  # files left out that are named one by one
SUBWORD_SAMPLE, UNIGRAM_SAMPLE = 64_000_000, 16_000_000  # bytes of text a subword vocabulary is learnt from, spread over the whole
TOKENS_PER_CHARACTER = {"words": (0.75, 0.27), "characters": (1.1, 1.1)}  # per Chinese and per other one, with room to spare
SUBWORDS_PER_CHARACTER = (1.1, 0.35)
PRETOKEN_NUMBER_BYTES = 4  # per token, while words and characters are only numbered


class Shards:
    """The folder `build_shards` made: `shards.ids("train")`, `shards.tokenizer`, `shards.info("test")["characters"]`."""

    final_split = "test"  # evaluated once, with the weights that were chosen
    split_format = FORMAT  # a corpus that is split in another way is other data

    def __init__(self, folder: str | Path, tokenizer: Tokenizer | None = None):
        self.folder = Path(folder)
        self.manifest: dict[str, Any] = verified_manifest(self.folder)
        if self.manifest.get("format") != FORMAT or not {f"{split}.bin" for split in SPLITS} <= set(self.manifest["files"]):
            raise BadInput(f"{self.folder} holds no token shards of format {FORMAT}; delete it to have it made again")
        self.fingerprint: str = self.manifest["corpus"]  # the content hash of the corpus
        self.tokenizer = tokenizer or Tokenizer.load(self.folder)

    def info(self, split: str) -> dict[str, Any]:
        """tokens, sentences, documents, characters, unknown_words, spelling_bits, spacing_bits, sha256, bytes of a split."""
        return {**self.manifest["splits"][split], **self.manifest["files"][f"{split}.bin"]}

    def ids(self, split: str) -> np.ndarray:
        return np.memmap(self.folder / f"{split}.bin", dtype=self.manifest["dtype"], mode="r")

    def sentence_starts(self, split: str) -> np.ndarray:
        """Where each sentence begins among the ids."""
        ids, size = self.ids(split), 1 << 24
        closed = [np.flatnonzero(is_sentence_end(ids[at : at + size])) + at + 1 for at in range(0, len(ids), size)]
        return np.concatenate([np.zeros(1, np.int64), *closed])[:-1]

    def documents(self, split: str) -> Iterator[np.ndarray]:
        """The ids of one document after the other, each of its sentences closed by [SEP]."""
        ids, size = self.ids(split), 1 << 24
        begin = 0
        for at in range(0, len(ids), size):
            for stop in (np.flatnonzero(ids[at : at + size] == Tokenizer.begin) + at).tolist():
                document = np.array(ids[begin : stop + 1])
                document[-1] = Tokenizer.end
                yield document
                begin = stop + 1


def is_sentence_end(ids: np.ndarray) -> np.ndarray:
    """Whether each id ends a sentence."""
    return (ids == Tokenizer.end) | (ids == Tokenizer.begin)


def build_shards(corpus: Any, spec: TokenizerSpec | Tokenizer, *, cache: Path | None = None) -> Shards:
    """The shards of a corpus: those in the cache if they are intact, else new ones. The tokenizer is learnt from the train split."""
    cache = Path(cache) if cache is not None else cache_folder()
    made_with = spec.hash if isinstance(spec, Tokenizer) else dataclasses.asdict(spec)
    key = hashlib.sha256(json.dumps([FORMAT, corpus.content_hash, made_with], sort_keys=True).encode()).hexdigest()[:20]
    folder = cache / f"shards-{key}"
    if (found := load_cached(folder)) is not None:
        return found
    check_disk_space(corpus, spec if isinstance(spec, TokenizerSpec) else spec.spec, cache)
    about: dict[str, Any] = {"format": FORMAT, "corpus": corpus.content_hash}
    with new_folder(folder, about) as aside:
        if isinstance(spec, TokenizerSpec) and spec.kind in ("words", "characters"):
            tokenizer, splits = write_counting_vocabulary(corpus, spec, aside)
        else:
            tokenizer = spec if isinstance(spec, Tokenizer) else Tokenizer.train(spec, lambda: sample_train_documents(corpus, spec.kind))
            splits = write_encoded(corpus, tokenizer, aside)
        tokenizer.save(aside)
        about["dtype"] = np.dtype(id_dtype(tokenizer.vocab_size)).name
        about |= {
            "vocab_size": tokenizer.vocab_size,
            "tokenizer": tokenizer.hash,
            "spec": dataclasses.asdict(tokenizer.spec),
            "splits": splits,
        }
    report_oddities(corpus)
    return Shards(folder, tokenizer)


def report_oddities(corpus: Any) -> None:
    """What was odd about the text, for the one who gave it."""
    for sentence in getattr(corpus, "skipped", [])[:MAX_REPORTED_FILES]:
        say(f"left out: {sentence}")
    if len(getattr(corpus, "skipped", [])) > MAX_REPORTED_FILES:
        say(f"left out: {len(corpus.skipped) - MAX_REPORTED_FILES} more files")
    for what, count in getattr(corpus, "odd_characters", {}).items():
        say(f"the text holds {count} {what} characters inside; they are kept")


def load_cached(folder: Path) -> Shards | None:
    """The shards in the cache, if there are any and none is damaged."""
    if not folder.exists():
        return None
    try:
        return Shards(folder)
    except BadInput as fault:
        say(f"building the token shards again: {fault}")
        return None


def sample_train_documents(corpus: Any, kind: str) -> Iterator[list[str]]:
    """Documents of the train split, every n-th one if all would be more than a trainer can hold."""
    stride = max(1, -(-corpus.size // (UNIGRAM_SAMPLE if kind == "unigram" else SUBWORD_SAMPLE)))
    trained = (cut for cut, split in split_corpus(corpus.documents()) if split == "train")
    return (cut for number, cut in enumerate(trained) if number % stride == 0)


def check_disk_space(corpus: Any, spec: TokenizerSpec, cache: Path) -> None:
    """Say what it will take on the disk, and refuse if there is less."""
    characters, size, position = 0, 0, 0
    for document in corpus.documents():
        characters += len(document)
        size += len(document.encode(errors="replace"))
        position = corpus.position
        if characters > 1_000_000:
            break
    chinese = (size - characters) / 2  # three bytes a character
    per_chinese, per_other = TOKENS_PER_CHARACTER.get(spec.kind, SUBWORDS_PER_CHARACTER)
    tokens = chinese * per_chinese + (characters - chinese) * per_other
    if characters > 1_000_000 and position:
        tokens *= max(corpus.size / position, 1)
    largest = spec.vocab_size or (1 << 20 if spec.kind == "words" else 1)
    needed = tokens * ((4 if largest > 65536 else 2) + PRETOKEN_NUMBER_BYTES * (spec.kind in TOKENS_PER_CHARACTER))
    say(f"token shards: about {format_count(needed)}B on the disk in {cache}")
    check_free_space(cache, int(needed), "cutting the text into token shards")
