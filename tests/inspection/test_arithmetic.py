"""The arithmetic of a head is the model's own: with every kind of positions, score and pattern its steps lead to the weights and the result."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from stairs.errors import BadInput, Unsupported
from stairs.inspection.attention_arithmetic import arithmetic, head_numbers, last_attention, multiplied_vectors
from stairs.inspection.tokens import tokenize
from stairs.layers.attention import make_score, scaled_dot
from stairs.models import MODELS
from stairs.pictures.attention_arithmetic import display_number
from stairs.pictures.catalogue import suitable_pictures
from stairs.tasks import NextToken
from tests.support.gallery import TEXT, runs

VARIANTS = {
    "rotary": {"positions": "rotary"},
    "relative": {"positions": "relative", "max_distance": 2},
    "buckets": {"positions": "buckets"},
    "no positions": {"positions": "none"},
    "sinusoidal": {"positions": "sinusoidal"},
    "window": {"attention_pattern": "window", "radius": 2},
    "sparse": {"attention_pattern": "sparse", "radius": 2, "block": 2, "global_blocks": 1, "random_blocks": 1},
    "dot": {"score": "dot"},
    "folded": {"score": "folded"},
    "bilinear": {"score": "bilinear"},
    "scaled projected": {"score": "scaled-projected"},
    "relative projected": {"score": "scaled-projected", "positions": "relative", "max_distance": 3},
    "shared": {"share_projections": "kv"},
}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


def variant(task, **settings):
    """The same task with a model of these settings, whose weights are larger than untrained ones, so that no step is trivial."""
    model = MODELS[task.model_name](dataclasses.replace(task.model.config, **settings)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "blocks" in name:
                weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)), alpha=0.2)
    return type(task)(model, task.tokenizer)


def check_steps(task, layer=1, head=1):
    """From the products on, every step by hand."""
    data = arithmetic(task, TEXT, layer=layer, head=head)
    numbers = head_numbers(task, tokenize(task, TEXT), layer, head, 0)
    weights = task.model.attention_weights(tokenize(task, TEXT).batch)[layer][0, head]
    assert torch.equal(numbers.weights, weights)
    assert np.allclose(data["weights"], weights, atol=6e-5)
    steps, at = data["steps"], data["steps"]["position"]
    keys, values = np.array(steps["keys"]), np.array(steps["values"])
    assert np.allclose(keys @ steps["query"], steps["products"], atol=5e-3)
    scores = np.array(steps["products"]) / data["divisor"] + (steps["added"] or 0.0)
    masked = np.array([-np.inf if number is None else number for number in steps["masked"]])
    assert np.allclose(scores[np.isfinite(masked)], masked[np.isfinite(masked)], atol=5e-3)
    powers = np.exp(masked - masked.max())
    assert np.allclose(powers / powers.sum(), steps["weights"], atol=5e-4) and np.allclose(steps["weights"], data["weights"][at])
    assert np.allclose(np.array(steps["weights"])[:, None] * values, steps["weighted"], atol=5e-4)
    assert np.allclose(np.sum(steps["weighted"], 0), steps["result"], atol=2e-3) and np.allclose(steps["result"], data["result"][at])
    return data


@pytest.mark.parametrize("name", ["gpt", "bert", "transformer", "classify", "tag", "vectors"])
def test_every_model_with_attention(tasks, name):
    data = check_steps(tasks[name])
    hidden = np.array([[number is None for number in row] for row in data["masked"]])
    assert np.array_equal(hidden, ~np.tri(len(hidden), dtype=bool)) if name == "gpt" else not hidden.any()
    assert data["divisor"] == math.sqrt(data["width"])


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("name", ["gpt", "bert"])
def test_every_kind_of_attention(tasks, name, settings):
    data = check_steps(variant(tasks[name], **settings))
    assert (data["steps"]["added"] is not None) == (settings.get("positions") in ("relative", "buckets"))
    assert (data["divisor"] == 1) == (settings.get("score") in ("dot", "folded", "bilinear"))


def test_relative_positions_add_to_scores_and_values(tasks):
    task = variant(tasks["gpt"], positions="relative", max_distance=2)
    row = tokenize(task, TEXT)
    attention = task.model.blocks[0].attention
    call = last_attention(task.model, row.batch, attention)
    numbers = head_numbers(task, row, 0, 0, 5)
    of_distance = attention.positions.value_vectors.weight
    assert torch.allclose(numbers.values[4], call.value[0, 0, 4] + of_distance[2 - 1], atol=1e-6)
    assert torch.allclose(numbers.values[0], call.value[0, 0, 0] + of_distance[0], atol=1e-6)  # five away counts as two


def test_watching_an_attention_leaves_it_as_it_was(tasks):
    task = tasks["gpt"]
    attention = task.model.blocks[0].attention
    before = task.model.encode(tokenize(task, TEXT).batch)
    arithmetic(task, TEXT)
    assert "attend" not in attention.__dict__ and torch.equal(task.model.encode(tokenize(task, TEXT).batch), before)


def test_the_steps_of_note_and_paper():
    """Two keys with the products 112 and 96 in 64 dimensions: divided by 8 they are 14 and 12, and the softmax is 0.88 and 0.12."""
    query, key = torch.zeros(1, 64), torch.zeros(2, 64)
    query[0, 0], key[0, 0], key[1, 0] = 1, 112, 96
    q, k, divisor = multiplied_vectors(scaled_dot, query, key)
    assert divisor == 8 and (q @ k.T / divisor).tolist() == [[14, 12]]
    assert [display_number(weight) for weight in scaled_dot(query, key).softmax(-1)[0].tolist()] == ["0.88", "0.12"]
    assert [display_number(number) for number in (-0.001, -3.14159, 42.42, -112.4)] == ["0.00", "−3.14", "42.4", "−112"]


def test_a_word_by_spelling_or_position_and_the_last_one_if_none_is_given(tasks):
    positions = {word: arithmetic(tasks["bert"], "soup and rain", word=word)["steps"]["position"] for word in ("soup", "and", "2", None)}
    assert positions == {"soup": 1, "and": 2, "2": 2, None: 3}
    long = arithmetic(tasks["bert"], TEXT + TEXT * 2)
    assert len(long["tokens"]) == 20 and "are shown" in long["truncation"] and long["tokens"][long["steps"]["position"]] == "."
    with pytest.raises(BadInput, match="'snow' is not in the text"):
        arithmetic(tasks["bert"], TEXT, word="snow")


def test_what_has_no_such_arithmetic_is_one_sentence(tasks):
    with pytest.raises(Unsupported, match="not products of two vectors; draw attention"):
        arithmetic(variant(tasks["gpt"], score="additive"), TEXT)
    with pytest.raises(Unsupported, match="not products"):
        multiplied_vectors(make_score("additive", 4, 4), torch.zeros(1, 4), torch.zeros(1, 4))
    linformer = variant(tasks["bert"], attention_pattern="linformer", rank=4)
    assert not {"arithmetic", "attention", "lines", "heads"} & set(suitable_pictures(linformer))
    assert {"mask", "patterns", "receptive-field"} <= set(suitable_pictures(linformer))
    assert isinstance(tasks["gpt"], NextToken) and "arithmetic" in suitable_pictures(tasks["gpt"])
