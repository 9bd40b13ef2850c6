"""Questions with spans of passages (SQuAD), and translations in parallel files."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.text.examples import Question, TranslationPair
from stairs.text.labelled import guess_task, read_examples
from stairs.text.labelled.parallel_text import likely_misalignment
from tests.support.labelled_files import error_of


def squad(folder, *questions, passage="The 😀 cat sat.", **paragraph):
    path = folder / "squad.json"
    document = {"version": "2.0", "data": [{"title": "t", "paragraphs": [{"context": passage, "qas": list(questions)} | paragraph]}]}
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def asked(start=6, text="cat", **fields):
    return {"question": "Who?", "id": "q1", "answers": [{"text": text, "answer_start": start}]} | fields


def test_a_question_with_its_answer_and_line(tmp_path):
    path = squad(tmp_path, asked())
    labelled = read_examples(path, "span")
    line = next(number for number, text in enumerate(path.read_text().split("\n"), 1) if '"question"' in text) - 1
    assert list(labelled.examples) == [Question("Who?", "The 😀 cat sat.", ((6, "cat"),), "q1", f"{path}:{line}")]
    assert labelled.notes == () and guess_task(path) == "span"


def test_questions_may_come_before_their_passage(tmp_path):
    path = tmp_path / "a.json"
    question = json.dumps(asked(2, "b"))
    path.write_text('{"data": [{"paragraphs": [{"qas": [' + question + '], "context": "a b"}], "title": ""}], "version": 1}')
    assert read_examples(path, "span").examples[0].passage == "a b"


def test_unanswerable_questions_have_no_answers(tmp_path):
    nothing = asked(answers=[], is_impossible=True, plausible_answers=[{"text": "cat", "answer_start": 6}])
    labelled = read_examples(squad(tmp_path, nothing, asked(is_impossible=False)), "span")
    assert [example.answers for example in labelled.examples] == [(), ((6, "cat"),)]
    assert labelled.notes == ("1 questions cannot be answered from their passage",)


def test_utf_16_offsets_and_absent_answers_are_corrected_and_reported(tmp_path):
    partly = asked(answers=[{"text": "dog", "answer_start": -1}, {"text": "cat", "answer_start": 6}])
    labelled = read_examples(squad(tmp_path, asked(7), partly), "span")
    assert [example.answers for example in labelled.examples] == [((6, "cat"),)] * 2
    assert "1 answers had offsets in UTF-16 units" in labelled.notes[0] and "1 answers with offset -1" in labelled.notes[1]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (asked(3), "the answer 'cat' is not at 3 of its passage; it is at 6: correct answer_start"),
        (asked(3, "dog"), "the answer 'dog' is not at 3 of its passage; nor anywhere else in it"),
        (asked(-1, "cat"), "the answer 'cat' is not at -1 of its passage; it is at 6"),
        (asked(-1, "dog"), "no answer to 'Who?' is in its passage"),
        (asked(10**9), "is not at 1000000000"),
        (asked("6"), "the \"answer_start\" of 'cat' is a string; give a whole number"),
        (asked(True), "is a boolean"),
        (asked(6, ""), "an answer is empty"),
        (asked(6, None), 'the field "text" is null'),
        (asked(question=None), 'the field "question" is null'),
        ({"id": "q", "answers": []}, 'the field "question" is missing'),
        (asked(answers=None), "the \"answers\" of question 'q1' are null, not a list"),
        (asked(answers=["cat"]), "an answer is a string; give an object with text and answer_start"),
        (asked(is_impossible=True), "question 'q1' has both answers and is_impossible"),
        ("Who?", "a string where a question should be"),
    ],
)
def test_a_bad_question_is_refused_at_its_line(tmp_path, question, sentence):
    path = squad(tmp_path, asked(), question)
    line = path.read_text().split("\n").index("      },") + 2
    assert f"{path}:{line}: " in (message := error_of(path, "span")) and sentence in message


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        ("", 0, "no text in"),
        ("[]", 1, "not a SQuAD file"),
        ('{"version": 1}', 1, 'no field "data"'),
        ('{"data": {}}', 1, "where the list of articles should be"),
        ('{"data": [\n{"title": ""}]}', 2, 'an article without "paragraphs"'),
        ('{"data": [\n{"paragraphs": [\n{"context": "a"}]}]}', 3, 'a paragraph without "qas"'),
        ('{"data": [\n{"paragraphs": [\n{"qas": []}]}]}', 3, 'the "context" of a paragraph is null'),
        ('{"data": [\n{"paragraphs": [\n{"context": "a", "context": "b", "qas": []}]}]}', 3, "the field 'context' occurs twice"),
        ('{"data": [\n{"paragraphs": [\n', 3, "ends too early"),
        ('{"data": [\n{"paragraphs": [7]}]}', 2, "'7]}]}' where a paragraph should be"),
        ('{"data": [],\n}', 2, "where a field name should be"),
        ('{"data": []}', 0, "no examples in"),
    ],
)
def test_a_bad_file_is_refused_at_its_line(tmp_path, content, line, sentence):
    path = tmp_path / "a.json"
    path.write_text(content)
    message = error_of(path, "span")
    assert sentence in message or (sentence == "ends too early" and "the end of the file" in message)
    assert not line or f"{path}:{line}: " in message


def aligned(folder, source, target, names=("train.en", "train.fr")):
    paths = [folder / name for name in names]
    for path, lines in zip(paths, (source, target), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def test_aligned_files_given_both_or_found_by_name(tmp_path):
    source, target = aligned(tmp_path, ["A man.", "A dog."], ["Un homme.", "Un chien."])
    expected = [TranslationPair("A man.", "Un homme.", f"{source}:1"), TranslationPair("A dog.", "Un chien.", f"{source}:2")]
    assert list(read_examples([source, target], "translate").examples) == list(read_examples(source, "translate").examples) == expected
    assert guess_task(source) == guess_task([source, target]) == "translate"
    (tmp_path / "train.de").write_text("Ein Mann.\nEin Hund.\n")
    assert "train.en:1: one field; put the source, a tab" in error_of(source, "translate")  # two candidates: which is not for us to say


def test_pairs_of_lines_with_an_empty_side_are_skipped_and_reported(tmp_path):
    labelled = read_examples(aligned(tmp_path, ["A man.", "", "A dog."], ["Un homme.", "Rien.", "Un chien."]), "translate")
    assert [example.where.rpartition(":")[2] for example in labelled.examples] == ["1", "3"]
    assert "1 row has no text and is left out" in labelled.notes[0]


def test_different_counts_are_reported_with_the_likely_misalignment(tmp_path):
    source = ["word " * (3 + 7 * number % 23) for number in range(200)]
    target = ["mot " * (3 + 7 * number % 23) for number in range(200)]
    paths = aligned(tmp_path, source, target[:120] + target[121:])
    message = error_of(paths, "translate")
    assert f"{paths[0]} has 200 lines and {paths[1]} has 199; they probably diverge near line 121" in message and f"{paths[0]}:121: " in message


@settings(derandomize=True, max_examples=40, deadline=None)
@given(index=st.integers(0, 99), missing=st.integers(1, 3), seed=st.integers(0, 1000))
def test_the_break_is_found(index, missing, seed):
    lengths = np.random.default_rng(seed).integers(5, 200, 110)
    other = np.delete(lengths * 1.2, range(index, index + missing))
    assert likely_misalignment(lengths, other) == likely_misalignment(other, lengths)
    assert abs(likely_misalignment(lengths, other) - (index + 1)) <= 1


def test_an_empty_side_breaks_at_once(tmp_path):
    paths = aligned(tmp_path, ["A man."], [])
    paths[1].write_text("")
    assert "has 1 lines and" in error_of(paths, "translate") and "near line 1:" in error_of(paths, "translate")
