"""The commands at the end of a climb can be pasted into a shell."""

import shlex

import pytest

from stairs.comparison.next_commands import next_commands


def report(kind, recommended=True):
    return {"settings": {"task": kind}, "recommendation": {"model": "tfidf"} if recommended else None}


@pytest.mark.parametrize("folder", ["runs/climb-reviews", "runs/climb-my reviews", "runs/climb-it's $HOME; `ls`"])
def test_the_three_commands_of_a_classification_have_real_paths(folder):
    commands = [shlex.split(line) for line in next_commands(report("classify"), folder)]
    assert commands == [
        ["stairs", "ask", folder, "a new text"],
        ["stairs", "ask", folder, "--file", "new.csv", "--out", "predictions.csv"],
        ["stairs", "open", folder],
    ]


def test_without_a_recommendation_there_is_nothing_to_ask():
    assert next_commands(report("", recommended=False), "runs/climb-notes") == ["stairs open runs/climb-notes"]


def test_a_question_has_a_passage_and_a_tagger_no_table():
    assert next_commands(report("span"), "runs/c")[0] == 'stairs ask runs/c "a question" --second "a passage"'
    assert next_commands(report("tag"), "runs/c") == ['stairs ask runs/c "a new text"', "stairs open runs/c"]
