"""Writing files of word vectors, and making a model of those that were read.

gensim, word2vec.c, fastText and GloVe read these files. Numbers have as many digits as float32 needs, so that a text file gives back the same
vectors. A token of ours may hold white space, which these formats do not allow: it is written as ▁ (U+2581).
"""

import re
from collections.abc import Iterator

import numpy as np
import torch

from stairs.formats.output import open_output
from stairs.formats.word_vectors.vector_reader import WordVectorFile
from stairs.kernels.nearest import lengths_of
from stairs.models.settings import VectorsConfig
from stairs.models.vectors import Vectors
from stairs.progress import track
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.word_table import WordTable

KINDS = ("word2vec", "word2vec-binary", "glove")
ROWS = 1 << 12  # written at a time
EXACT = "%.9g"  # enough digits to distinguish any two float32s


def to_model(file: WordVectorFile) -> tuple[Vectors, WordTable]:
    """The vectors as a model, and a tokenizer of their words."""
    tokenizer = WordTable.from_words(file.words)
    words, width = file.vectors.shape
    vectors = np.zeros((tokenizer.vocab_size, width), np.float32)
    vectors[-words:] = file.vectors
    lengths = np.empty(len(vectors), np.float32)
    lengths_of(vectors, lengths)
    model = Vectors(VectorsConfig(tokenizer.vocab_size, width))
    model.restore({"vectors": torch.from_numpy(vectors), "lengths": torch.from_numpy(lengths)})
    return model, tokenizer


def write(vocabulary: list[str], vectors: np.ndarray, path: str, kind: str) -> tuple[int, int]:
    """Write all but the special tokens; returns the number of words and the width. Nothing is left at `path` if it fails."""
    words = [re.sub(r"\s", "▁", word) for word in vocabulary[len(SPECIAL_TOKENS) :]]
    rows = vectors[len(SPECIAL_TOKENS) :]
    with open_output(path) as file, track("writing", total=len(words), unit="vectors") as advance:
        if kind != "glove":
            file.write(f"{len(words)} {rows.shape[1]}\n".encode())
        lines = binary_rows if kind == "word2vec-binary" else text_rows
        for first in range(0, len(words), ROWS):
            part = words[first : first + ROWS]
            file.write(b"".join(lines(part, np.ascontiguousarray(rows[first : first + ROWS], np.float32))))
            advance(len(part))
    return len(words), rows.shape[1]


def text_rows(words: list[str], rows: np.ndarray) -> Iterator[bytes]:
    line = "%s" + f" {EXACT}" * rows.shape[1] + "\n"
    for word, row in zip(words, rows.tolist(), strict=True):
        yield (line % (word, *row)).encode()


def binary_rows(words: list[str], rows: np.ndarray) -> Iterator[bytes]:
    little = rows.astype("<f4")
    for word, row in zip(words, little, strict=True):
        yield word.encode() + b" " + row.tobytes() + b"\n"  # as word2vec.c does
