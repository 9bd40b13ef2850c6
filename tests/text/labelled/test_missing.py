"""Rows without a label or without a text: left out, counted, and offered for prediction."""

import json

import pytest

from stairs.text.labelled import guess_task, read_examples
from tests.support.labelled_files import error_of, texts_and_labels


def reviews(label_of):
    return "".join(f"a {'good' if number % 2 else 'bad'} film number {number},{label_of(number)}\n" for number in range(40))


def label_some(number):
    return ("", " ")[number % 2] if number % 4 < 2 else ("neg", "pos")[number % 2]


@pytest.mark.parametrize("header", ["text,label", "words,verdict"])
def test_rows_without_a_label_are_left_out_and_offered_for_prediction(write, header):
    path = write("my reviews.csv", f"{header}\n{reviews(label_some)}")
    assert guess_task(path) == "classify"
    labelled = read_examples(path)
    assert len(labelled.examples) == 20 and {label for _, label in texts_and_labels(labelled)} == {"pos", "neg"}
    offered = f"stairs ask RUN --file '{path}' --out predictions.csv"
    assert labelled.notes == (f"20 rows have no label and are left out, the first at {path}:2; predict them with: {offered}",)


def test_a_row_without_text_is_counted_once(write):
    labelled = read_examples(write("a.csv", "text,label\na good film,pos\n,\n ,pos\n,neg\na bad film,neg\nanother film,\n,,\n"))
    assert texts_and_labels(labelled) == [("a good film", "pos"), ("a bad film", "neg")]
    assert [note.split(",")[0] for note in labelled.notes] == ["2 rows have no text and are left out", "1 row has no label and is left out"]


def test_null_and_missing_fields_of_json_are_empty_and_words_like_none_are_labels(write):
    rows = [{"text": "a b"}, {"text": "c d", "label": None}, {"text": "e f", "label": "None"}]
    rows += [{"text": None, "label": "NA"}, {"text": "g h", "label": "NA"}]
    labelled = read_examples(write("a.jsonl", "\n".join(map(json.dumps, rows))), "classify")
    assert texts_and_labels(labelled) == [("e f", "None"), ("g h", "NA")]
    assert "2 rows have no label" in labelled.notes[1] and "the label 'NA', which looks like a missing value" in labelled.notes[2]


def test_a_file_without_any_label_is_refused_in_a_sentence(write):
    path = write("a.csv", f"text,label\n{reviews(lambda number: '')}")
    assert error_of(path) == f"{path}: none of the 40 rows with a text has a label; label some, or name another column with --label"


def test_pairs_without_a_label_or_a_score_are_left_out(write):
    labelled = read_examples(write("a.csv", "premise,hypothesis,label\na b,c d,yes\ne f,g h,\ni j,,no\n"), "compare")
    assert len(labelled.examples) == 1 and "1 row has no label" in labelled.notes[1]
    labelled = read_examples(write("b.csv", "sentence1,sentence2,score\na b,c d,2.5\ne f,g h,\n"), "compare")
    assert [pair.score for pair in labelled.examples] == [2.5]
