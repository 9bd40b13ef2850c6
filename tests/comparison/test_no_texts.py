"""A report without the texts of the examples."""

import json

from stairs.climb_job import ClimbJob


def test_no_text_of_an_example_is_in_the_report(tmp_path):
    rows = [f"secret {'good' if number % 2 else 'bad'} film number {number},{('neg', 'pos')[number % 2]}" for number in range(40)]
    labels = tmp_path / "reviews.csv"
    labels.write_text("\n".join(["text,label", *rows]))
    out = tmp_path / "climb"
    ClimbJob(labels=str(labels), models=("tfidf",), budget="20s", out=str(out), no_texts=True).climb()
    report = json.loads((out / "report.json").read_text())
    assert report["test"][0]["text"].startswith("reviews.csv:") and report["test"][0]["gold"] in ("pos", "neg")
    assert not any("secret" in (out / name).read_text() for name in ("report.json", "report.html"))
