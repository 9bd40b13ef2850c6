"""The recipes of docs/recipes.md are carried out in a copy of the package, as they stand, and what they add is used."""

import json
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
MOST_FILES = {"A model": 3, "A task": 2}  # of the package, old and new
RUN = """import json, runpy, shlex, sys
from stairs.cli import main
for number, (language, block) in enumerate(json.load(sys.stdin)):
    if language == "python":
        with open(f"use{number}.py", "w") as file:
            file.write(block)
        runpy.run_path(f"use{number}.py")
        continue
    for line in block.splitlines():
        code = main(shlex.split(line)[1:])
        if code:
            sys.exit(f"{line} ended with {code}")
"""


def recipes() -> dict[str, str]:
    parts = re.split(r"^## (.*)$", PAGE.read_text("utf-8"), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def is_file(language: str, block: str) -> bool:
    return language == "diff" or (language == "python" and block.startswith("# src/"))


def uses(recipe: str) -> list[tuple[str, str]]:
    """The commands and the lines of Python that a recipe shows once everything is in place."""
    return [(language, block) for language, block in BLOCK.findall(recipe) if language in ("sh", "python") and not is_file(language, block)]


def apply(recipe: str, folder: Path) -> list[str]:
    """Write the blocks of a recipe into a copy of the repository; the files it touched."""
    touched = []
    for language, block in BLOCK.findall(recipe):
        if not is_file(language, block):
            continue
        if language == "python":
            path, text = re.match(r"# (src/\S+\.py)\n(.*)", block, re.S).groups()
            assert not (folder / path).exists(), f"{path} exists already"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        else:
            path, text = re.match(r"--- (src/\S+)\n(.*)", block, re.S).groups()
            insert(folder / path, text)
        touched.append(path)
    return touched


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
    return folder


@pytest.fixture(scope="module")
def journey(copy) -> str:
    """What all recipes print when they are used, one after the other in one process."""
    blocks = [("sh", "stairs train ngram tales.txt --quiet"), *(block for recipe in recipes().values() for block in uses(recipe))]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}
    python = [sys.executable, "-c", RUN]
    ended = subprocess.run(python, input=json.dumps(blocks), capture_output=True, text=True, cwd=copy, env=environment, timeout=300)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return ended.stdout


def test_what_the_recipes_add_works(copy, journey):
    """Every command and every line of Python ended well, and printed what it should."""
    assert "runs/tales-bigram: " in journey  # a model
    assert json.loads(re.search(r'^\{"text".*$', journey, re.M)[0]).keys() == {"text", "token", "bits"}  # a task
    assert (copy / "lengths.svg").read_text("utf-8").startswith("<svg")  # a picture
    assert '{"documents": 12, "characters": ' in journey  # a command
    assert len((copy / "vectors.tsv").read_text("utf-8").splitlines()) == 12  # a format


@pytest.mark.parametrize("name", MOST_FILES)
def test_a_recipe_touches_few_files(name, tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    before = {path: path.read_bytes() for path in (tmp_path / "src").rglob("*.py")}
    apply(recipes()[name], tmp_path)
    changed = [path for path in (tmp_path / "src").rglob("*.py") if before.get(path) != path.read_bytes()]
    assert 1 < len(changed) <= MOST_FILES[name], changed
