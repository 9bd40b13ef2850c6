"""Text to shards in one streaming pass: documents divided into train and held-out, encoded in a second thread, written as it comes."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from stairs.errors import BadInput
from stairs.kernels import pretokens as kernel
from stairs.progress import track
from stairs.text.bulk import Counts, Encoded, Encoder, PreTokens, id_type
from stairs.text.sentences import sentences
from stairs.text.tokenizer import Tokenizer
from stairs.text.tokenizer_spec import BEGIN, END, SPECIAL_TOKENS, UNKNOWN, TokenizerSpec, assemble, empty_model
from stairs.text.tokenizer_training import from_counts

SPLITS = ("train", "held_out")
BLOCK = 4_000_000  # characters handed to the second thread at a time
REWRITTEN = 1 << 21  # numbers turned into ids at a time


def held_out(document: str) -> bool:
    """One document in fifty, chosen by its text, so that the same one is held out wherever it stands."""
    return zlib.crc32(document.encode(errors="surrogatepass")) % 50 == 0


def divide(documents: Iterable[str]) -> Iterator[tuple[list[str], str]]:
    """(sentences, split) of each document; at least one is held out, and at least twenty trained on for each held out but the first.

    A single document is divided itself: the last tenth of its sentences is held out.
    """
    trained, kept = 0, 0
    waiting: tuple[list[str], bool] | None = None  # the last document is held out if no other was
    for document in documents:
        cut = sentences(document)
        if not cut:
            continue
        if waiting is not None:
            held = waiting[1] and trained > 20 * kept
            kept, trained = kept + held, trained + (not held)
            yield waiting[0], SPLITS[held]
        waiting = cut, held_out(document)
    if waiting is None:
        raise BadInput("no sentence in the text; give a file with text")
    if trained:
        yield waiting[0], SPLITS[not kept or (waiting[1] and trained > 20 * kept)]
        return
    last = waiting[0]
    if len(last) < 2:
        raise BadInput("one sentence is too little to train on; give more text")
    border = len(last) - max(1, len(last) // 10)
    yield last[:border], "train"
    yield last[border:], "held_out"


class Writer:
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

    def write(self, encoded: Encoded) -> None:
        self.counts["tokens"] += len(encoded.ids)
        self.counts["unknown_words"] += encoded.unknown_words
        self.spelling_bits += encoded.spelling_bits
        self.file.write(encoded.ids.data)

    def close(self) -> dict[str, Any]:
        """What the manifest says of this split."""
        self.file.close()
        return {**self.counts, "spelling_bits": self.spelling_bits}


def write_encoded(corpus: Any, tokenizer: Tokenizer, folder: Path) -> dict[str, Any]:
    """Encode both splits with a tokenizer that is ready."""
    encoder = Encoder(tokenizer)
    writers = {split: Writer(folder / f"{split}.bin") for split in SPLITS}

    def work(split: str, block: bytes) -> None:
        writers[split].write(encoder.encode_block(block))

    in_two_threads(corpus, writers, encoder.pretokens, work, "encoding")
    return {split: writer.close() for split, writer in writers.items()}


def write_counted(corpus: Any, spec: TokenizerSpec, folder: Path) -> tuple[Tokenizer, dict[str, Any]]:
    """Words or characters in a single pass over the text: numbers first, ids when the counts of the train split are known."""
    pretokens = PreTokens(spec, assemble(spec, empty_model(spec.kind)))
    counts = Counts(pretokens)
    writers = {split: Writer(folder / f"{split}.bin") for split in SPLITS}
    with (folder / "train.numbers").open("w+b") as train, (folder / "held_out.numbers").open("w+b") as held:
        numbered = {"train": train, "held_out": held}

        def work(split: str, block: bytes) -> None:
            numbers = pretokens.number(block)
            if split == "train":
                counts.add(numbers)
            numbered[split].write(numbers.data)

        in_two_threads(corpus, writers, pretokens, work, "reading")
        library, vocabulary, chosen = from_counts(spec, counts)
        tokenizer = Tokenizer(spec, library, vocabulary)
        ids, unknown, bits = lookup(tokenizer, pretokens, chosen)
        offsets = np.arange(pretokens.distinct + 1, dtype=np.int64)
        for split in SPLITS:
            numbered[split].seek(0)
            while data := numbered[split].read(4 * REWRITTEN):
                numbers = np.frombuffer(bytearray(data), np.int32)
                out = np.empty(len(numbers), ids.dtype)
                kernel.splice(numbers, offsets, ids, END, BEGIN, out)
                writers[split].write(Encoded(out, *kernel.unknown_totals(numbers, unknown, bits)))
    for split in SPLITS:
        (folder / f"{split}.numbers").unlink()
    return tokenizer, {split: writer.close() for split, writer in writers.items()}


def lookup(tokenizer: Tokenizer, pretokens: PreTokens, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each number its id, whether it is unknown, and the bits it then takes to spell it; `chosen` are those with an id, in order."""
    ids: np.ndarray = np.full(pretokens.distinct, UNKNOWN, id_type(tokenizer.vocab_size))
    ids[chosen] = np.arange(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(chosen))
    unknown = (ids == UNKNOWN).astype(np.int64)
    bits = np.zeros(pretokens.distinct, np.float64)
    for number in np.flatnonzero(unknown).tolist():
        bits[number] = tokenizer.spelling_bits(pretokens.spelling(number))
    return ids, unknown, bits


def in_two_threads(corpus: Any, writers: dict[str, Writer], pretokens: PreTokens, work: Callable[[str, bytes], None], what: str) -> None:
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

        for cut, split in divide(corpus.documents()):
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
