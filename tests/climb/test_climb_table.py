"""What a person sees of a climb: lines in a file, on a terminal a table that fills up."""

import io

import pytest
from rich.console import Console

from stairs import progress
from stairs.commands import climb_table
from stairs.commands.climb_table import Filling, Lines, line, watching, written

SCORE = {"value": 0.8, "low": 0.75, "high": 0.85}
WORDS = {"step": "words", "run": "classify-words", "score": SCORE, "seconds": 1.5, "ms_per_text": 0.1, "parameters": 12_000, "megabytes": 1.25}
GPT = {"step": "gpt", "not_tried": "its share of the budget, 3 s, is below the 10 s it needs"}


def shown(filling):
    console = Console(file=io.StringIO(), width=140)
    console.print(filling)
    return console.file.getvalue()


def test_the_table_fills_up():
    filling = Filling(600)
    filling.sees(["words", "gpt", "bert"])
    filling.begins("words")
    assert "at work" in shown(filling) and shown(filling).count("waiting") == 2
    filling.done(WORDS)
    filling.begins("gpt")
    filling.hear("step 3 of 9: [/red] loss 2.0")
    assert "0.8000 (0.7500-0.8500)" in shown(filling) and "gpt: step 3 of 9" in shown(filling) and "of 10:00 left" in shown(filling)
    filling.done(GPT)
    assert "not tried" in shown(filling)


def test_lines_where_there_is_no_terminal():
    with watching(60) as onlooker:
        assert isinstance(onlooker, Lines)
    assert line(WORDS).split() == ["words", "0.8000", "(0.7500-0.8500)", "1.50", "0.100", "12.0", "k", "1.2"]
    report = {"rows": [WORDS, GPT], "recommendation": {"step": "words", "why": "it is the only one"}}
    assert written(report).endswith("Recommended: words. it is the only one.") and "gpt          not tried: its share" in written(report)


def test_on_a_terminal_what_is_said_goes_below_the_table(monkeypatch):
    monkeypatch.setattr(progress, "shown", True)
    monkeypatch.setattr(climb_table, "Console", lambda stderr: Console(file=io.StringIO(), force_terminal=True))
    with pytest.raises(KeyboardInterrupt), watching(60) as onlooker:
        progress.say("reading")
        assert onlooker.heard == "reading"
        monkeypatch.setattr(progress, "HEARD_EVERY", 0.0)
        with progress.track("counting", total=10) as advance:
            advance(5)
        assert onlooker.heard.startswith("counting: 50%")
        raise KeyboardInterrupt
    assert progress.listener is None
