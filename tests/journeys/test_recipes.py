"""The recipes of docs/recipes.md are carried out in a copy of the package, as they stand, and what they add is used."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "recipes.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
TALES = "The cat sat on the mat.\nThe dog saw the cat.\nA bird sat on the tree.\n\n" * 12
MOST_FILES = {"A model": 3}  # of the package, old and new
RUN = """import sys
from stairs.cli import main
import shlex
for line in sys.stdin.read().splitlines():
    code = main(shlex.split(line)[1:])
    if code:
        sys.exit(f"{line} ended with {code}")
"""


def recipes() -> dict[str, str]:
    parts = re.split(r"^## (.*)$", PAGE.read_text("utf-8"), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def apply(recipe: str, folder: Path) -> tuple[list[str], list[str]]:
    """Write the blocks of a recipe into a copy of the repository: the files it touched, and the commands that it shows."""
    touched, commands = [], []
    for language, block in BLOCK.findall(recipe):
        if language == "python":
            path, text = re.match(r"# (src/\S+\.py)\n(.*)", block, re.S).groups()
            assert not (folder / path).exists(), f"{path} exists already"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
            touched.append(path)
        elif language == "diff":
            path, text = re.match(r"--- (src/\S+)\n(.*)", block, re.S).groups()
            insert(folder / path, text)
            touched.append(path)
        elif language == "sh":
            commands += block.splitlines()
    return touched, commands


def insert(path: Path, changes: str) -> None:
    """Each run of lines with + goes below the line before it, which is looked for behind the one before."""
    lines, place = path.read_text("utf-8").split("\n"), -1
    for change in changes.splitlines():
        if change.startswith("+"):
            place += 1
            lines.insert(place, change[1:])
        else:
            place = next((number for number, line in enumerate(lines) if number > place and line == change[1:]), None)
            assert place is not None, f"{path.name} has no line {change[1:]!r} behind those before it"
    path.write_text("\n".join(lines), "utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The package with all recipes, and a folder to work in."""
    folder = tmp_path_factory.mktemp("recipes")
    shutil.copytree(ROOT / "src", folder / "src")  # with the compiled kernels, whose age counts
    for recipe in recipes().values():
        apply(recipe, folder)
    (folder / "tales.txt").write_text(TALES, "utf-8")
    rows = [f"the {word} cat number {number},{label}" for number in range(20) for word, label in (("happy", "good"), ("sad", "bad"))]
    (folder / "reviews.csv").write_text("text,label\n" + "\n".join(rows) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def journey(copy) -> str:
    """What the commands of all recipes print, one after the other in one process."""
    first = ["stairs train ngram tales.txt --quiet", "stairs train bert tales.txt --steps 2 --size nano --out runs/tales-bert --quiet"]
    lines = [*first, *(line for recipe in recipes().values() for line in apply_commands(recipe))]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}
    python = [sys.executable, "-c", RUN]
    ended = subprocess.run(python, input="\n".join(lines), capture_output=True, text=True, cwd=copy, env=environment, timeout=300)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return ended.stdout


def apply_commands(recipe: str) -> list[str]:
    return [line for language, block in BLOCK.findall(recipe) if language == "sh" for line in block.splitlines()]


@pytest.mark.parametrize("name", recipes())
def test_a_recipe_adds_what_it_says(name, copy, journey):
    """Every command of every recipe ended with 0."""
    assert apply_commands(recipes()[name])


@pytest.mark.parametrize("name", MOST_FILES)
def test_a_recipe_touches_few_files(name):
    paths = {re.match(r"(?:# |--- )(src/\S+)", block)[1] for language, block in BLOCK.findall(recipes()[name]) if language in ("python", "diff")}
    assert 1 < len(paths) <= MOST_FILES[name], sorted(paths)
