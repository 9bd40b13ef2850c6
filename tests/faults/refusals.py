"""What every refusal has in common, and a small corpus."""

import hashlib
from pathlib import Path
from typing import Any

MAX_LENGTH = 300
TRAIN = ("train", "ngram", "notes.txt", "--out", "run", "--quiet")


def tree(folder: Path) -> dict[str, str]:
    """Every file and folder below one, with what is in it."""
    paths = sorted(path for path in folder.rglob("*"))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for path in paths}


def sentences(count: int = 60) -> str:
    """A small corpus: as many documents of two sentences."""
    return "\n\n".join(f"the cat number {i} sat on the mat . it was happy number {i} today ." for i in range(count))


def assert_one_sentence(result: Any, code: int) -> None:
    assert result.code == code, result.err
    assert result.out == ""
    lines = result.err.splitlines()
    assert len(lines) == 1, result.err
    assert lines[0].startswith("stairs: error: ")
    assert "a bug" not in lines[0] and "Traceback" not in lines[0]
    assert len(lines[0]) <= MAX_LENGTH, lines[0]


def model(run: Path) -> dict[str, str]:
    return tree(run / "model")
