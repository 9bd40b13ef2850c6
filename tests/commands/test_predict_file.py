"""A table in, a table with predictions out: what stands in it, in which format, and what bad files get."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from stairs import predict_job
from stairs.cli import main

GOOD, BAD = "a good film from Rome", "a bad film from Rome"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with a tfidf run that learnt from the column `review`."""
    folder = tmp_path_factory.mktemp("world")
    rows = [f"{number:03},a {word} {thing} from {city},{label}\n" for number, (word, label, thing, city) in enumerate(
        (word, label, thing, city) for word, label in (("good", "pos"), ("bad", "neg"), ("fine", "pos"), ("poor", "neg"))
        for thing in ("film", "soup", "book") for city in ("Rome", "Paris", "Kyoto"))]  # fmt: skip
    (folder / "reviews.csv").write_text("id,review,stars\n" + "".join(rows))
    assert main(["tune", "tfidf", str(folder / "reviews.csv"), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder


@pytest.fixture
def run(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return str(world / "run")


def write(name, text, encoding="utf-8"):
    with open(name, "w", encoding=encoding, newline="") as file:
        file.write(text)


def read(name, encoding="utf-8"):
    with open(name, encoding=encoding, newline="") as file:
        return list(csv.DictReader(file))


def test_all_columns_are_kept_and_the_column_of_training_is_read(run, capsys):
    write("new.csv", f"id,title,review,due\n007,x,{GOOD},2024-01-02\n008,=1+1,{BAD},\n009,y, ,-3\n")
    assert main(["ask", run, "--file", "new.csv", "--out", "out.csv", "--unsure-below", "0.99", "--all-labels"]) == 0
    rows = read("out.csv")
    assert list(rows[0]) == ["id", "title", "review", "due", "prediction", "probability", "unsure", "p_neg", "p_pos"]
    assert [row["prediction"] for row in rows] == ["pos", "neg", ""]
    assert rows[0]["id"] == "007" and rows[0]["due"] == "2024-01-02" and rows[1]["title"] == "'=1+1" and rows[2]["due"] == "-3"
    assert rows[0]["unsure"] == "yes" and float(rows[0]["p_pos"]) == float(rows[0]["probability"]) > 0.5
    assert "3 rows" in (err := capsys.readouterr().err) and "1 without a text" in err and "guessed" not in err


def test_every_format_holds_the_same_predictions(run, tmp_path):
    write("new.csv", f"\ufeffn;review;prediction\n01;{GOOD};\n02;\"{BAD};\nit is\";old\n")
    for suffix in ("csv", "tsv", "jsonl", "xlsx", "parquet"):
        assert main(["ask", run, "--file", "new.csv", "--out", f"out.{suffix}", "--quiet"]) == 0
    assert Path("out.csv").read_bytes().startswith("\ufeffn;review;prediction;prediction_2;probability\n".encode())
    records = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]
    assert records[1]["review"] == f"{BAD};\nit is" and records[1]["prediction"] == "old" and records[1]["prediction_2"] == "neg"
    import openpyxl
    import pyarrow.parquet

    sheet = [list(row) for row in openpyxl.load_workbook("out.xlsx").active.iter_rows(values_only=True)]
    assert sheet[1][0] == "01" and sheet[2][3:] == ["neg", records[1]["probability"]]
    assert pyarrow.parquet.read_table("out.parquet").to_pylist()[1]["probability"] == records[1]["probability"]
    for source in ("out.tsv", "out.jsonl", "out.parquet"):
        assert main(["ask", run, "--file", source, "--out", "again.jsonl", "--quiet"]) == 0
        again = [json.loads(line) for line in Path("again.jsonl").read_text("utf-8").splitlines()]
        assert [row["prediction_3"] for row in again] == ["pos", "neg"] and again[1]["review"] == records[1]["review"]


def test_a_threshold_moves_the_border_between_two_labels(run, capsys):
    write("new.csv", f"review\n{GOOD}\n{BAD}\n")
    for flags, labels in ((["--threshold", "0.01"], ["pos", "pos"]), (["--threshold", "0.01", "--positive", "neg"], ["neg", "neg"])):
        assert main(["ask", run, "--file", "new.csv", "--json", "--quiet", *flags]) == 0
        assert [json.loads(line)["prediction"] for line in capsys.readouterr().out.splitlines()] == labels
    assert main(["ask", run, GOOD, "--threshold", "0.01", "--positive", "neg", "--unsure-below", "0.9"]) == 0
    assert capsys.readouterr().out == "neg (unsure)\n"


def test_the_words_behind_a_label_are_named_exactly(run, capsys):
    assert main(["ask", run, GOOD, "--why", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    reasons = {own["label"]: {word["word"]: word["weight"] for word in own["words"]} for own in answer["why"]["labels"]}
    assert answer["why"]["method"] == "weights" and reasons["pos"]["good"] == -reasons["neg"]["good"] > 0.1
    write("new.csv", f"review\n{BAD}\n")
    assert main(["ask", run, "--file", "new.csv", "--why"]) == 0
    assert "for neg: " in (out := capsys.readouterr().out) and "bad +" in out
    assert main(["ask", run, BAD, "--why"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("  for neg: ")


def test_lines_and_tables_without_a_header_are_rows_as_well(run, capsys):
    write("new.txt", f"{GOOD}\n\n{BAD}\n")
    assert main(["ask", run, "--file", "new.txt", "--out", "out.csv"]) == 0
    assert [(row["text"], row["prediction"]) for row in read("out.csv")] == [(GOOD, "pos"), ("", ""), (BAD, "neg")]
    write("bare.csv", f"{GOOD} and then some more\n{BAD} and then some more\n")
    assert main(["ask", run, "--file", "bare.csv", "--out", "out.csv"]) == 0
    assert "looks like the others" in capsys.readouterr().err
    assert [row["prediction"] for row in read("out.csv")] == ["pos", "neg"]


@pytest.mark.parametrize(("content", "sentence"), [
    ("a,b\n1,2\n3,4\n5,6\n7,8\n", "no column of text among"),
    (f"x,y\n{GOOD},{BAD}\n{BAD},{GOOD} too\n{GOOD} 1,{BAD} 1\n{GOOD} 2,{BAD} 2\n", "several columns look like text"),
    ("review\n", "no rows in"),
    ("", "no text in"),
    ("review\n" + "y" * 10_000_000 + "\n", "2: a text of 10,000,000 characters"),
    ("review\n" + "我们在北京看电影。\n" * 30, "none of the words are known"),
    (f"review\n{GOOD}\n{BAD},x\n", "new.csv:3: 2 fields"),
])  # fmt: skip
def test_a_bad_file_is_one_sentence_and_no_output(run, content, sentence, capsys):
    write("new.csv", content)
    assert main(["ask", run, "--file", "new.csv", "--out", "out.csv"]) == 2
    assert sentence in (err := capsys.readouterr().err) and err.count("\n") == 1
    assert os.listdir() == ["new.csv"]


@pytest.mark.parametrize(("flags", "sentence"), [
    (["--file", "missing.csv", "--out", "out.csv"], "missing.csv: no such file"),
    (["--file", "new.csv", "--out", "folder/out.csv"], "there is no folder"),
    (["--file", "new.csv", "--out", "new.csv"], "the file that is read"),
    (["--file", "new.csv", "--out", "out.doc"], "no suffix that tells its format"),
    (["--file", "new.csv", "--out", "out.xlsx.gz"], "no suffix that tells its format"),
    (["--file", "new.csv", "--out", "out.csv.xz"], "no suffix that tells its format"),
    (["--file", "new.csv", "--text", "stars"], "no column 'stars' for --text"),
    (["--file", "new.csv", "--second-column", "1"], "reads one"),
    (["--file", "new.csv", "--threshold", "7"], "not a probability"),
    (["--file", "new.csv", "--threshold", "0.5", "--positive", "good"], "none of the labels neg, pos"),
    (["--out", "out.csv", GOOD], "name one with --file"),
])  # fmt: skip
def test_a_bad_flag_is_one_sentence_and_no_output(run, flags, sentence, capsys):
    write("new.csv", f"review\n{GOOD}\n")
    assert main(["ask", run, *flags]) == 2
    assert sentence in (err := capsys.readouterr().err) and err.count("\n") == 1
    assert os.listdir() == ["new.csv"]


def test_a_file_of_other_words_is_warned_of(run, capsys):
    write("new.csv", "review\n" + "un film molto bello di Rome\n" * 9)
    assert main(["ask", run, "--file", "new.csv", "--out", "out.csv"]) == 0
    assert "67% of the words are unknown" in capsys.readouterr().err


def test_memory_does_not_grow_with_the_rows(run, monkeypatch):
    """Rows are written as they are read: never more than two chunks are alive."""
    write("new.csv", "review\n" + f"{GOOD}\n" * 500)
    monkeypatch.setattr("stairs.tasks.row_predictions.LABEL_CHUNK", 50)
    sizes = []
    written = predict_job.FilePrediction.write_chunk

    def spy(self, writer, chunk, cells):
        sizes.append(len(chunk))
        written(self, writer, chunk, cells)

    monkeypatch.setattr(predict_job.FilePrediction, "write_chunk", spy)
    assert main(["ask", run, "--file", "new.csv", "--out", "out.csv", "--quiet"]) == 0
    assert sizes == [50] * 10 and len(read("out.csv")) == 500


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_prediction_leaves_no_file(run, number):
    write("new.csv", "review\n" + f"{GOOD}\n" * 300_000)
    process = subprocess.Popen([sys.executable, "-m", "stairs", "ask", run, "--file", "new.csv", "--out", "out.csv"], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not [name for name in os.listdir() if name.startswith(".tmp-")] and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait() in (130, -signal.SIGKILL)
    assert not os.path.exists("out.csv")


def test_a_conversation_ends_on_one_ctrl_d(run, monkeypatch, capsys):
    typed = iter([GOOD, "", BAD])

    def answer(prompt):
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    assert main(["ask", run]) == 0
    assert capsys.readouterr().out.split() == ["pos", "neg"]

    def interrupt(prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert main(["ask", run]) == 130
    assert "interrupted" not in capsys.readouterr().err
