"""Masks with several parts, and the patterns of sparse attention: each cell is one that the model reads, each count that of the cells."""

import dataclasses

import numpy as np
import pytest
import torch

from stairs.inspection.masks import layer_masks, mask, patterns
from stairs.inspection.tokens import tokenize
from stairs.layers.patterns import SparsePattern
from stairs.models import MODELS
from stairs.pictures.attention import png_image
from stairs.pictures.charts import BLUE, GREY, ORANGE
from stairs.pictures.masks import mask as draw_mask
from stairs.pictures.masks import patterns as draw_patterns
from tests.support.gallery import TEXT, runs

SPARSE = {"attention_pattern": "sparse", "radius": 2, "block": 2, "global_blocks": 1, "random_blocks": 1}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


def variant(task, **settings):
    return type(task)(MODELS[task.model_name](dataclasses.replace(task.model.config, **settings)).eval(), task.tokenizer)


def kinds(data, number):
    return np.array(data["patterns"][number]["kinds"])


@pytest.mark.parametrize("name", ["elmo", "classify by elmo"])
def test_an_elmo_has_two_triangles(tasks, name):
    data = mask(tasks[name], TEXT)
    forward, backward = (np.array(part["mask"]) for part in data["parts"])
    assert np.array_equal(forward, np.tri(len(forward))) and np.array_equal(backward, forward.T) and np.array(data["mask"]).all()
    assert [part["name"] for part in data["parts"]] == ["forward language model", "backward language model"]
    assert len(draw_mask(data).to_dict()["vconcat"][0]["hconcat"]) == 2


def test_each_triangle_is_what_the_language_model_reads(tasks):
    """A changed word changes the hidden states of those that read it, and no others."""
    task = tasks["elmo"]
    first, second = (tokenize(task, text).batch for text in ("soup and rain in Rome", "soup and snow in Rome"))
    size = task.model.config.width
    change = (task.model.hidden_states(first)[-1] - task.model.hidden_states(second)[-1]).abs()[0]
    triangles = [torch.tensor(part["mask"]) for part in mask(task, "soup and rain in Rome")["parts"]]
    for half, triangle in zip((change[:, :size], change[:, size:]), triangles, strict=True):
        assert torch.equal(half.amax(1) > 0, triangle[:, 3] > 0)


def test_the_mask_of_a_window_is_a_band(tasks):
    for name, ahead in (("gpt", 0), ("bert", 1)):
        data = mask(variant(tasks[name], attention_pattern="window", radius=2), TEXT)
        shown, at = np.array(data["mask"]), np.arange(len(data["tokens"]))
        distances = at - at[:, None]
        assert np.array_equal(shown > 0, (distances >= -2) & (distances <= 2 * ahead)) and not data["parts"]


def test_layers_with_other_random_blocks_are_shown_beside_each_other(tasks):
    task = variant(tasks["bert"], **SPARSE)
    long = " ".join([TEXT] * 2)
    data, row = mask(task, long), tokenize(task, long)
    assert [part["name"] for part in data["parts"]] == ["layer 0", "layer 1"] and data["parts"][0]["mask"] != data["parts"][1]["mask"]
    ids = torch.arange(len(row.tokens))
    for layer, (part, allowed) in enumerate(zip(data["parts"], layer_masks(task.model, row), strict=True)):
        expected = SparsePattern(2, 2, 1, 1, task.model.config.context, seed=layer).allows(ids, ids, False)
        assert torch.equal(allowed, expected) and np.array_equal(np.array(part["mask"]) > 0, expected)
    assert len(draw_mask(data).to_dict()["vconcat"][0]["hconcat"]) == 2


def test_the_mixtures_of_a_linformer_are_those_of_its_projection(tasks):
    task = variant(tasks["bert"], attention_pattern="linformer", rank=4)
    data = mask(task, TEXT)
    (part,) = data["parts"]
    weight = task.model.linformer[0].keys.weight[:, : len(data["tokens"])].detach().abs()
    assert np.allclose(part["mask"], weight / weight.max(), atol=6e-3) and len(part["rows"]) == 4 and np.array(data["mask"]).all()
    assert "mixture 3" in str(draw_mask(data).to_dict())


def test_patterns_are_counted_for_the_text(tasks):
    for name, is_causal in (("gpt", True), ("bert", False), ("transformer", False)):
        data = patterns(tasks[name], TEXT)
        length = len(data["tokens"])
        scores = [one["scores"] for one in data["patterns"]]
        assert scores == [int((kinds(data, number) != "").sum()) for number in range(4)]
        assert scores[0] == (length * (length + 1) // 2 if is_causal else length**2) and scores[3] == 4 * length
        assert all(np.array_equal(kinds(data, number) != "", np.tril(kinds(data, number)) != "") for number in range(3)) == is_causal
        assert scores[1] < scores[2] < scores[0] and set(kinds(data, 2).flat) == {"", "window", "global", "random"}
        assert [one["name"].endswith(f"as this {name}") for one in data["patterns"]] == [True, False, False, False]
    drawn = str(draw_patterns(data).to_dict())
    sparse = kinds(data, 2)
    for kind, colour in (("window", BLUE), ("global", ORANGE), ("random", GREY)):
        assert png_image((sparse == kind).astype(float).tolist(), colour) in drawn
    assert f"{scores[2]} scores" in drawn


def test_scores_of_patterns_grow_with_the_length_and_all_pairs_with_its_square(tasks):
    once, twice = ([one["scores"] for one in patterns(tasks["bert"], " ".join([TEXT] * count))["patterns"]] for count in (1, 2))
    growth = [late / early for early, late in zip(once, twice, strict=True)]
    assert growth[0] > 2.9 and growth[1] < 2.2 and growth[3] < 2


def test_the_pattern_of_a_run_has_its_own_sizes_and_is_its_mask(tasks):
    task = variant(tasks["gpt"], **SPARSE | {"radius": 4})
    data = patterns(task, TEXT)
    assert data["patterns"][2]["name"] == "window, 1 global block and 1 random block of 2, as this gpt"
    assert np.array_equal(kinds(data, 2) != "", layer_masks(task.model, tokenize(task, TEXT))[0])
    assert patterns(variant(tasks["bert"], attention_pattern="linformer", rank=3), TEXT)["patterns"][3]["scores"] == 3 * len(
        patterns(tasks["bert"], TEXT)["tokens"]
    )
