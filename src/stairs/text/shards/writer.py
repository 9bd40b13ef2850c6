"""Text to shards in one streaming pass: documents divided into three parts, encoded in a second thread, written as it comes.

train        what a model learns from, and the tokenizer and the tables of its costs too
validation   judged on the way: chooses the best weights, and when to stop
test         judged once, at the end, with the weights that were chosen

Of fifty documents one is for the test and one for validation, drawn by its text alone, so that it is in the same part wherever it stands. Each part
has at least one document, and train more than twenty for each further one. Small corpora are divided by sentences, in the order of the text:

two documents   the last is divided: its first half is for validation, the rest for the test. If it has one sentence, that is for the test, and
                the last sentence of the other document for validation
one document    the last twentieth of its sentences is for the test, the twentieth before it for validation, at least one sentence each

Fewer than three sentences are refused: no sentence is ever in two parts.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from stairs.errors import BadInput
from stairs.kernels import pretokens as kernel
from stairs.progress import track
from stairs.text.sentences import split_sentences
from stairs.text.special import BEGIN, END, SPECIAL_TOKENS, UNKNOWN
from stairs.text.tokenizers.bulk_encoding import BulkEncoder, EncodedDocuments, PretokenCounts, PretokenIndex, id_dtype
from stairs.text.tokenizers.spacing import Gaps, SpacingTable
from stairs.text.tokenizers.spec import TokenizerSpec, assemble_backend, empty_model
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.tokenizers.vocabulary_training import vocabulary_from_counts

SPLITS = ("train", "validation", "test")
SPLIT_BY_REMAINDER = {0: "test", 1: "validation"}  # the rest of a document's checksum, divided by ONE_IN; all others are for train
ONE_IN, MIN_TRAIN_PER_HELD_OUT = 50, 20
BLOCK = 4_000_000  # characters handed to the second thread at a time
REWRITE_BLOCK = 1 << 21  # numbers turned into ids at a time


def document_split(document: str) -> str:
    """The part that a document of a large corpus is in: its text decides."""
    return SPLIT_BY_REMAINDER.get(zlib.crc32(document.encode(errors="surrogatepass")) % ONE_IN, "train")


def split_corpus(documents: Iterable[str]) -> Iterator[tuple[list[str], str]]:
    """(sentences, split) of each document, in order; see above."""
    counts = dict.fromkeys(SPLITS, 0)
    waiting: list[tuple[list[str], str]] = []  # the last two documents, which are held out if no others were

    def place(document: tuple[list[str], str], missing: str | None = None) -> tuple[list[str], str]:
        cut, split = document
        if missing is not None and not counts[missing]:
            split = missing
        elif split != "train" and counts["train"] <= MIN_TRAIN_PER_HELD_OUT * counts[split]:
            split = "train"
        counts[split] += 1
        return cut, split

    for document in documents:
        cut = split_sentences(document)
        if cut:
            waiting.append((cut, document_split(document)))
        if len(waiting) > 2:
            yield place(waiting.pop(0))
    if counts["train"]:
        yield place(waiting[0], "validation")
        yield place(waiting[1], "test")
    else:
        yield from split_small_corpus([cut for cut, _ in waiting])


def split_small_corpus(documents: list[list[str]]) -> Iterator[tuple[list[str], str]]:
    """(sentences, split) of the parts of one document, or of two."""
    if not documents:
        raise BadInput("no sentence in the text; give a file with text")
    count = sum(map(len, documents))
    if count < len(SPLITS):
        raise BadInput(f"{count} sentence{'s' if count > 1 else ''} cannot be divided into train, validation and test; give more text")
    *first, last = documents
    if not first:
        size = max(len(last) // 20, 1)
        borders = len(last) - 2 * size, len(last) - size
        parts = [last[: borders[0]], last[borders[0] : borders[1]], last[borders[1] :]]
    elif len(last) > 1:
        parts = [*first, last[: len(last) // 2], last[len(last) // 2 :]]
    else:
        parts = [first[0][:-1], first[0][-1:], last]
    yield from zip(parts, SPLITS, strict=True)


class SplitWriter:
    """One split's file and its counts."""

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

    def close(self) -> dict[str, Any]:
        """What the manifest says of this split."""
        self.file.close()
        return {**self.counts, "spelling_bits": self.spelling_bits}


def write_encoded(corpus: Any, tokenizer: Tokenizer, folder: Path) -> dict[str, Any]:
    """Encode all splits with a tokenizer that is ready."""
    encoder, gaps = BulkEncoder(tokenizer), {split: Gaps() for split in SPLITS}
    writers = {split: SplitWriter(folder / f"{split}.bin") for split in SPLITS}

    def work(split: str, block: bytes) -> None:
        writers[split].write(encoder.encode_block(block))
        encoder.pretokens.count_gaps(block, gaps[split])

    in_two_threads(corpus, writers, encoder.pretokens, work, "encoding")
    return close_writers(writers, tokenizer, encoder.pretokens, gaps)


