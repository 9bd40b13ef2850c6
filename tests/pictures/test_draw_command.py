"""stairs draw: a picture in a file, its data on stdout, or one sentence."""

import json
import re

import pytest

from stairs.cli import main
from stairs.commands.draw import ABOUT
from stairs.pictures.catalogue import PICTURES
from tests.support.gallery import TEXT


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "world"
    (folder.parent / "text.txt").write_text("soup and rain in Rome today .\n\nbread and wind in Paris today .\n" * 8)
    assert main(["train", "ngram", str(folder.parent / "text.txt"), "--out", str(folder), "--quiet"]) == 0
    return str(folder)


@pytest.mark.parametrize(("ending", "begin"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("json", b"{")])
def test_a_file_of_each_kind(run, tmp_path, ending, begin, capsys):
    out = tmp_path / f"new/backoff.{ending}"
    assert main(["draw", run, "backoff", TEXT, "--out", str(out), "--quiet"]) == 0
    assert out.read_bytes().startswith(begin) and capsys.readouterr() == ("", "")


def test_the_data_on_stdout_and_a_picture_where_one_stands(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["draw", run, "next", "soup", "and", "--top", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["next"]) == 2 and not list(tmp_path.iterdir())
    assert main(["draw", run, "next", "soup"]) == 0
    assert (tmp_path / "next.svg").is_file() and "next.svg" in capsys.readouterr().err


def test_several_runs_below_one_another(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "again").symlink_to(run)
    assert main(["draw", run, "tokens", TEXT, "--beside", "again", "--json"]) == 0
    assert [tokenization["name"] for tokenization in json.loads(capsys.readouterr().out)["tokenizations"]] == [f"words, by {run}, again"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["attention", TEXT], "has no attention to draw; it has tokens, backoff, surprise, next, windows, mask"),
        (["atention", TEXT], "did you mean attention?"),
        (["tokens"], "none was given"),
        (["tokens", TEXT, "--out", "a.pdf"], "a.pdf is not the name of a picture"),
        (["next", TEXT, "--beside", "run"], "--beside is not for next but for tokens"),
        (["tokens", TEXT, "--layer", "1"], "--layer is not for tokens"),
        (["next", TEXT, "--top", "0"], "--top 0 is not between"),
        (["next", TEXT, "--dimensions", "4-7"], "--dimensions is not for next"),
        (["tokens", TEXT, "--out", "folder.json"], "folder.json is not a file"),
    ],
)
def test_what_does_not_fit_is_one_sentence(run, arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    assert main(["draw", run, *arguments]) == 2
    output = capsys.readouterr().err
    assert words in output and output.count("\n") == 1


def test_the_help_names_every_picture():
    assert set(PICTURES) <= set(re.findall(r"[\w-]+", ABOUT))
