"""The README is true: its commands run in order in an empty folder, and print what it says they print.

Fenced blocks: `sh` is run as it stands; in `console` a line that begins with "$ " is a command and the lines below it are what it prints,
with "..." for what differs between machines, as in doctest; `python` is a doctest. Setting up the project is left to the Makefile.
"""

import ast
import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
README, CHINESE = ROOT / "README.md", ROOT / "README.zh.md"
MODEL_PAGES = [ROOT / "docs" / f"{name}.md" for name in ("ngram", "word2vec", "nnlm", "elmo", "gpt", "bert")]
PAGES = [README, CHINESE, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(sh|console|python)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#:]+)\)")
SETUP = ("git ", "make ", "pip ", ". .venv/")
ALONE = re.compile(r"stairs [^|;&<>$`]*")  # a command without anything only a shell can do
RULES = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Command(NamedTuple):
    """What is typed, and what is shown below it; None for a block that shows nothing."""

    line: str
    shown: str | None


def blocks(page: Path, *languages: str) -> list[str]:
    return [text for language, text in BLOCK.findall(page.read_text("utf-8")) if language in languages]


def commands(page: Path) -> list[Command]:
    found = []
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "sh" and not text.startswith(SETUP):
            found.append(Command(text, None))
        elif language == "console":
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                line, _, shown = part.partition("\n")
                found.append(Command(line, shown))
    return found


def is_setup(command: Command) -> bool:
    return command.line.startswith(SETUP)


def needs_python_prose(command: Command) -> bool:
    return "python" in command.line


def needs_wikipedia(command: Command) -> bool:
    return "wiki_" in command.line


class Shell:
    """Runs commands in one folder, with the tested `stairs` first on the path."""

    def __init__(self, folder: Path, tools: Path) -> None:
        self.folder, self.output = folder, tools / "output"
        self.followed, self.differences = 0, []  # commands that were run, and what they printed instead
        wrapper = tools / "stairs"
        wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m stairs "$@"\n')
        wrapper.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONIOENCODING": "utf-8"}
        ready = [sys.executable, str(Path(__file__).with_name("forked.py"))]
        self.forks = subprocess.Popen(ready, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment)

    def run(self, line: str) -> tuple[int, str]:
        """The exit code, and what was printed on stdout and stderr."""
        if not ALONE.fullmatch(line):
            ended = subprocess.run(
                ["bash", "-c", line], cwd=self.folder, env=self.environment, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            return ended.returncode, ended.stdout.decode()
        self.output.write_text("")
        asked = {"arguments": shlex.split(line)[1:], "folder": str(self.folder), "output": str(self.output)}
        print(json.dumps(asked), file=self.forks.stdin, flush=True)
        code = self.forks.stdout.readline()
        return int(code or -1), self.output.read_text("utf-8")

    def follow(self, command: Command) -> None:
        code, printed = self.run(command.line)
        assert code == 0, f"$ {command.line}\n{printed}"
        if command.shown is not None:
            assert alike(command.shown, printed), f"$ {command.line}\n--- shown\n{command.shown}--- printed\n{printed}"


def alike(shown: str, printed: str) -> bool:
    return doctest.OutputChecker().check_output(shown, printed, RULES)


@pytest.fixture(scope="module")
def shell(tmp_path_factory) -> Iterator[Shell]:
    shell = Shell(tmp_path_factory.mktemp("journey"), tmp_path_factory.mktemp("bin"))
    with shell.forks:
        yield shell
        shell.forks.stdin.close()


@pytest.fixture(scope="module")
def journey(shell) -> Shell:
    """The folder after the README's commands, those that read all of Python's documentation or of a Wikipedia left out."""
    for command in commands(README):
        if not is_setup(command) and not needs_python_prose(command) and not needs_wikipedia(command):
            try:
                shell.follow(command)
            except AssertionError as error:
                shell.differences.append(str(error))
            shell.followed += 1
    return shell


@pytest.fixture
def in_folder(journey, monkeypatch) -> None:
    monkeypatch.chdir(journey.folder)


def run_examples(page: Path) -> None:
    session = doctest.DocTest([], {}, page.name, str(page), 0, None)
    for text in blocks(page, "python"):
        session.examples += doctest.DocTestParser().get_examples(text)
    assert session.examples
    printed: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=RULES, verbose=False).run(session, out=printed.append)
    assert not failed, "".join(printed)


def test_commands_print_what_the_readme_shows(journey):
    assert journey.followed > 10
    assert not journey.differences, "\n\n".join(journey.differences)


def test_python_of_the_readme(in_folder):
    run_examples(README)


@pytest.mark.parametrize("page", MODEL_PAGES, ids=lambda page: page.name)
def test_page_of_a_model(journey, in_folder, page):
    for command in commands(page):
        journey.follow(command)
    run_examples(page)


@pytest.mark.slow
def test_climb_on_the_embedded_default(shell):
    chosen = [command for command in commands(README) if needs_python_prose(command) or command.line == "make climb"]
    assert chosen[0].line == "make climb" and len(chosen) > 1
    for command in chosen:
        shell.follow(command._replace(line=command.line.replace("make climb", "stairs climb --budget 2m; stairs climb --task translate --budget 1m")))


@pytest.mark.slow
def test_word_vectors_of_wikipedia(shell, data):
    chosen = [command for command in commands(README) if needs_wikipedia(command)]
    assert chosen
    for corpus in sorted({name for command in chosen for name in re.findall(r"wiki_\w+\.txt\.xz", command.line)}):
        (shell.folder / corpus).symlink_to(data / "corpora" / corpus)
    for command in chosen:
        shell.follow(command)


def test_chinese_readme_has_the_same_commands_and_output():
    assert blocks(CHINESE, "sh", "console", "python") == blocks(README, "sh", "console", "python")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_files_that_exist(page):
    """In backticks, a path is one of the package or of the repository, and a bare name that of a file somewhere in it."""
    known = {str(path.relative_to(ROOT)) for folder in ("src", "tests", "benchmarks", ".ci") for path in (ROOT / folder).rglob("*.py")}
    names = {Path(path).name for path in known}
    missing = []
    for name in set(re.findall(r"`([\w/.-]+\.py)`", page.read_text("utf-8"))):
        exists = any(f"{prefix}{name}" in known for prefix in ("", "src/stairs/", "src/", "src/stairs/web/")) if "/" in name else name in names
        missing += [] if exists or page.name == "recipes.md" else [name]
    assert not missing, f"{page.name} names {', '.join(missing)}"


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs" / "internals").glob("*.md")), ROOT / "docs" / "architecture.md"], ids=lambda page: page.name)
def test_internals_name_what_the_code_has(page):
    """Names in backticks that look like Python's, such as `LanguageModel`, `hidden_states` or `VIEWS`."""
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    words = set(re.findall(r"\w+", code))
    names = set(re.findall(r"`(?:[\w.]+\.)?([A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}[A-Z_]*|[a-z]+_[a-z_]+)(?:\([^`]*\))?`", page.read_text("utf-8")))
    unknown = sorted(name for name in names if name not in words and f"{name}.py" not in code and not os.environ.get(name))
    assert not unknown, f"{page.name} names {', '.join(unknown)}"


def shapes(path: Path) -> dict[str, set[str]]:
    """The TypedDicts of a module, with their keys."""
    classes = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]
    typed = {node.name for node in classes if any(getattr(base, "id", "") == "TypedDict" for base in node.bases)}
    typed |= {node.name for node in classes if any(getattr(base, "id", "") in typed for base in node.bases)}
    return {node.name: {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)} for node in classes if node.name in typed}


