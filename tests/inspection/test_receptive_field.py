"""How many layers lie between two words: counted in the masks, equal to the formulas of the papers, and true of the networks themselves."""

import dataclasses
import math
from itertools import pairwise

import pytest

from stairs.errors import BadInput
from stairs.inspection.receptive_field import CONVOLUTION, MAX_WORDS, panel, receptive_field, shortest_path
from stairs.layers.masks import causal, window
from stairs.models.gpt import GPT
from stairs.pictures.receptive_field import receptive_field as draw
from stairs.tasks import NextToken
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.gallery import TEXT, runs
from tests.support.small_world import encoder


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


def lengths(data):
    return [one["path_length"] for one in data["panels"]]


@pytest.mark.parametrize("count", [2, 3, 4, 8, 13, 20])
def test_paths_are_as_long_as_the_formulas_say(count):
    masks = {"recurrent": causal(count) & window(count, 1), "convolution": causal(count) & window(count, CONVOLUTION - 1), "attention": causal(count)}
    panels = {name: panel(name, allowed, None) for name, allowed in masks.items()}
    expected = {"recurrent": count - 1, "convolution": math.ceil((count - 1) / (CONVOLUTION - 1)), "attention": 1}
    assert {name: one["path_length"] for name, one in panels.items()} == expected
    for name, one in panels.items():
        edges = {(tuple(start), tuple(end)) for start, end in one["edges"]}
        path = [tuple(node) for node in one["path"]]
        assert path[-1] == (0, 0) and path[0][1] == count - 1 and set(pairwise(path)) <= edges
        assert len(path) - 1 == expected[name] + (name == "recurrent")  # and from the first state to its word
        assert one["layers"][-1] == list(range(count))


def test_xiaoming_is_five_convolutions_away_from_he():
    """The notes' A, B, C, D and E."""
    text = "小明在星期天要去露营他"
    tokenizer = Tokenizer.train(TokenizerSpec("characters"), lambda: [[text]])
    data = receptive_field(NextToken(encoder("gpt", tokenizer), tokenizer), text)
    assert data["tokens"] == list(text) and lengths(data) == [10, 5, 1]
    assert [one["model"] for one in data["panels"]] == [None, None, "gpt"]
    titles = [str(one["title"]["text"]) for one in draw(data).to_dict()["vconcat"]]
    expected = ("n − 1 = 10 steps from 小 to 他", "ceil((n − 1) / (w − 1)) = 5 layers from 小 to 他", "attention of this gpt: 1 layer from 小 to 他")
    assert all(words in title for words, title in zip(expected, titles, strict=True))


def test_the_run_is_named_where_it_reads_so(tasks):
    for name, own in (("gpt", 2), ("bert", 2), ("transformer", 2), ("elmo", 0), ("seq2seq", 0), ("classify", 2), ("classify by elmo", 0)):
        models = [one["model"] for one in receptive_field(tasks[name], TEXT)["panels"]]
        assert models[own] == tasks[name].model_name and models.count(None) == 2


def test_a_window_needs_more_layers_and_the_run_may_have_too_few(tasks):
    config = dataclasses.replace(tasks["gpt"].model.config, attention_pattern="window", radius=3)
    task = NextToken(GPT(config).eval(), tasks["gpt"].tokenizer)
    data = receptive_field(task, TEXT)
    count, own = len(data["tokens"]), data["panels"][2]
    assert own["path_length"] == math.ceil((count - 1) / 3) > 2 == own["own_layers"]
    assert own["layers"][1] == list(range(count - 7, count))
    assert f"its 2 layers reach 7 of {count} words" in str(draw(data).to_dict())


def test_a_word_and_a_long_text(tasks):
    data = receptive_field(tasks["elmo"], TEXT, word="Rome")
    assert data["tokens"] == TEXT.split()[:5] and lengths(data) == [4, 2, 1]
    long = receptive_field(tasks["elmo"], " ".join([TEXT] * 6))
    assert len(long["tokens"]) == MAX_WORDS and lengths(long)[0] == MAX_WORDS - 1 and "tokens 14 to 41 of 42 are shown" in long["truncation"]
    with pytest.raises(BadInput, match="no other word stands before 'soup'"):
        receptive_field(tasks["elmo"], TEXT, word="soup")


def test_a_path_takes_the_shortest_way():
    edges = [((2, 4), (1, 1)), ((2, 4), (1, 3)), ((1, 1), (0, 1)), ((1, 3), (0, 0))]
    assert shortest_path(edges, (2, 4)) == [(2, 4), (1, 3), (0, 0)]
