"""Pictures of translations: every token has its place, equal ones too."""

from stairs.pictures.charts import display_token
from stairs.pictures.translation import against_length, alignment, beam_tree

TEXTS = {"text": "a man a", "translation": "un un"}
STEP = {"log_probability": -1.0, "is_finished": False}


def test_equal_tokens_have_rows_of_their_own():
    chart = alignment({**TEXTS, "source": ["a", " man", "a"], "target": ["un", "un"], "weights": [[0.2, 0.3, 0.5], [1, 0, 0]]}).to_dict()
    cells = chart["data"]["values"]
    assert len(cells) == 6 and len({cell["source"] for cell in cells}) == 3 and len({cell["target"] for cell in cells}) == 2
    assert chart["encoding"]["x"]["sort"] == ["0 a", "1 ␣man", "2 a"]


def test_a_tree_joins_each_beginning_to_what_it_continues():
    steps = [
        [{**STEP, "parent": 0, "token": "un", "rank": 0}, {**STEP, "parent": 0, "token": "une", "rank": 1}],
        [{**STEP, "parent": 1, "token": "femme", "rank": 0}, {**STEP, "parent": 0, "token": "[SEP]", "rank": None, "is_finished": True}],
        [{**STEP, "parent": 0, "token": "x", "rank": None}],
    ]
    chart = beam_tree({**TEXTS, "steps": steps}).to_dict()
    lines = chart["layer"][0]["data"]["values"]
    joined = [(line["x"], line["y"], line["x2"], line["y2"]) for line in lines]
    assert joined == [(0, 0, 1, 0), (0, 0, 1, 1), (1, 1, 2, 0), (1, 0, 2, 1), (2, 0, 3, 0)]
    assert [line["state"] for line in lines] == ["kept", "kept", "kept", "finished", "pruned"]
    assert beam_tree({**TEXTS, "steps": []}).to_dict()


def test_spaces_are_shown_and_lengths_drawn():
    assert (display_token(" man"), display_token("▁man"), display_token("man"), display_token("人")) == ("␣man", "␣man", "man", "人")
    point = {"run": "a", "length": 3, "score": 1.0, "low": 0.5, "high": 1.0}
    assert len(against_length([point], "BLEU", "words").to_dict()["layer"]) == 2
