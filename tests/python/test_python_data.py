"""Text and labels as Python holds them: what they become, that it is the same for all of them, and what is refused in one sentence."""

import json
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pandas
import pytest

import stairs
from stairs import progress
from stairs.errors import BadInput
from stairs.text.labelled import read_examples
from stairs.text.python_data import collection_path, corpus_paths, labelled_path, pair_paths
from tests.support.runs import REVIEWS, SENTENCES

TEXTS, LABELS = [text for text, _ in REVIEWS], [label for _, label in REVIEWS]
FRAME = pandas.DataFrame({"review": TEXTS, "stars": [5 if label == "pos" else 1 for label in LABELS], "nr": range(len(TEXTS))})


def rows(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


class Dataset:
    """As datasets.Dataset looks from outside."""

    column_names = ("text", "label")

    class ClassLabel:
        names = ("neg", "pos")

    features = {"text": object(), "label": ClassLabel()}  # noqa: RUF012

    def __iter__(self):
        return ({"text": text, "label": int(label == "pos")} for text, label in REVIEWS)


@pytest.mark.parametrize("data", [
    REVIEWS, (row for row in REVIEWS), [list(row) for row in REVIEWS], [{"text": text, "label": label} for text, label in REVIEWS],
    {"text": TEXTS, "label": np.array(LABELS)}, pandas.DataFrame({"text": TEXTS, "label": LABELS}),
    pandas.DataFrame({"text": TEXTS, "label": pandas.Categorical(LABELS)}), np.array(REVIEWS, dtype=object), Dataset(),
], ids=["tuples", "generator", "lists", "dicts", "columns", "frame", "categories", "array", "dataset"])  # fmt: skip
def test_rows_of_every_kind_give_the_same_examples(data):
    found = read_examples(labelled_path(data)).examples
    assert [(example.text, example.label) for example in found] == REVIEWS
    assert found[2].where.endswith(":3"), "the number of the row"


def test_texts_and_labels_apart():
    path = labelled_path(TEXTS, LABELS)
    assert path == labelled_path(iter(TEXTS), LABELS).replace("list_iterator", "list") or rows(path) == rows(labelled_path(iter(TEXTS), LABELS))
    assert labelled_path(pandas.Series(TEXTS), pandas.Series(LABELS)) and labelled_path(TEXTS, LABELS) == path, "the same data have the same name"


def test_whole_numbers_stay_whole_and_missing_ones_are_null():
    frame = pandas.DataFrame({"text": ["a b", "c d"], "stars": [4.0, None], "share": [0.5, 1.0], "day": pandas.to_datetime(["2026-01-02", None])})
    assert rows(labelled_path(frame)) == [
        {"text": "a b", "stars": 4, "share": 0.5, "day": "2026-01-02 00:00:00"}, {"text": "c d", "stars": None, "share": 1.0, "day": None},
    ]  # fmt: skip


def test_a_corpus_is_paths_or_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    assert corpus_paths("a.txt") == corpus_paths(["a.txt"]) == ("a.txt",) and corpus_paths(None) == ()
    assert corpus_paths(["missing.txt"]) == ("missing.txt",), "and it is refused as a file that is not there"
    for texts in (["a text .", "another ."], (text for text in ("a text .", "another .")), pandas.Series(["a text .", "another ."])):
        assert rows(corpus_paths(texts)[0]) == [{"text": "a text ."}, {"text": "another ."}]
    assert rows(corpus_paths(FRAME)[0])[0]["review"] == TEXTS[0]
    assert rows(pair_paths([("1", "one")])[0]) == [{"source": "1", "target": "one"}] and pair_paths(["a.en", "a.fr"]) == ("a.en", "a.fr")
    assert Path(collection_path(["one\ntwo", "three"])).read_text() == "one two\nthree\n"


def test_columns_are_named_and_guessed(runs):
    ours = stairs.tune("tfidf", FRAME, text="review", label="stars", out="runs/frame-named")
    assert ours.labels == ["1", "5"] and ours.predict("good") == "5"
    assert stairs.tune("tfidf", FRAME, text="1", label="2", id="nr", out="runs/frame-numbered").labels == ["1", "5"]
    assert stairs.tune("tfidf", FRAME, out="runs/frame-guessed").evaluate(FRAME, id="nr")["accuracy"]["value"] == 1
    default = stairs.tune("tfidf", FRAME)
    assert default.folder.name.startswith("dataframe-") and stairs.tune("tfidf", FRAME.copy()).folder == default.folder, "the same data, the same run"


REFUSED = {
    "no such column": (
        lambda runs: runs["bert"].tune(FRAME, text="comment", label="stars"),
        "DataFrame:1: no column 'comment' for the text; it has 'review'",
    ),
    "an empty list": (lambda runs: runs["reviews"].predict([]), "no texts given; give at least one"),
    "no rows": (lambda runs: runs["bert"].tune([]), "there is nothing in this list; give some"),
    "an empty frame": (lambda runs: runs["bert"].tune(FRAME[:0]), "there is nothing in this DataFrame"),
    "None among texts": (lambda runs: runs["reviews"].predict(["a", None]), "list:2: None among the texts; leave it out"),
    "None in a corpus": (lambda runs: stairs.train("ngram", ["a text .", None]), "list:2: None among the texts"),
    "a number in a frame": (
        lambda runs: runs["bert"].tune(pandas.DataFrame({"text": ["a b", 7] * 9, "label": ["x", "y"] * 9})),
        "DataFrame:2: the field 'text' is a number, not text",
    ),
    "no label in a frame": (
        lambda runs: runs["bert"].tune(pandas.DataFrame({"text": ["a b", "c d"] * 9, "label": [None] * 18})),
        "DataFrame: none of the 18 rows with a text has a label; label some, or name another column with label",
    ),
    "bytes": (lambda runs: runs["bert"].embed([b"a"]), "(bytes) among the texts; decode it first"),
    "bytes as a text": (lambda runs: runs["bert"].fill(b"a ___"), "text is b'a ___', which is of type bytes; give a string"),
    "bytes in a row": (lambda runs: runs["bert"].tune([(b"a", "x")] * 9), "is bytes and no text; decode it first"),
    "a table of texts": (lambda runs: runs["bert"].embed(FRAME), "texts are given as DataFrame; choose one of its columns"),
    "a number": (lambda runs: runs["bert"].embed(3), "texts are given as int; give a list of strings"),
    "a budget of ten": (lambda runs: stairs.climb(REVIEWS, budget="ten"), "budget 'ten' is not a time"),
    "a budget of ten in train": (lambda runs: stairs.train("gpt", SENTENCES, budget="ten"), "ten"),
    "labels too few": (lambda runs: runs["bert"].tune(TEXTS, LABELS[:3]), "48 texts and 3 labels; give one label for each text"),
    "labels of a frame": (
        lambda runs: runs["bert"].tune(FRAME, LABELS),
        "labels= goes with a list of texts, and this is DataFrame; name the column with label=",
    ),
    "rows of no length": (
        lambda runs: runs["bert"].tune([("a", "b", "c", "d")]),
        "list:1: a row of 4 values; give (text, label) or (first, second, label)",
    ),
    "strings as rows": (lambda runs: runs["bert"].tune(["a", "b"]), "where a row should be; give (text, label) tuples"),
    "columns of different lengths": (
        lambda runs: runs["bert"].tune({"text": ["a"], "label": []}),
        "the columns have different lengths (text 1, label 0)",
    ),
    "several splits": (lambda runs: runs["bert"].tune({"train": Dataset(), "test": Dataset()}), "choose one, as in data['train']"),
    "a number to predict": (lambda runs: runs["bert"].tune([("a", "good"), ("b", "bad")], task="regress"), "list:1: 'label' is 'good', not a number"),
    "an unknown option": (lambda runs: stairs.train("ngram", SENTENCES, ordr=3), "train has no option 'ordr'; did you mean order?"),
    "an unknown model": (lambda runs: stairs.train("brt", SENTENCES), "there is no model 'brt' to train; did you mean bert?"),
    "an unknown picture": (lambda runs: runs["bert"].draw("attnetion", "a"), "there is no picture 'attnetion'; did you mean attention?"),
    "an option of another picture": (lambda runs: runs["bert"].draw("tokens", "a", layer=1), "layer is not for tokens"),
    "an unknown format": (lambda runs: runs["bert"].convert("onnx", "x"), "there is no format 'onnx'"),
    "two texts for one label": (lambda runs: runs["reviews"].predict(["a"], ["b"]), "reads one text and takes no second one"),
    "one text of a pair": (lambda runs: runs["pairs"].predict(["a"]), "give the other as `second`"),
    "no word": (lambda runs: runs["vectors"].nearest(" "), "no word given"),
    "a run that is not there": (lambda runs: stairs.load("runs/nowhere"), "runs/nowhere is not a run: it is not there"),
    "keywords, not flags": (lambda runs: stairs.climb(REVIEWS, limit=0), "limit 0 is below 1"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_bad_input_is_one_sentence(what, runs):
    call, words = REFUSED[what]
    with pytest.raises(BadInput) as caught:
        call(runs)
    sentence = str(caught.value)
    assert words in sentence and "\n" not in sentence and "--" not in sentence and len(sentence) < 300


def test_a_generator_that_was_used_before_gives_nothing(runs):
    texts = (text for text in TEXTS)
    assert len(runs["tfidf"].predict(texts)) == len(TEXTS)
    with pytest.raises(BadInput, match="a generator that was used before gives nothing: make a list of it"):
        runs["tfidf"].predict(texts)
    with pytest.raises(BadInput, match="one that was used before gives nothing"):
        runs["bert"].tune(row for row in ())


def test_a_run_whose_folder_is_gone(runs, tmp_path):
    task = stairs.tune("tfidf", REVIEWS, out=tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    assert task.predict("good") == "pos" and "run: " in repr(task)
    bert = stairs.load(runs["bert"].folder)
    bert.folder = tmp_path / "run"
    for call in (lambda: bert.tune(REVIEWS), lambda: task.draw("confusion")):
        with pytest.raises(BadInput, match="run is gone, and this task was loaded from it; load the run from where it is now"):
            call()
    bert.folder = None
    with pytest.raises(BadInput, match="this task was not loaded from a run"):
        bert.tune(REVIEWS)


@pytest.mark.parametrize("model", ["gpt", "bert", "skipgram"])
def test_ctrl_c_gives_what_was_learnt_so_far_and_the_same_call_resumes(model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shape = {"width": 16, "heads": 2, "layers": 1, "context": 16}
    steps = {"epochs": 200, "width": 8, "min_count": 1} if model == "skipgram" else {"steps": 400, **shape}
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    seen = []

    def listen(sentence):
        if sentence.startswith("training") and not seen:
            seen.append(sentence)
            timer.start()

    monkeypatch.setattr(progress, "listener", listen)
    task = stairs.train(model, SENTENCES, **steps, out="run")
    timer.cancel()
    stopped = "stairs.train goes on from there (run)" in capsys.readouterr().err
    assert task.folder == Path("run") and task.answer("cat" if model == "skipgram" else "the ___ sat .")
    if stopped:  # else the machine was faster than the signal
        assert any(Path("run").glob("step-*")) and not Path("run/model").exists()


def test_progress_is_shown_in_a_notebook_on_one_line(monkeypatch):
    lines = []

    class Line:
        def update(self, content, raw):
            lines.append(content["text/plain"])

    class Shell:
        kernel = object()

    display = type("display", (), {"display": staticmethod(lambda content, raw, display_id: Line())})
    monkeypatch.setitem(__import__("sys").modules, "IPython", type("IPython", (), {"get_ipython": staticmethod(Shell), "display": display}))
    monkeypatch.setitem(__import__("sys").modules, "IPython.display", display)
    monkeypatch.setattr(progress, "bars_enabled", True)
    monkeypatch.setattr(progress, "LISTENER_INTERVAL", 0)
    with progress.track("training", total=4, unit="tokens") as advance:
        advance(1)
        advance(1)
    assert lines[0].startswith("training ████████░") and "25%" in lines[0] and "left" in lines[0] and "tokens/s" in lines[0]
    assert "50%" in lines[1] and len(lines) == 3


def test_a_report_shows_itself(runs):
    report = stairs.climb(REVIEWS, budget="120s", models=["tfidf", "ngram"], out="runs/climb-report")
    assert report.recommended.predict("a good film") == "pos" and report.load("ngram").predict("a bad film") == "neg"
    assert list(report.table["model"]) == [row["model"] for row in report.rows] and report.table["score"].between(0, 1).all()
    shown = report._repr_html_()
    assert "<svg" in shown and "<script" not in shown and "http://" not in shown.replace("http://www.w3.org", "") and "Recommended" in shown
    assert report.recommendation in repr(report) and report.folder == Path("runs/climb-report")
    with pytest.raises(BadInput, match="no trained 'bert'; it has"):
        report.load("bert")
    assert json.loads(report.to_json())["rows"][0]["model"] == report.rows[0]["model"]


def test_a_drawing_needs_no_network(runs, tmp_path):
    first, second = (runs["bert"].draw("attention", text).svg for text in ("the cat sat .", "a dog ran ."))
    assert first.startswith("<svg") and "<script" not in first
    ids = [set(__import__("re").findall(r'id="([^"]+)"', svg)) for svg in (first, second)]
    assert not ids[0] & ids[1], "clip paths of two pictures in one page must not be confused"
    drawing = runs["bert"].draw("tokens", ["the cat", "a dog"], beside=["runs/gpt"])
    drawing.save(tmp_path / "tokens.svg")
    assert (tmp_path / "tokens.svg").read_text().startswith("<svg")


@pytest.mark.reference
def test_polars_and_datasets_themselves():
    polars, datasets = pytest.importorskip("polars"), pytest.importorskip("datasets")
    frame = polars.DataFrame({"text": TEXTS, "label": LABELS})
    classes = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])})
    own = datasets.Dataset.from_dict({"text": TEXTS, "label": [int(label == "pos") for label in LABELS]}, features=classes)
    for data in (frame, frame.lazy(), own, own.to_pandas().replace({"label": {0: "neg", 1: "pos"}}), own.to_iterable_dataset()):
        assert [(example.text, example.label) for example in read_examples(labelled_path(data)).examples] == REVIEWS
    assert rows(corpus_paths(frame["text"])[0]) == rows(corpus_paths(own["text"])[0]) == [{"text": text} for text in TEXTS]
    with pytest.raises(BadInput, match="choose one, as in data"):
        labelled_path(datasets.DatasetDict({"train": own, "test": own}))


def test_columns_have_the_same_names_in_the_shell(runs, command, world, monkeypatch):
    monkeypatch.chdir(world[0])
    FRAME.to_csv("frame.csv", index=False)
    named = ["--text", "review", "--label", "2", "--id", "nr", "--json"]
    tuned = command("tune", "tfidf", "frame.csv", *named, "--out", "runs/shell-columns")
    assert tuned.code == 0, tuned.err
    scored = command("score", "runs/shell-columns", "frame.csv", *named)
    assert json.loads(scored.out) == stairs.load("runs/shell-columns").evaluate(FRAME, text="review", label="2", id="nr")
    climbed = command("climb", "--labels", "frame.csv", *named, "--models", "tfidf", "--budget", "2m", "--out", "runs/shell-climb")
    assert json.loads(climbed.out)["recommendation"]["model"] == "tfidf" and "pretrained on the" in climbed.err
    refused = command("climb", "--labels", "frame.csv", "--text", "comment", "--label", "stars", "--out", "runs/shell-refused")
    assert refused.code == 2 and "frame.csv:1: no column 'comment' for the text; it has 'review', 'stars', 'nr'" in refused.err
