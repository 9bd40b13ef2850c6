"""report.html: all of a climb in one file, in two languages, with nothing that a browser would fetch or run."""

import json
import re

import pytest

from stairs.comparison.messages import join_names, message
from stairs.comparison.report import page, write_report
from stairs.comparison.table import report_text

BAD = '<script>alert("x")</script>'


def row(model, value, seconds, predictions, **more):
    score = {"value": value, "low": value - 0.02, "high": value + 0.02}
    return {"model": model, "run": f"classify-{model}", "metric": "accuracy", "score": score, "predictions": predictions, "seconds": seconds,
            "cpu_seconds": 2 * seconds, "ms_per_text": 0.5, "training_mb": 321.0, "answering_mb": 123.4,
            "parameters": 1000, "megabytes": 1.5, **more}  # fmt: skip


@pytest.fixture
def report(tmp_path):
    bits = {"value": 2.0, "low": 1.9, "high": 2.1}
    (tmp_path / "next-token-gpt").mkdir()
    lines = [{"step": n, "seconds": n * 60, "bits_per_character": {"value": 3 - n / 10}} for n in (1, 2)]
    (tmp_path / "next-token-gpt" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "classify-gpt").mkdir()
    measured = [{"step": n, "seconds": n * 60, "accuracy": {"value": 0.5 + n / 10}} for n in (1, 2)]
    (tmp_path / "classify-gpt" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in measured))
    rows = [
        row("tfidf", 0.80, 1.0, ["good", "bad"]),
        row("gpt", 0.81, 600.0, ["good", BAD], bits_per_character=bits, pretrained_run="next-token-gpt"),
        {"model": "bert", "not_tried": "its share of the budget was too small"},
        {"model": "elmo", "failed": f"it broke on {BAD}"},
    ]
    why = {"en": "tfidf scores 0.8000, as good as the best", "zh": "tfidf 得分 0.8000，与最好的一样好"}
    reported = {"model": "tfidf", "models": ["tfidf"], "names": {"en": "tfidf", "zh": "tfidf"}, "score": 0.8, "best": "gpt",
            "detectable_difference": 0.05, "why": why, "rule": message("rule_train")}  # fmt: skip
    test = [{"text": "a fine day", "gold": "good"}, {"text": BAD, "gold": "bad"}]
    settings = {"seed": 0, "order": 3, "task": "classify", "labelled": "0" * 64}
    counts = {"train": 8, "dev": 1, "test": 2}
    reported = {"settings": settings, "rows": rows, "recommendation": reported, "test": test, "examples": counts}
    return {**reported, "budget": 60.0, "seconds_used": 30.0, "versions": {}, "plans": {}, "command": "stairs climb --labels cats.csv"}


def test_it_says_which_and_why_in_both_languages(report, tmp_path):
    shown = write_report(report, tmp_path).read_text("utf-8")
    assert "Recommended" in shown and "推荐" in shown and "as good as the best" in shown and "与最好的一样好" in shown
    assert shown.count("<svg") == 8 and "准确率" in shown and "its share of the budget was too small" in shown
    assert "separate two models that differ by about 0.0500" in shown and "Rule: a model is as good as the best if" in shown and "规则：" in shown
    assert "<td>321</td><td>123</td>" in shown and "<td>1200.0</td><td>600.0</td>" in shown
    assert "elsewhere" not in shown
    report["rows"][0]["is_adopted"] = True
    assert "tfidf starts from weights pretrained elsewhere" in page(report, tmp_path) and "+ pretraining elsewhere" in page(report, tmp_path)
    report["recommendation"] |= {"models": ["tfidf", "gpt"], "names": join_names(["tfidf", "gpt"])}
    shown = page(report, tmp_path)
    assert "tfidf or gpt" in shown and "tfidf 或 gpt" in shown and shown.count('class="chosen"') == 2
    assert shown.count('lang="en"') == shown.count('lang="zh"')


def below(model, is_significant):
    return {"model": model, "difference": 0.1, "low": 0.01, "high": 0.2, "differing_examples": 9, "is_significant": is_significant}


def test_it_names_the_models_below_tfidf_in_one_sentence(report, tmp_path):
    assert "below tfidf" not in page(report, tmp_path)
    report["recommendation"]["below_tfidf"] = [below("elmo", True), below("gpt", True), below("bert", False)]
    shown, text = page(report, tmp_path), report_text(report)
    sentence = (
        "elmo and gpt score below tfidf, and the 95 % interval of the paired difference excludes 0; "
        "bert scores below tfidf, but the 95 % interval of the paired difference includes 0."
    )
    assert sentence in shown and sentence in text
    assert "elmo 和 gpt 的得分低于 tfidf，且配对差值的 95 % 置信区间不包含 0；bert 的得分低于 tfidf，但配对差值的 95 % 置信区间包含 0。" in shown
    assert shown.count('lang="en"') == shown.count('lang="zh"')


def test_it_says_when_a_pretrained_encoder_would_probably_pay(report, tmp_path):
    assert "stairs weights" not in page(report, tmp_path)
    report["recommendation"]["encoder_note"] = message("encoder_pays", language=message("language_en"), best=0.8)
    shown = page(report, tmp_path)
    assert "on English texts with a best score of 0.8000, one would probably pay; the command stairs weights lists" in shown and "文本是英文" in shown
    assert "stairs weights" in report_text(report)


