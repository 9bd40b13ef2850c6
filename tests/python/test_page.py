"""The page about Python: its examples run as they stand."""

from tests.journeys.pages import ROOT, run_examples
from tests.support.runs import REVIEWS, SENTENCES


def test_the_page_of_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("\n\n".join(SENTENCES))
    (tmp_path / "reviews.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in REVIEWS))
    run_examples(ROOT / "docs" / "python.md")
