"""The journey through every command is true: its commands run in order in an empty folder, and print what the page says they print; and so do the
commands on the page of each model."""

import re
from collections.abc import Iterator

import pytest

from tests.journeys.pages import CHINESE_JOURNEY, JOURNEY, ROOT, Command, Shell, blocks, commands, is_setup, run_examples

MODEL_PAGES = [ROOT / "docs" / f"{name}.md" for name in ("ngram", "word2vec", "cnn", "nnlm", "elmo", "gpt", "attention", "bert", "predict")]


def needs_python_prose(command: Command) -> bool:
    return "python" in command.line


def needs_wikipedia(command: Command) -> bool:
    return "wiki_" in command.line


@pytest.fixture(scope="module")
def shell(tmp_path_factory) -> Iterator[Shell]:
    shell = Shell(tmp_path_factory.mktemp("journey"), tmp_path_factory.mktemp("bin"))
    with shell.forks:
        yield shell
        shell.forks.stdin.close()


@pytest.fixture(scope="module")
def journey(shell) -> Shell:
    """The folder after the journey's commands, those that read all of Python's documentation or of a Wikipedia left out."""
    for command in commands(JOURNEY):
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


def test_commands_print_what_the_journey_shows(journey):
    assert journey.followed > 10
    assert not journey.differences, "\n\n".join(journey.differences)


def test_python_of_the_journey(in_folder):
    run_examples(JOURNEY)


@pytest.mark.parametrize("page", MODEL_PAGES, ids=lambda page: page.name)
def test_page_of_a_model(journey, in_folder, page):
    for command in commands(page):
        journey.follow(command)
    run_examples(page)


@pytest.mark.slow
def test_climb_on_the_embedded_default(shell):
    chosen = [command for command in commands(JOURNEY) if needs_python_prose(command) or command.line == "make climb"]
    assert chosen[0].line == "make climb" and len(chosen) > 1
    for command in chosen:
        shell.follow(command._replace(line=command.line.replace("make climb", "stairs climb --budget 2m; stairs climb --task translate --budget 1m")))


@pytest.mark.slow
def test_word_vectors_of_wikipedia(shell, data):
    chosen = [command for command in commands(JOURNEY) if needs_wikipedia(command)]
    assert chosen
    for corpus in sorted({name for command in chosen for name in re.findall(r"wiki_\w+\.txt\.xz", command.line)}):
        (shell.folder / corpus).symlink_to(data / "corpora" / corpus)
    for command in chosen:
        shell.follow(command)


def test_chinese_journey_has_the_same_commands_and_output():
    assert blocks(CHINESE_JOURNEY, "sh", "console", "python") == blocks(JOURNEY, "sh", "console", "python")