def details(labels, count=10):
    """Of a classifier that confuses each label with the next one once."""
    confusion = [[count if i == j else int(j == (i + 1) % len(labels)) for j in range(len(labels))] for i in range(len(labels))]
    return {
        "labels": {label: {"precision": 0.9, "recall": 0.91, "f1": i / 1000, "texts": count + 1} for i, label in enumerate(labels)},
        "confused": [{"gold": labels[0], "predicted": labels[1], "texts": 1}],
        "calibration": {"error": 0.0321, "bins": [{"confidence": own, "accuracy": own - 0.05, "texts": 9} for own in (0.55, 0.95)]},
        **({"confusion": confusion} if len(labels) <= 50 else {}),
    }


def test_each_model_in_detail(report, tmp_path):
    report["rows"][0]["details"] = details([BAD, "good"])
    report["rows"][1]["details"] = {"tags": {"PER": {"precision": 0.5, "recall": 0.25, "f1": 1 / 3, "gold": 8}}}
    shown = page(report, tmp_path)
    part = shown[shown.index("Each model in detail") :].split("</section>")[0]
    assert part.count("<details") == 2 and part.count("<details open") == 1 and "<script" not in part and part.count("&lt;script&gt;") == 3
    assert "混淆矩阵" in part and "校准误差" in part and "0.032" in part and part.count("<svg") == 2
    assert ">10</td>" in part and "<td>PER</td><td>0.500</td><td>0.250</td><td>0.333</td><td>8</td>" in part
    assert shown.count('lang="en"') == shown.count('lang="zh"')


def test_of_many_labels_the_worst_are_listed_and_those_that_are_confused_most(report, tmp_path):
    report["rows"][0]["details"] = details([f"label {i}" for i in range(60)])
    shown = page(report, tmp_path)
    assert "The 50 labels with the lowest F1, of 60" in shown and "label 49" in shown and "label 50" not in shown
    assert "Confused most" in shown and 'class="matrix"' not in shown


def test_the_baseline_is_a_line_of_the_table(report, tmp_path):
    report["baseline"] = {"name": "majority", "metric": "accuracy", "score": {"value": 0.51, "low": 0.4, "high": 0.6}}
    shown = page(report, tmp_path)
    assert "always the most frequent label" in shown and "总是预测最常见的标签" in shown and "0.5100" in shown
    assert "baseline" in report_text(report) and "always the most frequent label" in report_text(report)


def test_what_is_said_of_a_model_stands_below_its_figures_across_the_whole_table(report, tmp_path):
    assert 'class="remark"' not in page(report, tmp_path)
    report["rows"][0]["training_examples"] = 7
    report["rows"][1]["beside_words"] = {"en": "it adds nothing", "zh": "没有变化"}
    shown = page(report, tmp_path)
    assert '<tr class="chosen remarked"><td>tfidf</td>' in shown and '<tr class="remarked"><td>gpt</td>' in shown
    assert '<tr class="chosen remark"><td colspan="12"><span lang="en">trained on 7 examples' in shown
    assert '<tr class="remark"><td colspan="12"><span lang="en">it adds nothing</span><span lang="zh">没有变化</span></td></tr>' in shown


def test_how_many_more_labels_would_help(report, tmp_path):
    points = [{"labels": 100 * 2**i, "score": {"value": 0.7 + i / 50, "low": 0.6, "high": 0.9}} for i in range(7)]
    report["label_curves"] = [{"model": "tfidf", "metric": "accuracy", "points": points[:4], "forecasts": points[4:]}]
    report["label_note"] = message("no_curve", model="gpt")
    shown = page(report, tmp_path)
    assert "doubling the 1,600 labels would change accuracy from 0.780 to about 0.800 (0.600 to 0.900)" in shown and "增加一倍" in shown
    assert "gpt learns by gradients" in shown and shown.count("<svg") == 10 and "doubling" in report_text(report)


def test_nothing_is_fetched_or_run(report, tmp_path):
    shown = page(report, tmp_path)
    assert "<script" not in shown and "&lt;script&gt;" in shown
    assert not re.search(r"""(src|href)=["']?(?!#)""", re.sub(r"xmlns[:\w]*=\"[^\"]*\"", "", shown))


def test_the_examples_on_which_the_models_disagree(report, tmp_path):
    shown = page(report, tmp_path)
    reported = shown[shown.index("Where they disagree") :]
    assert "a fine day" not in reported.split("</section>")[0] and "class=wrong" in reported
    report["rows"][1]["predictions"] = ["good", "bad"]
    assert "All models predict the same" in page(report, tmp_path)


def test_without_labels_there_is_no_recommendation(report, tmp_path):
    bits = {"value": 2.0, "low": 1.9, "high": 2.1}
    costs = {"seconds": 1.0, "cpu_seconds": 1.0, "parameters": 10, "megabytes": 0.1}
    report |= {"rows": [{"model": "ngram", "run": "next-token-gpt", **costs, "bits_per_character": bits}]}
    report |= {"recommendation": None, "test": [], "settings": {**report["settings"], "task": ""}}
    assert "There were no labels" in page(report, tmp_path)


def test_the_staircase_is_a_file_of_its_own(report, tmp_path):
    write_report(report, tmp_path)
    drawn = (tmp_path / "staircase.svg").read_text("utf-8")
    assert drawn.startswith("<svg") and "tfidf" in drawn and "accuracy" in drawn and "准确率" not in drawn
