"""Every task that answers predicts the rows of a file; what its cells are is what its own verb says."""

import json
from pathlib import Path

import pytest

from stairs.errors import BadInput, Unsupported

SENTENCE, REVIEW, QUESTION = "the cat sat in Rome .", "a good film from Rome", "where is it ?"
TWO = {"first": "a cat", "second": "the dog"}
ROWS = {  # a row for each kind of run, and the names of the cells behind it
    "gpt": ({"text": "the cat"}, ["prediction"]),
    "ngram": ({"text": "the cat"}, ["prediction"]),
    "elmo": ({"text": "the cat"}, ["prediction"]),
    "bert": ({"text": "the ___ sat ."}, ["prediction", "probability"]),
    "unilm": ({"text": "the cat"}, ["prediction"]),
    "vectors": ({"text": "cat"}, ["prediction", "cosine"]),
    "translator": ({"source": "12"}, ["prediction"]),
    "reviews": ({"text": REVIEW}, ["prediction", "probability"]),
    "tfidf": ({"text": REVIEW}, ["prediction", "probability"]),
    "ngram_classifier": ({"text": REVIEW}, ["prediction", "probability"]),
    "vector_classifier": ({"text": REVIEW}, ["prediction", "probability"]),
    "pairs": (TWO, ["prediction", "probability"]),
    "tfidf_pairs": (TWO, ["prediction", "probability"]),
    "scores": (TWO, ["prediction"]),
    "tagger": ({"text": SENTENCE}, ["prediction", "words"]),
    "hmm": ({"text": SENTENCE}, ["prediction", "words"]),
    "crf": ({"text": SENTENCE}, ["prediction", "words"]),
    "reader": ({"question": QUESTION, "context": SENTENCE}, ["prediction"]),
    "overlap": ({"question": QUESTION, "context": SENTENCE}, ["prediction"]),
    "quiz": ({"context": "what is for dinner ?", "choices": ["a cat", "rice"]}, ["prediction", "probability"]),
    "senses": ({"text": "the *bank* of water Rome"}, ["prediction", "cosine"]),
    "similar": ({"text": SENTENCE}, ["prediction", "cosine"]),
}


def predict(task, rows, **options):
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary = task.predict_file("rows.jsonl", "out.jsonl", **options)
    assert summary["rows"] == len(rows)
    return [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_gets_what_the_task_answers(name, runs):
    row, cells = ROWS[name]
    first, second = predict(runs[name], [{"id": 7, **row}, {"id": 8, **row}])
    assert list(first) == ["id", *row, *cells] and first["id"] == 7
    assert [first[cell] for cell in cells] == [second[cell] for cell in cells]
    assert isinstance(first["prediction"], float if name == "scores" else str)


def test_predictions_are_those_of_the_other_verbs(runs):
    reviews = predict(runs["reviews"], [{"text": REVIEW}, {"text": " "}, {"text": None}, {"id": 1}])
    assert [row["prediction"] for row in reviews] == [runs["reviews"].predict(REVIEW), None, None, None] and "text" not in reviews[3]
    assert reviews[0]["probability"] == pytest.approx(runs["reviews"].predict_proba(REVIEW).max(), abs=1e-4)
    assert predict(runs["scores"], [TWO])[0]["prediction"] == pytest.approx(runs["scores"].predict("a cat", "the dog"), rel=1e-4)
    tags = runs["tagger"].tag(SENTENCE)
    assert predict(runs["tagger"], [{"text": SENTENCE}])[0]["prediction"].split() == tags["tags"]
    assert predict(runs["quiz"], [ROWS["quiz"][0]])[0]["prediction"] == runs["quiz"].choose("what is for dinner ?", ["a cat", "rice"])["answer"]
    found = predict(runs["translator"], [{"source": "12"}, {"source": "3"}])
    assert [row["prediction"] for row in found] == runs["translator"].translate(["12", "3"])


def test_what_makes_no_sense_is_refused_in_a_sentence_and_writes_nothing(runs):
    Path("new.csv").write_text("text\nno blank here .\n")
    for name, options, sentence in (
        ("bert", {}, r"new.csv:2: .*blank"),
        ("gpt", {"threshold": 0.5}, "threshold is for runs that give labels"),
        ("tagger", {"why": True}, "why is for runs that give labels"),
        ("reviews", {"text": "body"}, "no column 'body' for text"),
        ("pairs", {}, "no two columns of text"),
    ):
        with pytest.raises(BadInput, match=sentence):
            runs[name].predict_file("new.csv", "nothing.csv", **options)
    from stairs.tasks import Encode

    with pytest.raises(Unsupported, match="use stairs embed"):
        Encode(runs["bert"].model, runs["bert"].tokenizer).predict_file("new.csv", "nothing.csv")
    assert not Path("nothing.csv").exists()
