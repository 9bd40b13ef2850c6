"""The command line: it answers before anything heavy is imported."""

import subprocess
import sys

import pytest

from stairs.cli import COMMANDS, main


@pytest.mark.parametrize("arguments", [
    ["--help"], ["train", "--help"], ["train", "ngram", "--help"], ["ask", "--help"], ["climb", "--help"], ["weights", "--help"], ["--version"],
])  # fmt: skip
def test_help_needs_no_torch(arguments):
    code = f"""import sys
from stairs.cli import main
try: main({arguments!r})
except SystemExit as ended: assert not ended.code
heavy = [name for name in ("torch", "numba", "sklearn", "tokenizers") if name in sys.modules]
assert not heavy, heavy"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "stairs" in result.stdout


def test_every_command_has_help(capsys):
    for command in COMMANDS:
        with pytest.raises(SystemExit) as result:
            main([command, "--help"])
        assert result.value.code == 0 and "--json" in capsys.readouterr().out


def test_a_mistyped_command_gets_a_suggestion(capsys):
    assert main(["trian"]) == 2
    assert capsys.readouterr().err == "stairs: error: there is no command 'trian'; did you mean train?\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_lists_the_commands(shell, capsys):
    assert main(["--completion", shell]) == 0
    printed = capsys.readouterr().out
    assert all(command in printed for command in COMMANDS)


def test_a_bug_is_reported_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr("stairs.cli.run_command", lambda arguments: 1 / 0)
    assert main(["train"]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("stairs: error: a bug: ZeroDivisionError") and printed.count("\n") == 1
