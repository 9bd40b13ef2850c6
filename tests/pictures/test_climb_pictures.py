"""The staircase and the frontier show every model that has a score once, and no name covers another."""

import itertools

import pytest

from stairs.pictures.charts import render
from stairs.pictures.climb import curves, format_seconds, frontier, pareto_front, place_names, staircase


def row(model, value, seconds):
    score = {"value": value, "low": value - 0.02, "high": value + 0.02}
    return {"model": model, "score": score, "cpu_seconds": seconds, "ms_per_text": 1.0, "parameters": 1000, "megabytes": 0.1}


ROWS = [row("ngram", 0.71, 0.0), row("tfidf", 0.8, 2), row("gpt", 0.81, 880), row("elmo", 0.82, 900), row("bert", 0.79, 1200)]
UNSCORED = {"model": "glove", "reason": "no budget was left"}


def blocks(chart):
    return chart.to_dict()["layer"][0]["data"]["values"]


def test_a_stair_for_each_step_with_a_score():
    result = blocks(staircase([*ROWS, UNSCORED], recommended=["tfidf"]))
    assert [one["model"] for one in result] == [row["model"] for row in ROWS]
    assert all(one["x2"] == other["x"] for one, other in itertools.pairwise(result))
    deep = {one["model"]: one["x2"] - one["x"] for one in result}
    assert deep["bert"] > deep["tfidf"] and [one["model"] for one in result if one["colour"] != result[0]["colour"]] == ["tfidf"]


def test_long_names_are_broken_and_make_no_stair_deeper_than_another():
    result = blocks(staircase([row("a-name-of-many-parts", 0.7, 60), row("unbreakablelongname", 0.8, 60)]))
    assert result[0]["name"] == ["a-name-of-many-", "parts"] and result[1]["name"] == ["unbreakablelongname"]
    assert abs((result[0]["x2"] - result[0]["x"]) - (result[1]["x2"] - result[1]["x"])) < 1e-9


def test_an_encoder_that_is_read_beside_words_is_marked():
    result = blocks(staircase([row("gpt", 0.7, 0), {**row("bert", 0.8, 0), "insert": "beside"}, {**row("elmo", 0.8, 0), "insert": "input"}]))
    assert [one["name"] for one in result] == [["gpt"], ["bert", "+ words"], ["elmo"]]


def test_the_frontier_is_of_steps_that_beat_all_cheaper_ones():
    assert pareto_front(ROWS) == {"ngram", "tfidf", "gpt", "elmo"}
    assert pareto_front([row("a", 0.5, 1), row("b", 0.5, 2), row("c", 0.6, 1)]) == {"c"}


def test_names_of_crowded_points_do_not_cover_one_another():
    placed = place_names(["elmo", "gpt", "bert", "transformer"], [(300, 100), (301, 108), (315, 92), (620, 100)])
    for one, other in itertools.combinations(placed, 2):
        assert abs(one["x"] - other["x"]) > 20 or abs(one["y"] - other["y"]) >= 12
    assert placed[-1]["x"] < 620  # the last has no room on its right


@pytest.mark.parametrize("rows", [[], [UNSCORED], ROWS[:1], [*ROWS, UNSCORED]])
@pytest.mark.parametrize("picture", [staircase, frontier])
def test_few_and_many_are_drawn(picture, rows):
    assert render(picture(rows), ".svg").startswith(b"<svg")


def test_times_are_formatted():
    assert [format_seconds(seconds) for seconds in (0.04, 5, 99, 600, 7200)] == ["0.04 s", "5 s", "99 s", "10 min", "2.0 h"]


def test_a_line_for_each_series_and_a_rule_for_each_level():
    points = [{"series": "gpt", "minutes": m, "value": 3 / (1 + m)} for m in range(4)] + [{"series": "nnlm", "minutes": 1, "value": 2.0}]
    chart = curves(points, [{"series": "5-gram", "value": 1.9}])
    rules, lines = chart.to_dict()["layer"]
    assert lines["data"]["values"] == points and rules["data"]["values"] == [{"series": "5-gram", "value": 1.9}]
    svg = render(chart, ".svg").decode()
    assert svg.index(">5-gram<") < svg.index(">gpt<") < svg.index(">nnlm<")
