"""The way from a spreadsheet to predictions is true in both languages: its commands run in order in an empty folder and print what it shows."""

import re

import pytest

from tests.journeys.pages import ROOT, Shell, commands

PAGES = [ROOT / "docs" / name for name in ("quickstart.md", "quickstart.zh.md")]
MAX_WORDS = 120  # before the first command
WORD = re.compile(r"[一-鿿]|[^\s一-鿿]+")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_prints_what_the_page_shows(page, tmp_path, tmp_path_factory):
    shell = Shell(tmp_path, tmp_path_factory.mktemp("bin"))
    shell.environment["PATH"] = f"{ROOT / '.venv' / 'bin'}:{shell.environment['PATH']}"
    with shell.forks:
        for command in commands(page):
            shell.follow(command)
        shell.forks.stdin.close()
    lines = (tmp_path / "predictions.csv").read_text("utf-8-sig").splitlines()
    assert len(lines) == 10_001
    assert lines[0].endswith(",prediction,probability,unsure")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_few_words_come_before_the_first_command(page):
    before = page.read_text("utf-8").partition("```")[0]
    assert len(WORD.findall(before)) <= MAX_WORDS
