"""The READMEs fit on a screen or three, and everything they tell a reader to type works."""

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.journeys.pages import CHINESE, JOURNEY, README, ROOT, Shell, blocks, commands

HAN = re.compile(r"[\u4e00-\u9fff]")
FENCE = re.compile(r"^```\w*\n", re.M)
TINY = {"context": 32, "width": 32, "heads": 2, "layers": 1, "vocab_size": 100, "steps": 20}  # of a BERT that is trained in a second
SHORT = {
    "train bert": " ".join(f"--{name.replace('_', '-')} {value}" for name, value in TINY.items()), "climb": "--models ngram,tfidf",
}  # fmt: skip


def words(text: str) -> int:
    """As a reader counts them: what stands between spaces, and each Chinese character. Addresses of links and pictures are not read."""
    text = HAN.sub(" x ", re.sub(r"\]\([^)]*\)", "]", text))
    return len([word for word in text.split() if re.search(r"\w", word)])


def typed(page: Path) -> list[str]:
    """What a reader types into a shell: the lines of the blocks, without their comments, and the column of commands in the table."""
    lines = [line.partition("  #")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()]
    return lines + re.findall(r"\| `(stairs [^`]+)` \|$", page.read_text("utf-8"), re.M)


def shorten(command: str) -> str:
    """The same with a small model, or few, in place of a budget."""
    model = re.match(r"stairs (climb|train bert)", command)
    return re.sub(r"--budget \w+", SHORT[model[1]], command) if model else command


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    """Where the commands of the README were run, on the files of the journey."""
    shell = Shell(tmp_path_factory.mktemp("own-file"), tmp_path_factory.mktemp("bin"))
    with shell.forks:
        for command in commands(JOURNEY):
            if command.line.startswith(("cat > tales.txt", "cat > notes.csv")):
                shell.follow(command)
        text = (shell.folder / "tales.txt").read_text()
        (shell.folder / "text.txt").write_text(f"{text}\nThe bird sang.\n")  # not the journey's, whose shards would be in the cache
        shutil.copy(shell.folder / "notes.csv", shell.folder / "new.csv")
        (shell.folder / "notes.csv").rename(shell.folder / "labels.csv")
        for line in typed(README):
            if line.startswith("stairs ") and not line.startswith("stairs open"):
                code, printed = shell.run(shorten(line))
                assert code == 0, f"$ {line}\n{printed}"
        yield shell.folder
        shell.forks.stdin.close()


def test_the_first_command_comes_after_sixty_words_and_the_whole_has_1200():
    before, text = FENCE.split(README.read_text("utf-8"), maxsplit=1)[0], README.read_text("utf-8")
    assert words(before) <= 60 and words(text) <= 1200


def test_the_chinese_one_is_as_short():
    """A word of English is about a character and a half."""
    before, text = FENCE.split(CHINESE.read_text("utf-8"), maxsplit=1)[0], CHINESE.read_text("utf-8")
    assert words(before) <= 90 and words(text) <= 1800


def test_both_name_the_same_commands():
    assert typed(README) == typed(CHINESE) and len(typed(README)) > 10

    def code(page: Path) -> list[str]:
        return [re.sub(r" +#.*", "", block) for block in blocks(page, "sh", "console", "python")]

    assert code(README) == code(CHINESE)


@pytest.mark.parametrize("page", [README, CHINESE], ids=lambda page: page.name)
def test_extras_exist(page):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (line,) = re.findall(r"^(?:Extras: |可选依赖：)(.*?)$", page.read_text("utf-8").replace("\n(", " ("), re.M)
    assert {"notebook", "tensorboard", "parquet", "excel"} <= set(re.findall(r"`(\w+)`", line)) & set(extras)


def test_commands_leave_what_the_readme_says(folder):
    assert (folder / "runs" / "climb-text" / "staircase.svg").read_text().startswith("<svg")
    assert (folder / "runs" / "labels-classify-bert").is_dir() and (folder / "folder" / "model.safetensors").is_file()


def test_open(folder):
    command = next(line for line in typed(README) if line.startswith("stairs open"))
    arguments = [sys.executable, "-m", *command.split(), "--no-browser", "--quiet"]
    server = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        with urlopen(f"{server.stdout.readline().strip().rstrip('/')}/api/runs", timeout=60) as reply:
            assert b"labels-classify-bert" in reply.read()
    finally:
        server.terminate()
        server.wait(20)


def test_python(folder, monkeypatch):
    monkeypatch.chdir(folder)
    shutil.rmtree("folder")
    (block,) = blocks(README, "python")
    block = re.sub(r'(train\(.*)budget="\w+"', rf"\1{', '.join(f'{name}={value}' for name, value in TINY.items())}", block)
    block = re.sub(r'(climb\(.*)budget="\w+"', r'\1models=["ngram", "tfidf"]', block)
    assert len([line for line in block.splitlines() if line]) == 9  # eight, after the import
    Path("readme.py").write_text(block)
    assert {"bert", "clf", "report"} <= set(runpy.run_path("readme.py"))
    assert (folder / "folder" / "model.safetensors").is_file()
