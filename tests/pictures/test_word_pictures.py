"""Pictures of word vectors: everything given is drawn, no name covers another, and Chinese can be read."""

import itertools
import shutil
import subprocess

import numpy as np
import pytest

from stairs.pictures.words import HEIGHT, WIDTH, MapFrame, analogy, snapshots, strips, words_map

WORDS = ["king", "queen", "国王", "女王", "a much longer word"]


def spread(words, seed=0):
    random = np.random.default_rng(seed)
    return [{"word": word, "x": float(x), "y": float(y)} for word, (x, y) in zip(words, random.normal(size=(len(words), 2)), strict=True)]


def layers(chart):
    layers = chart.to_dict()["layer"]
    return {(layer["mark"]["type"] if isinstance(layer["mark"], dict) else layer["mark"]): layer for layer in layers}


def names(chart):
    return [entry["word"] for entry in layers(chart)["text"]["data"]["values"]]


def test_a_map_has_a_dot_and_a_name_for_each_word(tmp_path):
    points = spread(WORDS)
    chart = words_map({"points": points})
    assert layers(chart)["circle"]["data"]["values"] == points and names(chart) == WORDS
    assert "color" not in layers(chart)["circle"]["encoding"]
    chart.save(tmp_path / "map.svg")
    drawn = (tmp_path / "map.svg").read_text("utf-8")
    assert all(word in drawn for word in WORDS)


def test_groups_have_colours_in_the_order_they_come():
    points = [{**point, "group": group} for point, group in zip(spread(WORDS), "zzyyx", strict=True)]
    assert layers(words_map({"points": points}))["circle"]["encoding"]["color"]["sort"] == ["z", "y", "x"]


def boxes(points, all_names=False):
    frame = MapFrame(points)
    for name in frame.place_labels(points, all_names, ()):
        x, y = frame.pixels({"x": name["name_x"], "y": name["name_y"]})
        yield x, y, 12 * len(name["word"]) * 0.58, 12


def test_no_name_covers_another_nor_leaves_the_picture_and_crowded_ones_are_left_out():
    points = spread([f"word{i}" for i in range(120)])
    placed = list(boxes(points))
    assert 30 < len(placed) < 120
    for (x, y, width, height), (other_x, other_y, other_width, other_height) in itertools.combinations(placed, 2):
        assert abs(x - other_x) >= (width + other_width) / 2 - 1e-6 or abs(y - other_y) >= (height + other_height) / 2 - 1e-6
    assert all(width / 2 <= x + 1e-6 and x <= WIDTH - width / 2 + 1e-6 and 0 <= y <= HEIGHT for x, y, width, _ in placed)


def test_one_unit_is_as_long_across_as_it_is_up():
    encoding = layers(words_map({"points": [{"word": "a", "x": 0, "y": 0}, {"word": "b", "x": 3, "y": 1}]}))["circle"]["encoding"]
    across, up = (encoding[axis]["scale"]["domain"] for axis in "xy")
    assert (across[1] - across[0]) / WIDTH == pytest.approx((up[1] - up[0]) / HEIGHT)


@pytest.mark.parametrize("points", [[], [{"word": "alone", "x": 1.0, "y": 2.0}], [{"word": word, "x": 0.0, "y": 0.0} for word in WORDS]])
def test_no_word_one_word_and_words_in_one_place_can_be_drawn(points, tmp_path):
    words_map({"points": points}).save(tmp_path / "few.svg")
    assert (tmp_path / "few.svg").read_text().startswith("<svg")


def test_strips_have_a_cell_for_each_number_in_the_order_of_the_words():
    matrix = np.array([[0.5, -0.25, 0.0], [1.0, 2.0, -3.0]], np.float32)
    chart = strips({"words": ["王", "king"], "matrix": matrix.tolist()}).to_dict()
    cells = chart["data"]["values"]
    assert [(cell["word"], cell["value"]) for cell in cells] == [("王", 0.5), ("王", -0.25), ("王", 0), ("king", 1), ("king", 2), ("king", -3)]
    assert chart["encoding"]["y"]["sort"] is None  # in the order of the data
    low, high = chart["encoding"]["color"]["scale"]["domain"]
    assert -low == high > 0


def test_an_analogy_draws_its_arrows_towards_the_head():
    points = [{"word": word, "x": x, "y": y} for word, x, y in (("man", 0.0, 0.0), ("king", 0.0, 2.0), ("woman", 3.0, 0.0), ("sum", 3.0, 2.0))]
    chart = analogy({"points": points, "arrows": [["man", "king"], ["woman", "sum"], ["king", "sum"]], "near": []})
    arrows = layers(chart)["point"]["data"]["values"]
    assert [arrow["angle"] for arrow in arrows] == pytest.approx([0, 0, 90])
    assert all(1.5 < arrow["y2"] < 2 for arrow in arrows[:2]) and 2.5 < arrows[2]["x2"] < 3
    assert sorted(names(chart)) == ["king", "man", "sum", "woman"]


def test_snapshots_draw_a_path_per_word_and_the_name_at_its_end():
    points = [{"word": word, "x": float(epoch), "y": float(number), "epoch": epoch} for epoch in (2, 0, 1) for number, word in enumerate(("a", "b"))]
    drawn = layers(snapshots(points))
    assert [entry["epoch"] for entry in drawn["trail"]["data"]["values"]] == [0, 0, 1, 1, 2, 2]
    assert [(entry["word"], entry["epoch"]) for entry in drawn["circle"]["data"]["values"]] == [("a", 2), ("b", 2)]


def test_chinese_names_can_be_read_in_a_png(tmp_path):
    if shutil.which("fc-list") is None:
        pytest.skip("there is no fc-list to ask for a font with Chinese characters")
    if not subprocess.run(["fc-list", ":lang=zh"], capture_output=True, text=True).stdout.strip():
        pytest.skip("no font with Chinese characters is installed; fonts-noto-cjk has one")
    pictures = []
    for word in ("猫", "狗"):
        words_map({"points": [{"word": word, "x": 0.0, "y": 0.0}]}).save(tmp_path / "map.png")
        pictures.append((tmp_path / "map.png").read_bytes())
    assert pictures[0] != pictures[1]  # without a font, either would be the same empty box
