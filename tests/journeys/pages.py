"""The pages of the documentation: their blocks, and a shell that runs the commands in them.

Fenced blocks: `sh` is run as it stands; in `console` a line that begins with "$ " is a command and the lines below it are what it prints,
with "..." for what differs between machines, as in doctest; `python` is a doctest. Setting up the project is left to the Makefile.
"""

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from stairs.cache import cache_folder

ROOT = Path(__file__).resolve().parents[2]
README, CHINESE = ROOT / "README.md", ROOT / "README.zh.md"
JOURNEY, CHINESE_JOURNEY = ROOT / "docs" / "journey.md", ROOT / "docs" / "journey.zh.md"
PAGES = [README, CHINESE, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(sh|console|python)\n(.*?)^```$", re.M | re.S)
SETUP = ("git ", "make ", "pip ", "export PIP", ". .venv/")
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


class Shell:
    """Runs commands in one folder, with the tested `stairs` first on the path."""

    def __init__(self, folder: Path, tools: Path) -> None:
        self.folder, self.output = folder, tools / "output"
        self.followed, self.differences = 0, []  # commands that were run, and what they printed instead
        wrapper = tools / "stairs"
        wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m stairs "$@"\n')
        wrapper.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONIOENCODING": "utf-8"}
        cache = tools / "cache" / "stairs"  # its own: a text that another test has encoded would be trained on without a word about it
        cache.mkdir(parents=True)
        for note in cache_folder().glob("kernels-*.json"):
            shutil.copy(note, cache)
        self.environment["XDG_CACHE_HOME"] = str(cache.parent)
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


def run_examples(page: Path) -> None:
    session = doctest.DocTest([], {}, page.name, str(page), 0, None)
    for text in blocks(page, "python"):
        session.examples += doctest.DocTestParser().get_examples(text)
    assert session.examples
    printed: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=RULES, verbose=False).run(session, out=printed.append)
    assert not failed, "".join(printed)
