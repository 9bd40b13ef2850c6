"""Files of multiple choice: where the context, the choices and the right one stand, and what is refused."""

import json

import pytest

from stairs.errors import BadInput
from stairs.text.labelled import guess_task, read_examples
from stairs.text.labelled.split import find_groups

SWAG = """,video-id,startphrase,sent1,gold-source,ending0,ending1,ending2,label
0,a,She opens the hood. She,She opens the hood.,gold,checks the oil,eats,sings,0
1,a,He sits down. He,He sits down.,gold,flies,eats,sings,1
"""
COPA = "premise,choice1,choice2,question,label\nThe man fell.,He was hurt.,He flew.,effect,0\nIt rained.,It was dry.,The street is wet.,effect,1\n"


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert guess_task(path) == "choose"
    return read_examples(path)


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_column_for_each_choice(tmp_path):
    swag = read(tmp_path, "swag.csv", SWAG)
    assert [(one.context, one.right_choice) for one in swag.examples] == [("She opens the hood. She", "checks the oil"), ("He sits down. He", "eats")]
    choices = "choices from 'ending0', 'ending1', 'ending2'"
    assert swag.columns == f"context from 'startphrase', {choices}, the right one from 'label' by its number from 0 (guessed)"
    copa = read(tmp_path, "copa.csv", COPA)
    assert [one.right_choice for one in copa.examples] == ["He was hurt.", "The street is wet."]  # a 0 among the numbers counts from 0
    assert copa.examples[0].context == "The man fell. effect"


def test_different_numbers_of_choices_and_a_right_one_by_letter_or_text(tmp_path):
    quiz = read(tmp_path, "quiz.tsv", "question\tA\tB\tC\tanswer\nwhat ?\tthis\tthat\t\tB\nwho ?\tme\tyou\tthey\tC\n")
    assert [(one.choices, one.right) for one in quiz.examples] == [(("this", "that"), 1), (("me", "you", "they"), 2)]
    texts = read(tmp_path, "sums.csv", "question,option1,option2,answer\n1 + 1,1,2,2\n1 + 2,3,1,3\n")
    assert [one.right_choice for one in texts.examples] == ["2", "3"]


def test_choices_in_a_list(tmp_path):
    race = [{"article": "Tom went home.", "question": question, "options": ["Tom", "home", "Rome"][:count], "answer": "AB"[right]}
            for question, count, right in (("Who?", 2, 0), ("Where?", 3, 1))]  # fmt: skip
    labelled = read(tmp_path, "race.jsonl", lines(*race))
    assert [(one.context, one.right_choice) for one in labelled.examples] == [("Tom went home. Who?", "Tom"), ("Tom went home. Where?", "home")]
    assert len(find_groups(labelled.examples)) == 1  # the questions about a passage are never split
    named = [{"question": "what ?", "choices": {"label": ["x", "y"], "text": ["this", "that"]}, "answerKey": right} for right in "xy"]
    assert [one.right_choice for one in read(tmp_path, "named.jsonl", lines(*named)).examples] == ["this", "that"]


def test_columns_can_be_named(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("begin,one,two,which\na b,c,d,1\na c,c,d,2\n")
    labelled = read_examples(path, "choose", columns={"text": "begin", "second_column": "one,two", "label": "which"})
    assert [one.right_choice for one in labelled.examples] == ["c", "d"]
    with pytest.raises(BadInput, match=r"own.csv:1: no column for the context among 'begin', 'one', .*; name it with --text=NAME"):
        read_examples(path, "choose")


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.csv", COPA + "a,b,c,effect,7\n", "a.csv:4: the right answer 'label' is '7', which is none of the 2 choices by its number from 0"),
        ("a.csv", COPA + "a,b,,effect,0\n", "a.csv:4: 1 choice to choose from; give at least two"),
        ("a.csv", SWAG + "3,a,He,He,gold,flies,,sings,1\n", "a.csv:4: the choice 'ending1' is empty and a later one is not"),
        ("a.jsonl", lines({"ctx": "a", "endings": ["b", ""], "label": 0}), "a.jsonl:1: choice 2 of 'endings' is empty"),
        ("a.jsonl", lines({"ctx": "a", "endings": ["b", "c"], "label": 0}, {"ctx": "a", "endings": "b", "label": 0}),
            "a.jsonl:2: the choices 'endings' are a string, not a list of texts"),
        ("a.jsonl", lines({"ctx": "a", "endings": ["b", "c"], "label": "d"}), "the right answer 'label' is 'd', which is none of the 2 choices"),
    ],
)  # fmt: skip
def test_what_nobody_can_choose_from_is_refused_with_its_line(tmp_path, name, text, sentence):
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput) as refused:
        read_examples(tmp_path / name)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_an_empty_context_is_skipped_and_counted(tmp_path):
    labelled = read(tmp_path, "a.csv", COPA + ",b,c,,1\n")
    assert len(labelled.examples) == 2 and "1 row has no text and is left out" in labelled.notes[0]