@pytest.mark.parametrize("module", ["tasks/answers.py", "tasks/measurements.py", "training/records.py", "comparison/schema.py"])
def test_the_page_of_json_shapes_lists_every_key(module):
    page = (ROOT / "docs" / "internals" / "json.md").read_text("utf-8")
    tables = re.findall(r"^\*\*(\w+)\*\*(.*?)(?=^\*\*|^## |\Z)", page, re.M | re.S)
    listed = {name: set(re.findall(r"^\| `(\w+)`", table, re.M)) for name, table in tables}
    expected = shapes(ROOT / "src" / "stairs" / module)
    assert expected and {name: listed.get(name) for name in expected} == expected


@pytest.mark.parametrize("page", [README, CHINESE], ids=lambda page: page.name)
def test_tree_names_every_folder(page):
    """Each folder of the package that git knows stands in the tree with a line, and nothing stands there that does not exist."""
    tree = re.search(r"^```text\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)[1]
    named, above = set(), []
    for line in tree.splitlines():
        indent, names = re.match(r"( *)(\S+(?: \S+)*)  ", line + "  ").groups()
        above[len(indent) // 2 :] = [names]
        named |= {"/".join(part.strip("/") for part in [*above[:-1], name]) for name in names.split()}
    assert not [name for name in named if not (ROOT / name).exists()]
    known = subprocess.run(["git", "ls-files", "src/stairs/*/*"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert {"/".join(path.split("/")[:3]) for path in known} <= named
