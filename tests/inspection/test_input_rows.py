"""The sum of embeddings is what the first block reads, and a training row is what the task would make of the text."""

import dataclasses

import numpy as np
import pytest
import torch

from stairs.inspection.input_rows import embedding_parts
from stairs.inspection.tokens import tokenize
from stairs.layers.capture import capture
from stairs.models.bert import BERT
from stairs.pictures.catalogue import picture_data, suitable_pictures
from stairs.tasks import MaskedToken
from stairs.tasks.parts.sentence_pairs import SentencePairs
from stairs.tasks.parts.stream import encode_documents
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.gallery import TEXT, runs
from tests.support.small_world import SENTENCES, encoder

DOCUMENTS = "My dog is hairy. He likes the garden.\nThe man went to the shop. He bought some milk."


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=400), lambda: [DOCUMENTS.replace("\n", " ").split(". ") * 3])


def with_config(task, **changes):
    return MaskedToken(BERT(dataclasses.replace(task.model.config, output_heads=None, **changes)).eval(), task.tokenizer)


def first_block_input(task, row):
    seen = []
    handle = task.model.blocks[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    with torch.no_grad(), capture(task.model):
        task.model.encode(row.batch)
    handle.remove()
    return seen[0][0]


@pytest.mark.parametrize("name", ["bert", "gpt", "transformer"])
def test_the_sum_is_what_the_first_block_reads(tasks, name):
    task, parts = tasks[name], ["token", "segment", "position"] if name == "bert" else ["token", "position"]
    row = tokenize(task, TEXT)
    found = embedding_parts(task.model, row)
    summed = sum(found.values())
    assert list(found) == parts
    assert torch.allclose(task.model.norm(summed) if name == "bert" else summed, first_block_input(task, row), atol=1e-5)
    data = picture_data(task, "embeddings", TEXT)
    assert [part["name"] for part in data["parts"]] == [*parts, "sum"]
    assert np.allclose(np.sum([part["rows"] for part in data["parts"][:-1]], 0), data["parts"][-1]["rows"], atol=2e-4)
    assert data["parts"][-1]["length"] == pytest.approx(float(summed.norm(dim=1).mean()), rel=1e-5)


def test_the_second_text_has_the_other_segment(tasks):
    data = picture_data(tasks["bert"], "embeddings", "soup", second="rain")
    segment = data["parts"][1]["rows"]
    assert data["segments"] == [0, 0, 0, 1, 1] and segment[0] == segment[2] != segment[3] == segment[4]


@pytest.mark.parametrize("kind", ["learned", "sinusoidal", "relative", "buckets", "rotary", "none"])
@pytest.mark.parametrize("name", ["bert", "gpt", "transformer"])
def test_positions_that_add_nothing_are_no_part_of_the_sum(tasks, name, kind):
    old = tasks[name]
    task = type(old)(type(old.model)(dataclasses.replace(old.model.config, positions=kind)).eval(), old.tokenizer)
    row = tokenize(task, TEXT)
    parts = embedding_parts(task.model, row)
    assert ("position" in parts) == (kind in ("learned", "sinusoidal"))
    summed = sum(parts.values())
    assert torch.allclose(task.model.norm(summed) if name == "bert" else summed, first_block_input(task, row), atol=1e-5)
    assert [part["name"] for part in picture_data(task, "embeddings", TEXT)["parts"]] == [*parts, "sum"]


def test_a_row_is_what_the_task_makes_of_the_text(tokenizer):
    task = MaskedToken(encoder("bert", tokenizer), tokenizer)
    pairs = SentencePairs(encode_documents(tokenizer, DOCUMENTS.splitlines())[0], task.model.config, tokenizer)
    labels, maskings = set(), set()
    for seed in range(40):
        data = picture_data(task, "training-row", DOCUMENTS, seed=seed)
        made = pairs.batch(np.array([data["row"]]), 0, seed)
        assert data["row"] == seed % data["rows"]
        assert [tokenizer.id(token["token"]) for token in data["tokens"]] == made.ids[0].tolist()
        assert [token["segment"] for token in data["tokens"]] == made.segments[0].tolist()
        assert [-100 if token["target"] is None else tokenizer.id(token["target"]) for token in data["tokens"]] == made.targets[0].tolist()
        assert data["label"] == ("IsNext", "NotNext")[int(made.labels[0])]
        labels.add(data["label"])
        for token in data["tokens"]:
            maskings.add(token["masking"])
            assert (token["masking"] is None) == (token["target"] is None)
            assert (token["masking"] == "mask") == (token["token"] == "[MASK]")
            assert token["masking"] != "kept" or token["token"] == token["target"]
            assert token["masking"] != "random" or token["token"] != token["target"]
    assert labels == {"IsNext", "NotNext"} and maskings == {None, "mask", "random", "kept"}


@pytest.mark.parametrize("objective", ["sentence-order", "none", "prefix", "permutation"])
def test_rows_of_every_objective(tokenizer, objective):
    labels = {"in order", "exchanged"} if objective == "sentence-order" else {None}
    task = with_config(MaskedToken(encoder("bert", tokenizer), tokenizer), objective=objective)
    rows = [picture_data(task, "training-row", DOCUMENTS, seed=seed) for seed in range(20)]
    assert {row["label"] for row in rows} == labels and all(any(token["target"] for token in row["tokens"]) for row in rows)
    assert {row["objective"] for row in rows} == {objective}


def test_documents_are_between_blank_lines_or_one_in_each_line(tasks):
    lines, blocks = ("\n".join(SENTENCES[:4]), "\n".join(SENTENCES[:2]) + "\n\n" + "\n".join(SENTENCES[2:4]))
    assert picture_data(tasks["bert"], "training-row", lines)["rows"] == 4 and picture_data(tasks["bert"], "training-row", blocks)["rows"] == 2


def test_one_sentence_is_enough(tasks):
    data = picture_data(tasks["bert"], "training-row", SENTENCES[0])
    assert data["rows"] == 1 and data["tokens"][0]["token"] == "[CLS]" and any(token["target"] for token in data["tokens"])
    assert "training-row" not in suitable_pictures(tasks["gpt"]) and "training-row" not in suitable_pictures(tasks["classify"])
