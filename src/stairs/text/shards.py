"""Token ids on disk, built once for a corpus and a tokenizer and memory-mapped afterwards.

train.bin, validation.bin, test.bin   uint16, or uint32 when the vocabulary is larger: each sentence is followed by [SEP], the last of a document by
                                      [CLS], which begins the next: nothing but the tokens themselves takes space
tokenizer.json                        and tokenizer_config.json
manifest.json                         written last: counts, sizes, sha256

Building is one streaming pass: documents are split (corpus/corpus.py), encoded in a second thread, and written as they come.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, cast

import numpy as np

from stairs.cache import cache_folder
from stairs.data import CorpusLike
from stairs.errors import BadInput
from stairs.files import check_free_space, new_folder, verified_manifest
from stairs.kernels import pretokens as kernel
from stairs.progress import format_count, say, track
from stairs.text.corpus.corpus import SPLITS, report_oddities, split_corpus
from stairs.text.special import BEGIN, END, SPECIAL_TOKENS, UNKNOWN
from stairs.text.tokenizers.bulk_tokenization import BulkEncoder, EncodedDocuments, PretokenCounts, id_dtype, vocabulary_from_counts
from stairs.text.tokenizers.pretoken_index import Gaps, PretokenIndex, SpacingTable
from stairs.text.tokenizers.spec import TokenizerSpec, assemble_backend, build_model
from stairs.text.tokenizers.tokenizer import Tokenizer

FORMAT = 4
SUBWORD_SAMPLE, UNIGRAM_SAMPLE = 64_000_000, 16_000_000  # bytes of text that a subword vocabulary is learnt from, spread over the corpus
TOKENS_PER_CHARACTER = {"words": (0.75, 0.27), "characters": (1.1, 1.1)}  # per Chinese character and per other one, on the safe side
SUBWORDS_PER_CHARACTER = (1.1, 0.35)
PRETOKEN_NUMBER_BYTES = 4  # per token, while words and characters are only numbered
BLOCK = 4_000_000  # characters handed to the second thread at a time
REWRITE_BLOCK = 1 << 21  # pre-token numbers turned into ids at a time


class SplitInfo(TypedDict):
    """What the manifest says of a split."""

    tokens: int
    sentences: int
    documents: int
    characters: int
    unknown_words: int
    spelling_bits: float  # what it takes to spell the unknown words
    spacing_bits: float  # and to restore the spaces
    bytes: int
    sha256: str


class Shards:
    """The folder that `build_shards` made: `shards.ids("train")`, `shards.tokenizer`, `shards.info("test")["characters"]`."""

    final_split = "test"  # evaluated once, with the weights that were chosen
    split_format = FORMAT  # a corpus that is split in another way is other data

    def __init__(self, folder: str | Path, tokenizer: Tokenizer | None = None):
        self.folder = Path(folder)
        self.manifest: dict[str, Any] = verified_manifest(self.folder)
        if self.manifest.get("format") != FORMAT or not {f"{split}.bin" for split in SPLITS} <= set(self.manifest["files"]):
            raise BadInput(f"{self.folder} holds no token shards of format {FORMAT}; delete it to have them built again")
        self.fingerprint: str = self.manifest["corpus"]  # the content hash of the corpus
        self.tokenizer = tokenizer or Tokenizer.load(self.folder)

    def info(self, split: str) -> SplitInfo:
        return cast(SplitInfo, {**self.manifest["splits"][split], **self.manifest["files"][f"{split}.bin"]})

    def ids(self, split: str) -> np.ndarray:
        return np.memmap(self.folder / f"{split}.bin", dtype=self.manifest["dtype"], mode="r")

    def sentence_starts(self, split: str) -> np.ndarray:
        """Where each sentence begins among the ids."""
        ids, size = self.ids(split), 1 << 24
        ends = [np.flatnonzero(is_sentence_end(ids[at : at + size])) + at + 1 for at in range(0, len(ids), size)]
        return np.concatenate([np.zeros(1, np.int64), *ends])[:-1]

    def documents(self, split: str) -> Iterator[np.ndarray]:
        """The ids of one document after another, each of its sentences followed by [SEP]."""
        ids, size = self.ids(split), 1 << 24
        begin = 0
        for at in range(0, len(ids), size):
            for stop in (np.flatnonzero(ids[at : at + size] == BEGIN) + at).tolist():
                document = np.array(ids[begin : stop + 1])
                document[-1] = END
                yield document
                begin = stop + 1


def is_sentence_end(ids: np.ndarray) -> np.ndarray:
    """Of each id, whether it ends a sentence."""
    return (ids == END) | (ids == BEGIN)


def build_shards(corpus: CorpusLike, spec: TokenizerSpec | Tokenizer, *, cache: Path | None = None) -> Shards:
    """The shards of a corpus: those in the cache if they are intact, else new ones. The vocabulary is learnt from the train split."""
    cache = Path(cache) if cache is not None else cache_folder()
    tokenizer_key = spec.hash if isinstance(spec, Tokenizer) else dataclasses.asdict(spec)
    key = hashlib.sha256(json.dumps([FORMAT, corpus.content_hash, tokenizer_key], sort_keys=True).encode()).hexdigest()[:20]
    folder = cache / f"shards-{key}"
    if (cached := load_cached(folder)) is not None:
        return cached
    check_disk_space(corpus, spec if isinstance(spec, TokenizerSpec) else spec.spec, cache)
    manifest: dict[str, Any] = {"format": FORMAT, "corpus": corpus.content_hash}
    with new_folder(folder, manifest) as aside:
        if isinstance(spec, TokenizerSpec) and spec.kind in ("words", "characters"):
            tokenizer, splits = write_counting_vocabulary(corpus, spec, aside)
        else:
            tokenizer = spec if isinstance(spec, Tokenizer) else Tokenizer.train(spec, lambda: sample_train_documents(corpus, spec.kind))
            splits = write_encoded(corpus, tokenizer, aside)
        tokenizer.save(aside)
        manifest |= {
            "dtype": np.dtype(id_dtype(tokenizer.vocab_size)).name,
            "vocab_size": tokenizer.vocab_size,
            "tokenizer": tokenizer.hash,
            "spec": dataclasses.asdict(tokenizer.spec),
            "splits": splits,
        }
    report_oddities(corpus)
    return Shards(folder, tokenizer)


def load_cached(folder: Path) -> Shards | None:
    """The shards in the cache, if they are there and undamaged."""
    if not folder.exists():
        return None
    try:
        return Shards(folder)
    except BadInput as error:
        say(f"building the token shards again: {error}")
        return None


def sample_train_documents(corpus: CorpusLike, kind: str) -> Iterator[list[str]]:
    """Documents of the train split, every n-th if all of them would be more than a trainer can hold."""
    stride = max(1, -(-corpus.size // (UNIGRAM_SAMPLE if kind == "unigram" else SUBWORD_SAMPLE)))
    train = (sentences for sentences, split in split_corpus(corpus.documents()) if split == "train")
    return (sentences for number, sentences in enumerate(train) if number % stride == 0)


def check_disk_space(corpus: CorpusLike, spec: TokenizerSpec, cache: Path) -> None:
    """Say how much disk space the shards will take, and refuse if less is free."""
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
    vocab_size = spec.vocab_size or (1 << 20 if spec.kind == "words" else 1)
    needed = tokens * ((4 if vocab_size > 65536 else 2) + PRETOKEN_NUMBER_BYTES * (spec.kind in TOKENS_PER_CHARACTER))
    say(f"token shards: about {format_count(needed)}B on the disk in {cache}")
    check_free_space(cache, int(needed), "building the token shards")


class SplitWriter:
    """The file of one split, and its counts."""

    def __init__(self, path: Path):
        self.file: BinaryIO = path.open("wb")
        self.counts = {"tokens": 0, "sentences": 0, "documents": 0, "characters": 0, "unknown_words": 0}
        self.spelling_bits = 0.0

    def count(self, documents: list[list[str]]) -> None:
        ends = sum(map(len, documents))
        self.counts["documents"] += len(documents)
        self.counts["sentences"] += ends
        self.counts["characters"] += ends + sum(sum(map(len, document)) for document in documents)

    def write(self, encoded: EncodedDocuments) -> None:
        self.counts["tokens"] += len(encoded.ids)
        self.counts["unknown_words"] += encoded.unknown_words
        self.spelling_bits += encoded.spelling_bits
        self.file.write(encoded.ids.data)

    def close(self) -> dict[str, float]:
        """What the manifest says of this split."""
        self.file.close()
        return {**self.counts, "spelling_bits": self.spelling_bits}


def write_encoded(corpus: CorpusLike, tokenizer: Tokenizer, folder: Path) -> dict[str, dict[str, float]]:
    """Encode all splits with a tokenizer that is trained already."""
    encoder, gaps = BulkEncoder(tokenizer), {split: Gaps() for split in SPLITS}
    writers = {split: SplitWriter(folder / f"{split}.bin") for split in SPLITS}

    def work(split: str, block: bytes) -> None:
        writers[split].write(encoder.encode_block(block))
        encoder.pretokens.count_gaps(block, gaps[split])

    in_two_threads(corpus, writers, encoder.pretokens, work, "encoding")
    return close_writers(writers, tokenizer, encoder.pretokens, gaps)


def write_counting_vocabulary(corpus: CorpusLike, spec: TokenizerSpec, folder: Path) -> tuple[Tokenizer, dict[str, dict[str, float]]]:
    """Words or characters in a single pass over the text: pre-token numbers first, ids when the train split is counted."""
    pretokens = PretokenIndex(spec, assemble_backend(spec, build_model(spec.kind)))
    counts, gaps = PretokenCounts(pretokens), {split: Gaps() for split in SPLITS}
    writers = {split: SplitWriter(folder / f"{split}.bin") for split in SPLITS}
    with ExitStack() as stack:
        number_files = {split: stack.enter_context((folder / f"{split}.numbers").open("w+b")) for split in SPLITS}

        def work(split: str, block: bytes) -> None:
            numbers = pretokens.number_block(block)
            if split == "train":
                counts.add(numbers)
            number_files[split].write(numbers.data)
            pretokens.count_gaps(block, gaps[split])

        in_two_threads(corpus, writers, pretokens, work, "reading")
        backend, vocabulary, chosen = vocabulary_from_counts(spec, counts)
        tokenizer = Tokenizer(spec, backend, vocabulary)
        ids, unknown, bits = id_lookup(tokenizer, pretokens, chosen)
        offsets = np.arange(pretokens.distinct_count + 1, dtype=np.int64)
        for split in SPLITS:
            number_files[split].seek(0)
            while data := number_files[split].read(4 * REWRITE_BLOCK):
                numbers = np.frombuffer(bytearray(data), np.int32)
                out = np.empty(len(numbers), ids.dtype)
                kernel.splice(numbers, offsets, ids, END, BEGIN, out)
                writers[split].write(EncodedDocuments(out, *kernel.unknown_totals(numbers, unknown, bits)))
    for split in SPLITS:
        (folder / f"{split}.numbers").unlink()
    return tokenizer, close_writers(writers, tokenizer, pretokens, gaps)


def close_writers(
    writers: dict[str, SplitWriter], tokenizer: Tokenizer, pretokens: PretokenIndex, gaps: dict[str, Gaps]
) -> dict[str, dict[str, float]]:
    """What the manifest says of the splits; the tokenizer gets the table of what spaces cost."""
    if pretokens.drops_spaces and tokenizer.spacing is None:  # one that was trained before has its own
        tokenizer.spacing = SpacingTable(gaps["train"].counts)
    costs = {split: tokenizer.spacing.bits(gaps[split]) if tokenizer.spacing else 0.0 for split in SPLITS}
    return {split: {**writer.close(), "spacing_bits": costs[split]} for split, writer in writers.items()}


def id_lookup(tokenizer: Tokenizer, pretokens: PretokenIndex, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each pre-token number its id, whether it is unknown, and the bits that then spell it; `chosen` are the numbers with an id, in order."""
    ids: np.ndarray = np.full(pretokens.distinct_count, UNKNOWN, id_dtype(tokenizer.vocab_size))
    ids[chosen] = np.arange(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(chosen))
    unknown = (ids == UNKNOWN).astype(np.int64)
    bits = np.zeros(pretokens.distinct_count, np.float64)
    for number in np.flatnonzero(unknown).tolist():
        bits[number] = tokenizer.spelling_bits(pretokens.spelling(number))
    return ids, unknown, bits


def in_two_threads(
    corpus: CorpusLike, writers: dict[str, SplitWriter], pretokens: PretokenIndex, work: Callable[[str, bytes], None], what: str
) -> None:
    """Read and split sentences here while `work(split, block)`, which is compiled, runs in another thread, block after block.

    All Python code stays in this thread: two threads that both need the interpreter would only wait for one another.
    """
    pending: dict[str, list[list[str]]] = {split: [] for split in SPLITS}
    characters, position = 0, 0
    with ThreadPoolExecutor(1) as pool, track(what, total=corpus.size, unit="bytes") as advance:
        running: list[Future[None]] = []

        def hand_over() -> None:
            for split in SPLITS:
                if pending[split]:
                    writers[split].count(pending[split])
                    running.append(pool.submit(work, split, pretokens.block(pending[split])))
                    pending[split] = []
            while len(running) > 2:
                running.pop(0).result()

        for sentences, split in split_corpus(corpus.documents()):
            pending[split].append(sentences)
            characters += sum(map(len, sentences))
            if characters >= BLOCK:
                hand_over()
                characters = 0
                advance(corpus.position - position)
                position = corpus.position
        hand_over()
        for job in running:
            job.result()
