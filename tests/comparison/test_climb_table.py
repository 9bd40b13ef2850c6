"""How a climb is shown: lines in a file, on a terminal a table that fills up."""

import io

import pytest
from rich.console import Console

from stairs import progress
from stairs.comparison import table
from stairs.comparison.table import LineObserver, TableObserver, observe, report_text, row_line

SCORE = {"value": 0.8, "low": 0.75, "high": 0.85}
TFIDF = {"model": "tfidf", "run": "classify-tfidf", "score": SCORE, "seconds": 1.5, "cpu_seconds": 2.25,
         "ms_per_text": 0.1, "training_mb": 30.4, "answering_mb": None, "parameters": 12_000, "megabytes": 1.25}  # fmt: skip
GPT = {"model": "gpt", "not_tried": "its share of the budget, 3 s, is below the 10 s it needs"}


def shown(observer):
    console = Console(file=io.StringIO(), width=180)
    console.print(observer)
    return console.file.getvalue()


def test_the_table_fills_up():
    above = io.StringIO()
    observer = TableObserver(600, Console(file=above, width=180))
    observer.on_start(["tfidf", "gpt", "bert"])
    observer.on_model_begin("tfidf")
    assert "training" in shown(observer) and shown(observer).count("waiting") == 2
    observer.on_model_end(TFIDF)
    observer.on_model_begin("gpt")
    observer.show_line("step 3 of 9: [/red] loss 2.0")
    assert "0.8000 (0.7500-0.8500)" in shown(observer) and "gpt: step 3 of 9" in shown(observer) and "of 10:00 left" in shown(observer)
    observer.on_model_end(GPT)
    assert "not tried" in shown(observer)
    observer.on_model_end({name: value for name, value in TFIDF.items() if name not in ("score", "ms_per_text")} | {"validation": {"value": 0.75}})
    assert "0.7500 (validation)" in shown(observer)
    observer.on_evaluation(TFIDF)
    assert "0.8000 (0.7500-0.8500)" in shown(observer)
    observer.on_first_recommendation("First recommendation: [tfidf].")
    assert above.getvalue() == "First recommendation: [tfidf].\n"


def test_lines_where_there_is_no_terminal():
    with observe(60) as observer:
        assert isinstance(observer, LineObserver)
    assert row_line(TFIDF).split() == ["tfidf", "0.8000", "(0.7500-0.8500)", "2.25", "1.50", "0.100", "30", "12.0", "k", "1.2"]
    recommendation = {"models": ["tfidf", "ngram"], "names": {"en": "tfidf or ngram"}, "why": {"en": "They tie."}, "rule": {"en": "The rule."},
        "detectable_difference": 0.1}
    report = {"rows": [TFIDF, GPT, TFIDF | {"model": "mini", "is_adopted": True}], "recommendation": recommendation, "examples": {"test": 20}}
    text = report_text(report)
    assert "Recommended: tfidf or ngram. They tie.\n20 test examples separate" in text and text.endswith("The rule.")
    assert f"{'gpt':19} not tried: its share" in text and "mini: 2.2 CPU s + pretraining elsewhere" in text


def test_on_a_terminal_what_is_said_goes_below_the_table(monkeypatch):
    monkeypatch.setattr(progress, "bars_enabled", True)
    monkeypatch.setattr(table, "Console", lambda stderr: Console(file=io.StringIO(), force_terminal=True))
    with pytest.raises(KeyboardInterrupt), observe(60) as observer:
        progress.say("reading")
        assert observer.last_line == "reading"
        monkeypatch.setattr(progress, "LISTENER_INTERVAL", 0.0)
        with progress.track("counting", total=10) as advance:
            advance(5)
        assert observer.last_line.startswith("counting: 50%")
        raise KeyboardInterrupt
    assert progress.listener is None