def write_counting_vocabulary(corpus: Any, spec: TokenizerSpec, folder: Path) -> tuple[Tokenizer, dict[str, Any]]:
    """Words or characters in a single pass over the text: numbers first, ids when the counts of the train split are known."""
    pretokens = PretokenIndex(spec, assemble_backend(spec, empty_model(spec.kind)))
    counts, gaps = PretokenCounts(pretokens), {split: Gaps() for split in SPLITS}
    writers = {split: SplitWriter(folder / f"{split}.bin") for split in SPLITS}
    with ExitStack() as stack:
        numbered = {split: stack.enter_context((folder / f"{split}.numbers").open("w+b")) for split in SPLITS}

        def work(split: str, block: bytes) -> None:
            numbers = pretokens.number_block(block)
            if split == "train":
                counts.add(numbers)
            numbered[split].write(numbers.data)
            pretokens.count_gaps(block, gaps[split])

        in_two_threads(corpus, writers, pretokens, work, "reading")
        library, vocabulary, chosen = vocabulary_from_counts(spec, counts)
        tokenizer = Tokenizer(spec, library, vocabulary)
        ids, unknown, bits = id_lookup(tokenizer, pretokens, chosen)
        offsets = np.arange(pretokens.distinct_count + 1, dtype=np.int64)
        for split in SPLITS:
            numbered[split].seek(0)
            while data := numbered[split].read(4 * REWRITE_BLOCK):
                numbers = np.frombuffer(bytearray(data), np.int32)
                out = np.empty(len(numbers), ids.dtype)
                kernel.splice(numbers, offsets, ids, END, BEGIN, out)
                writers[split].write(EncodedDocuments(out, *kernel.unknown_totals(numbers, unknown, bits)))
    for split in SPLITS:
        (folder / f"{split}.numbers").unlink()
    return tokenizer, close_writers(writers, tokenizer, pretokens, gaps)


def close_writers(writers: dict[str, SplitWriter], tokenizer: Tokenizer, pretokens: PretokenIndex, gaps: dict[str, Gaps]) -> dict[str, Any]:
    """What the manifest says of the splits; the tokenizer takes the table of what spaces cost along."""
    if pretokens.drops_spaces and tokenizer.spacing is None:  # one that was trained before has its own
        tokenizer.spacing = SpacingTable(gaps["train"].counts)
    costs = {split: tokenizer.spacing.bits(gaps[split]) if tokenizer.spacing else 0.0 for split in SPLITS}
    return {split: {**writer.close(), "spacing_bits": costs[split]} for split, writer in writers.items()}


def id_lookup(tokenizer: Tokenizer, pretokens: PretokenIndex, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each number its id, whether it is unknown, and the bits it then takes to spell it; `choose_words` are those with an id, in order."""
    ids: np.ndarray = np.full(pretokens.distinct_count, UNKNOWN, id_dtype(tokenizer.vocab_size))
    ids[chosen] = np.arange(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(chosen))
    unknown = (ids == UNKNOWN).astype(np.int64)
    bits = np.zeros(pretokens.distinct_count, np.float64)
    for number in np.flatnonzero(unknown).tolist():
        bits[number] = tokenizer.spelling_bits(pretokens.spelling(number))
    return ids, unknown, bits


def in_two_threads(corpus: Any, writers: dict[str, SplitWriter], pretokens: PretokenIndex, work: Callable[[str, bytes], None], what: str) -> None:
    """Read and cut sentences here while `work(split, block)`, which is compiled, runs in another thread, block after block.

    All that is Python stays on this side: two threads that both need the interpreter would only wait for one another.
    """
    waiting: dict[str, list[list[str]]] = {split: [] for split in SPLITS}
    held, position = 0, 0
    with ThreadPoolExecutor(1) as pool, track(what, total=corpus.size, unit="bytes") as advance:
        running: list[Any] = []

        def hand_over() -> None:
            for split in SPLITS:
                if waiting[split]:
                    writers[split].count(waiting[split])
                    running.append(pool.submit(work, split, pretokens.block(waiting[split])))
                    waiting[split] = []
            while len(running) > 2:
                running.pop(0).result()

        for cut, split in split_corpus(corpus.documents()):
            waiting[split].append(cut)
            held += sum(map(len, cut))
            if held >= BLOCK:
                hand_over()
                held = 0
                advance(corpus.position - position)
                position = corpus.position
        hand_over()
        for job in running:
            job.result()
