"""Paths that cannot be written to or hold no run, and outputs that nobody reads."""

import subprocess
import sys

import pytest


def test_output_in_the_way(refused, corpus, tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text(corpus.read_text())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/diary.txt").write_text("dear diary")
    (tmp_path / "model.arpa").write_text("\\data\\\n")
    for arguments in (("train", "ngram"), ("climb",)):
        refused(*arguments, "notes.txt", "--out", "notes.txt", words=("--out notes.txt is the corpus",))
        refused(*arguments, "texts", "--out", "texts", words=("inside the corpus",))
        refused(*arguments, "texts", "--out", "texts/deep/er", words=("inside the corpus",))
        refused(*arguments, "texts/a.txt", "--out", "mine", words=("mine exists and is not",))
        refused(*arguments, "texts/a.txt", "--out", "notes.txt", words=("notes.txt is a file",))
        refused(*arguments, "texts/a.txt", "--out", "notes.txt/below", words=("notes.txt is a file",))
    refused("adopt", "model.arpa", "--out", "mine", words=("mine exists and is not a run",))
    refused("adopt", "model.arpa", "--out", "model.arpa", words=("model.arpa is a file",))


@pytest.mark.parametrize("path", ["/proc/run", "/proc/deep/run", "/sys/run", "x" * 300, "link/run"])
def test_output_that_can_not_be_written(refused, corpus, tmp_path, path):
    (tmp_path / "link").symlink_to("/proc/self/fdinfo")
    for arguments in (("train", "ngram", "notes.txt"), ("climb", "notes.txt"), ("adopt", "notes.txt")):
        refused(*arguments, "--out", path, code=3, words=("cannot write", path[:40]))


def test_a_folder_without_permission(refused, corpus, monkeypatch):
    def forbidden(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", forbidden)
    refused("train", "ngram", "notes.txt", code=3, words=("cannot write runs/notes-ngram: permission denied",))


def test_no_run(refused, tmp_path, corpus):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/diary.txt").write_text("dear diary")
    for verb in (("ask", "{}", "hello"), ("score", "{}", "notes.txt"), ("convert", "{}", "arpa", "--out", "x.arpa")):
        for name, words in [("missing", "not there"), ("empty", "an empty folder"), ("other", "without run.json"), ("notes.txt", "a file")]:
            refused(*(word.format(name) for word in verb), words=(f"{name} is not a run", words, "stairs train"))


def test_output_that_can_not_show_chinese(stairs):
    result = stairs("nothing-of-猫", env={"PYTHONIOENCODING": "ascii"})
    assert result.returncode == 2 and result.stderr.startswith("stairs: error: there is no command 'nothing-of-\\u732b'")


def test_output_that_nobody_reads():
    with open("/dev/full", "w") as full:
        result = subprocess.run([sys.executable, "-m", "stairs", "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 3
    assert result.stderr.startswith("stairs: error: the output cannot be") and result.stderr.count("\n") == 1
    assert "no space left" in result.stderr
    piped = f"{sys.executable} -m stairs --help | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", piped], stderr=subprocess.PIPE).stderr == b""
