"""Every picture can be drawn from the data of its view."""

import base64
import itertools
import json
import struct
import zlib

import pytest

from stairs.pictures import attention, charts, labels, words
from stairs.pictures.catalogue import PICTURES, draw, picture_data, suitable_pictures
from stairs.pictures.charts import render
from stairs.pictures.climb import curves
from tests.support.gallery import OPTIONS, TEXT, TEXTS, runs

CONFUSION = {"split": "dev", "labels": ["好", "坏"], "counts": [[3, 1], [0, 4]]}
NEAR = [("soup and bread", "food", 0.9), ("很长的中文" * 40, "一个很长很长很长的标签", 0.5), ("x" * 300, "constructor", -0.1)]
NEAREST = {"text": "soup", "label": "food", "probability": 0.8, "near": [
    {"text": text, "label": label, "cosine": cosine, "where": "labels.csv:2"} for text, label, cosine in NEAR
]}  # fmt: skip


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def data(tasks):
    """Of each picture, the data of the first run that has it."""
    of_pictures = {"confusion": CONFUSION, "nearest": NEAREST}
    for task in tasks.values():
        for name in suitable_pictures(task):
            if name not in of_pictures:
                of_pictures[name] = json.loads(json.dumps(picture_data(task, name, TEXTS.get(name, TEXT), **OPTIONS.get(name, {}))))
    return of_pictures


@pytest.mark.parametrize("name", PICTURES)
def test_each_is_drawn(name, data):
    assert render(PICTURES[name].draw(data[name]), ".svg").startswith(b"<svg")


def test_one_line_from_a_task_to_a_chart(tasks):
    assert draw(tasks["bert"], "attention", TEXT, layer=1).to_dict()["width"] > 100


def test_words_that_mean_something_to_javascript_are_drawn_in_their_order():
    names = ["toString", "constructor", "a", "__proto__"]
    square = [[1.0] * 4] * 4
    steps = [{"series": name, "minutes": minute, "value": minute} for name in names for minute in (1, 2)]
    charts = [
        words.strips({"words": names, "matrix": square}),
        labels.confusion({"split": "dev", "labels": names, "counts": square}),
        curves(steps, [{"series": "valueOf", "value": 1.0}]),
        words.neighbours({"answers": [{"query": name, "near": [{"word": name, "cosine": 0.5}]} for name in names]}),
    ]
    for chart in charts:
        svg = render(chart, ".svg").decode()
        positions = [svg.index(f">{name}<") if f">{name}<" in svg else svg.index(f">{name} <") for name in names]
        assert positions == sorted(positions)


def test_boxes_run_as_text_does_and_stay_on_the_page():
    pieces = [{"name": name, "colour": charts.BLUE, "strength": 2.0, "tooltip": ""} for name in ["word", "很长的中文词"] * 40]
    placed, end = charts.place_boxes(pieces, 10)
    assert all(box["x"] < box["x2"] <= charts.WIDTH and 10 <= box["y"] < box["y2"] <= end for box in placed)
    for box, other in itertools.pairwise(placed):
        assert other["y"] > box["y"] or other["x"] >= box["x2"]
    assert {box["opacity"] for box in placed} == {charts.MAX_OPACITY}


def test_long_texts_are_wrapped_between_words_and_cut():
    assert charts.wrap("soup and bread", 500, 3) == ["soup and bread"]
    lines = charts.wrap("soup and bread " * 20, 100, 3)
    assert len(lines) == 3 and lines[2].endswith("…") and all(charts.text_width(line) <= 100 and line[0] != " " for line in lines)
    assert charts.wrap("中文" * 9, 48, 9)[0] == "中文中文" and charts.wrap("x" * 30, 70, 9) == ["x" * 10] * 3
    output = json.dumps(labels.nearest(NEAREST).to_dict(), ensure_ascii=False)
    assert "1 of the 3 nearest texts agree" in output and output.count(charts.ORANGE) == 2


def test_tokens_are_written_for_people():
    written = [charts.display_token(token) for token in (" man", "▁man", "man</w>", "\n", "人", "x" * 60)]
    assert written == ["␣man", "␣man", "man␣", "⏎", "人", "x" * 39 + "…"]
    assert charts.text_width("人人") > charts.text_width("ab")


def test_an_image_has_a_pixel_for_each_number():
    kind, coded = attention.png_image([[0.0, 1.0, 0.5], [2.0, 0.25, 0.0]], "#2f7ed8").split(",")
    png = base64.b64decode(coded)
    assert kind == "data:image/png;base64" and struct.unpack(">II", png[16:24]) == (3, 2)
    size = struct.unpack(">I", png[33:37])[0]
    rows = zlib.decompress(png[41 : 41 + size])
    assert len(rows) == 2 * (1 + 3 * 4) and rows[1:4] == bytes.fromhex("2f7ed8") and list(rows[4:13:4]) == [0, 255, 130] and rows[17] == 255


def test_a_sure_classifier_is_drawn_by_its_log_odds():
    words = [{"word": "good", "probability_drop": 0.0001, "log_odds_drop": 3.0}, {"word": "but", "probability_drop": 0.0, "log_odds_drop": -1.5}]
    output = json.dumps(labels.reasons({"text": "good but", "label": "1", "probability": 1.0, "words": words}).to_dict(), ensure_ascii=False)
    assert "log-odds" in output and "+3.0" in output and "−1.5" in output
    moved = [{**words[0], "probability_drop": 0.4}, words[1]]
    assert "+40" in json.dumps(labels.reasons({"text": "good but", "label": "1", "probability": 0.9, "words": moved}).to_dict())
