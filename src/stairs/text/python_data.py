"""What a Python caller hands in, as what files hold: lists, generators, data frames and datasets become a file of JSON lines, a row on each line.

From there on they go the way of every file: the same guesses, splits, checks and messages. A message names the kind of the data and the number of
the row ("DataFrame:3: ..."). The file is named after its content, so that the same data resume the same run.
"""

import atexit
import hashlib
import itertools
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from stairs.errors import BadInput, preview
from stairs.text.encoding import lone_surrogate_error
from stairs.text.input_files import DISPLAY_NAMES, FILE_KINDS
from stairs.text.python_rows import checked_texts, describe, is_table, kind_of, list_texts, plain, rows_of, values_of, whole_numbers

Data = str | Path | Iterable[object]  # a path, or rows: a list of tuples or dicts, a data frame, a dict of columns, a dataset
PATH_LIKE = re.compile(r"\S*[\w-](?:" + "|".join(map(re.escape, (".txt", *FILE_KINDS))) + r")(?:\.gz|\.xz|\.zst)?")
SPOOL_FOLDERS: dict[int, Path] = {}  # by process: one is deleted when its process ends


def is_path(data: object) -> bool:
    return isinstance(data, str | os.PathLike)


def corpus_paths(corpus: object, text: str | None = None) -> tuple[str, ...]:
    """The files of a corpus: those that are named, or one that holds the texts that are given; `text` is the column of the text."""
    if corpus is None:
        return ()
    if is_path(corpus):
        return (str(corpus),)
    if isinstance(corpus, list | tuple) and are_paths(corpus):
        return tuple(map(str, corpus))
    if is_table(corpus):
        return (spool(rows_of(corpus), kind_of(corpus)),)
    texts = values_of(corpus, "texts")  # type: ignore[arg-type]
    first = next(iter(texts), None) if isinstance(texts, list | tuple) else None
    if isinstance(first, Mapping | tuple | list):
        return (spool(rows_of(corpus), kind_of(corpus)),)
    return (spool(({text or "text": item} for item in checked_texts(texts, kind_of(corpus))), kind_of(corpus)),)


def are_paths(items: Sequence[object]) -> bool:
    """Whether a list names files, and is not a list of texts."""
    if any(isinstance(item, os.PathLike) for item in items):
        return True
    if not items or not all(isinstance(item, str) for item in items):
        return False
    names = list(map(str, items))
    return any(map(names_file, names)) or all(map(PATH_LIKE.fullmatch, names))


def names_file(name: str) -> bool:
    with suppress(ValueError, OSError):  # a NUL in the name, or too long a name
        return name == "-" or os.path.exists(name)
    return False


def labelled_path(data: object, labels: object = None) -> str:
    """A file of labelled rows: the one that is named, or one that holds what is given. `labels` are those of a list of texts."""
    if labels is not None:
        if is_path(data) or is_table(data):
            raise BadInput(f"labels= goes with a list of texts, and this is {kind_of(data)}; name the column with label=")
        texts, given = list_texts(data), whole_numbers([plain(value) for value in values_of(labels, "labels")])  # type: ignore[arg-type]
        if len(texts) != len(given):
            raise BadInput(f"{len(texts)} texts and {len(given)} labels; give one label for each text")
        return spool(({"text": text, "label": label} for text, label in zip(texts, given, strict=True)), kind_of(data))
    if is_path(data):
        return str(data)
    if isinstance(data, bytes | bytearray) or not (isinstance(data, Iterable) or is_table(data)):
        raise BadInput(f"the data are {describe(data)}; give a path, a data frame, or a list of rows")
    return spool(rows_of(data), kind_of(data))


def collection_path(data: object, text: str | None = None) -> str:
    """A file of texts to search in, one on each line: the one that is named, or one that holds the texts that are given."""
    if is_path(data):
        return str(data)
    if is_table(data):
        rows = list(rows_of(data))
        column = text or "text"
        if rows and column not in rows[0]:
            raise BadInput(f"{kind_of(data)}:1: no column {preview(column)}, only {', '.join(rows[0])}; name that of the texts with text=")
        texts = list(checked_texts((row[column] for row in rows), kind_of(data)))
    else:
        texts = list_texts(data)  # type: ignore[arg-type]
    content = "".join(" ".join(one.split()) + "\n" for one in texts if one.strip()).encode()
    if not content:
        raise BadInput(f"there is no text in this {kind_of(data)}; give some")
    path = spool_folder() / f"{kind_of(data).lower()}-{hashlib.sha256(content).hexdigest()[:8]}.txt"
    path.write_bytes(content)
    DISPLAY_NAMES[str(path)] = kind_of(data)
    return str(path)


def pair_paths(pairs: object) -> tuple[str, ...]:
    """Files of translations: those that are named, or one that holds the pairs that are given."""
    if pairs is None:
        return ()
    if is_path(pairs):
        return (str(pairs),)
    if isinstance(pairs, list | tuple) and pairs and all(map(is_path, pairs)):
        return tuple(map(str, pairs))
    return (spool(rows_of(pairs, {2: ("source", "target")}), kind_of(pairs)),)


def spool_folder() -> Path:
    if os.getpid() not in SPOOL_FOLDERS:
        SPOOL_FOLDERS[os.getpid()] = Path(tempfile.mkdtemp(prefix="stairs-"))
        atexit.register(remove_spool_folder, os.getpid())
    return SPOOL_FOLDERS[os.getpid()]


def remove_spool_folder(process: int) -> None:
    if process == os.getpid():  # a process that was forked from it must not
        shutil.rmtree(SPOOL_FOLDERS[process], ignore_errors=True)


def spool(rows: Iterable[Mapping[str, object]], kind: str) -> str:
    """The rows as a file of JSON lines that lives as long as the process; messages call it by `kind`."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        used = "; one that was used before gives nothing: make a list of it" if kind in ("generator", "map", "filter", "zip") else "; give some"
        raise BadInput(f"there is nothing in this {kind}{used}")
    folder = spool_folder()
    digest = hashlib.sha256()
    descriptor, temporary = tempfile.mkstemp(dir=folder)
    with open(descriptor, "wb") as file:
        for number, row in enumerate(itertools.chain([first], rows), 1):
            try:
                line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
            except UnicodeEncodeError as error:
                raise BadInput(f"{kind}:{number}: {lone_surrogate_error(error)}") from None
            digest.update(line)
            file.write(line)
    path = folder / f"{kind.lower()}-{digest.hexdigest()[:8]}.jsonl"
    os.replace(temporary, path)
    DISPLAY_NAMES[str(path)] = kind
    return str(path)
