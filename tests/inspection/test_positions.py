"""The curves of a position encoding are columns of the run's own table."""

import dataclasses

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.inspection.positions import choose_dimensions, waves
from stairs.layers.attention_positions import distance_buckets
from stairs.models import MODELS
from stairs.pictures.catalogue import picture_data, suitable_pictures
from stairs.pictures.positions import waves as draw
from tests.support.gallery import runs


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


def variant(task, **settings):
    return type(task)(MODELS[task.model_name](dataclasses.replace(task.model.config, **settings)).eval(), task.tokenizer)


def test_dimensions_4_to_7_of_20_over_100_positions(tasks):
    """The picture of the notes, from the formula."""
    data = waves(variant(tasks["gpt"], positions="sinusoidal", width=20, context=128))
    dimensions = np.array([4, 5, 6, 7])
    angles = np.arange(100)[None] / 10000 ** (2 * (dimensions // 2) / 20)[:, None]
    expected = np.where(dimensions[:, None] % 2, np.cos(angles), np.sin(angles))
    assert np.allclose(data["curves"], expected, atol=6e-5)
    assert data["dimensions"] == [4, 5, 6, 7] and data["width"] == 20 and data["axis"] == "position" and data["first"] == 0
    assert "sinusoidal positions: 4 of 20 dimensions, positions 0 to 99" in str(draw(data).to_dict())


def test_learned_ones_have_their_own_columns(tasks):
    data = picture_data(tasks["bert"], "waves", dimensions="0,9-10")
    assert data["dimensions"] == [0, 9, 10] and data["kind"] == "learned"
    assert np.allclose(np.array(data["curves"]).T, tasks["bert"].model.positions.weight[:, [0, 9, 10]].detach(), atol=6e-5)


def test_positions_inside_the_attention_have_curves_over_distances(tasks):
    relative = variant(tasks["gpt"], positions="relative", max_distance=3)
    data = waves(relative, dimensions="1")
    assert data["axis"] == "distance" and data["first"] == -3 and len(data["curves"][0]) == 7
    assert np.allclose(data["curves"][0], relative.model.blocks[0].attention.positions.key_vectors.weight[:, 1].detach(), atol=6e-5)
    for name, last in (("gpt", 0), ("bert", 49)):
        task = variant(tasks[name], positions="buckets")
        data = waves(task)
        table = task.model.blocks[0].attention.positions
        distances = torch.arange(data["first"], last + 1)
        assert data["first"] == -50 and data["dimensions"] == [0, 1] and len(data["curves"][0]) == len(distances)
        assert np.allclose(data["curves"], table.table.weight[distance_buckets(distances, name == "gpt")].T.detach(), atol=6e-5)
    xl = variant(tasks["bert"], positions="transformer-xl")
    at_zero = waves(xl, dimensions="1")["curves"][0][50]  # of no distance: sines 0, cosines 1
    projection = xl.model.blocks[0].attention.positions.projection.weight
    assert np.allclose(at_zero, projection[1, projection.shape[1] // 2 :].sum().item(), atol=6e-5)
    rotary = waves(variant(tasks["gpt"], positions="rotary"))
    assert rotary["kind"] == "rotary" and all(curve[0] == 1 for curve in rotary["curves"])  # cosines
    assert not {"waves", "positions"} & set(suitable_pictures(variant(tasks["gpt"], positions="none")))
    assert picture_data(relative, "positions")["first"] == -3 and len(picture_data(relative, "positions")["table"]) == 7


def test_dimensions_are_read_as_people_write_them():
    assert choose_dimensions("4-7", 20) == [4, 5, 6, 7] == choose_dimensions(None, 20) and choose_dimensions(" 8, 0 - 2,1", 20) == [8, 0, 1, 2]
    assert choose_dimensions(None, 6) == [0, 1, 2, 3] and choose_dimensions(None, 2) == [0, 1]
    refused = {"7-4": "write 4-7 or 0,2,8", "a": "not a list of dimensions", "": "not a list", "4-20": "no dimension 20; this run has 20"}
    for given, words in refused.items():
        with pytest.raises(BadInput, match=words):
            choose_dimensions(given, 20)
    with pytest.raises(BadInput, match="17 curves, more than a picture can show; choose at most 16"):
        choose_dimensions("0-16", 20)
