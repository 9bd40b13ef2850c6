"""Pictures of training show every number that they are given, in the colour that tells its direction."""

import json

import pytest

from stairs.pictures.charts import BLUE, GREY, ORANGE, render
from stairs.pictures.distribution import distribution
from stairs.pictures.input_rows import MASKINGS, embeddings, training_row
from stairs.pictures.one_hot import one_hot
from stairs.pictures.word_training import example_text, update, windows

TRICKS = ["constructor", "__proto__", "人工智能", "toString"]


def near(*positions):
    return [{"position": position, "weight": 0.5} for position in positions]


def texts(chart):
    return [row["text"] for part in chart.to_dict()["layer"] for row in part["data"]["values"] if "text" in row]


def window_data(kind="pairs"):
    found = [{"centre": 0, "context": near(1, 2)}, {"centre": 2, "context": near(0, 1, 3)}, {"centre": 3, "context": []}]
    return {"kind": kind, "window": 2, "tokens": TRICKS, "windows": found, "truncation": None}


def test_each_window_has_one_centre_and_its_context():
    boxes = windows(window_data()).to_dict()["layer"][0]["data"]["values"]
    by_line = {}
    for box in boxes:
        by_line.setdefault(box["y"], []).append((box["word"], box["colour"]))
    assert list(by_line.values()) == [
        [(TRICKS[0], ORANGE), (TRICKS[1], BLUE), (TRICKS[2], BLUE)],
        [(TRICKS[0], BLUE), (TRICKS[1], BLUE), (TRICKS[2], ORANGE), (TRICKS[3], BLUE)],
        [(TRICKS[3], ORANGE)],
    ]
    assert render(windows(window_data()), ".svg").count(TRICKS[2].encode()) >= 4


@pytest.mark.parametrize(("kind", "joint"), [("pairs", ", "), ("mean", " + "), ("before", " "), ("counts", ", ")])
def test_what_a_window_gives_is_written_beside_it_and_shortened_by_whole_words(kind, joint):
    assert f"{TRICKS[1]}{joint}{TRICKS[2]} → {TRICKS[0]}" in texts(windows(window_data(kind)))
    names = [f"word{number}" for number in range(40)]
    shortened = example_text(names, {"centre": 0, "context": near(*range(1, 40))}, kind)
    assert shortened.endswith(f"{joint}… → word0") and all(word in names for word in shortened.split(f"{joint}…")[0].split(joint))
    assert example_text(["x" * 90, "y" * 90], {"centre": 0, "context": near(1, 1)}, kind).endswith("x")


def test_an_update_moves_the_true_neighbour_towards_the_input_and_the_others_away():
    outputs = [
        {"word": word, "target": target, "dot": dot, "sigmoid": 0.25, "error": error, "step": error / 10, "sigmoid_after": 0.3}
        for word, target, dot, error in ((TRICKS[0], 1, 1.5, 0.75), (TRICKS[2], 0, -0.5, -0.25))
    ]
    data = {"input": TRICKS[1], "learning_rate": 0.05, "input_step": 0.01, "loss": 2.0, "loss_after": 1.5, "outputs": outputs}
    chart = update(data)
    towards, away = chart.to_dict()["layer"][1]["data"]["values"]
    assert towards["x2"] > towards["x"] and towards["colour"] == ORANGE and away["x2"] < away["x"] and away["colour"] == BLUE
    assert (towards["x2"] - towards["x"]) == pytest.approx(3 * (away["x"] - away["x2"]))
    assert {"+1.50", "−0.50", "+0.750", "−0.250", TRICKS[0], TRICKS[2]} <= set(texts(chart)) and TRICKS[2].encode() in render(chart, ".svg")


def test_embeddings_are_added_from_left_to_right():
    parts = [{"name": name, "length": 1.0, "rows": [[0.5, -0.5]] * 4} for name in ("token", "segment", "position", "sum")]
    data = {"tokens": TRICKS, "segments": [0, 0, 1, 1], "width": 8, "parts": parts, "truncation": None}
    assert [text for text in texts(embeddings(data)) if text in "+="] == ["+", "+", "="]
    two = {**data, "parts": [parts[0], parts[3]]}
    assert [text for text in texts(embeddings(two)) if text in "+="] == ["="] and "2 of 8 dimensions" in json.dumps(embeddings(data).to_dict())


def test_a_training_row_shows_what_became_of_each_target():
    tokens = [
        {"token": "[MASK]", "target": "hairy", "masking": "mask", "segment": 0},
        {"token": "apple", "target": "dog", "masking": "random", "segment": 0},
        {"token": TRICKS[0], "target": TRICKS[0], "masking": "kept", "segment": 1},
        {"token": "my", "target": None, "masking": None, "segment": 1},
    ]
    chart = training_row({"objective": "next-sentence", "label": "IsNext", "rows": 2, "row": 1, "tokens": tokens})
    boxes, headings = (part["data"]["values"] for part in chart.to_dict()["layer"])
    colours = [MASKINGS[kind][0] for kind in ("mask", "random", "kept")] + [GREY]
    assert [(box["name"], box["note"]) for box in boxes[:4]] == [("[MASK]", "hairy"), ("apple", "dog"), (TRICKS[0], TRICKS[0]), ("my", "")]
    assert [box["colour"] for box in boxes[:4]] == colours
    assert [heading["text"] for heading in headings[:2]] == ["segment 0", "segment 1; label IsNext"] and "3 of 4 tokens" in headings[2]["text"]
    assert render(chart, ".svg").startswith(b"<svg")


def test_one_hot_vectors_stand_beside_learned_ones():
    identity = [[float(i == j) for j in range(4)] for i in range(4)]
    sizes = {"indices": [5, 6, 7, 8], "vocab_size": 10, "width": 2}
    data = {"words": TRICKS, **sizes, "vectors": [[0.5, -1.0]] * 4, "one_hot_cosines": identity, "cosines": identity}
    svg = render(one_hot(data), ".svg").decode()
    assert svg.count(TRICKS[2]) >= 3 and svg.count("1.00") >= 8 and "among 10" in svg


def test_a_distribution_has_three_panels_for_each_position():
    tokens = [{"token": token, "target": float(token == "人工智能"), "before": 0.25, "after": 0.25} for token in TRICKS]
    position = {"read": "", "target": "人工智能", "bits_before": 2.0, "bits_after": 2.0, "tokens": tokens}
    data = {"text": "merci", "has_own_target": False, "positions": [position, {**position, "read": "thanks"}]}
    rows = distribution(data).to_dict()["vconcat"]
    assert [len(row["hconcat"]) for row in rows] == [3, 3] and "target after thanks" in rows[1]["hconcat"][0]["title"]["text"]
    assert "own translation" in json.dumps(distribution({**data, "has_own_target": True}).to_dict())
    assert "2.00 bits" in render(distribution(data), ".svg").decode()
