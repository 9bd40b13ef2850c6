"""Structural positions: attention that knows dependency trees, from its equation to a run that is saved, resumed and scored."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from stairs.errors import BadInput, Unsupported
from stairs.layers.block import Attention
from stairs.layers.capture import capture
from stairs.layers.structural_positions import StructuralPositions
from stairs.models.block_parts import tree_positions
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import Tag
from stairs.tasks.encode import Encode
from stairs.tasks.parts.encoder_features import collate
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.tree_encoder import with_trees
from stairs.text.batch import NO_DISTANCE, Batch
from stairs.text.examples import ParsedSentence, TaggedSentence
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.parsed_world import parsed_sentences
from tests.support.small_world import SENTENCES, encoder

TRAIN, HELD_OUT = parsed_sentences(400), parsed_sentences(60, seed=1)
TREES = TransferOptions(structural_positions=True)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [SENTENCES])


@pytest.fixture
def tagger(tokenizer):
    return Tag.for_examples(TRAIN, Encode(encoder("bert", tokenizer), tokenizer), TREES)


def randomize(model):
    """As if the new weights had been trained."""
    for name, weight in model.named_parameters():
        if "positions.key_vectors" in name or "positions.value_vectors" in name or name.startswith("depths"):
            torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(len(name)))


def test_attention_is_that_of_the_equation():
    """Against a loop over every pair of words."""
    torch.manual_seed(0)
    attention = Attention(8, 2, positions=StructuralPositions(2, 4)).eval()
    for table in attention.positions.children():
        torch.nn.init.normal_(table.weight)
    x, none, ids = torch.randn(1, 4, 8), NO_DISTANCE, torch.zeros(1, 4, dtype=torch.int64)
    distances = torch.tensor([[[none] * 4, [none, 0, 1, 5], [none, -1, 0, -3], [none, -5, 3, 0]]])
    depths, clipped = tree_positions(2, Batch(ids, ids == 0, tree_distances=distances, tree_depths=torch.tensor([[-1, 0, 2, 7]])))
    assert depths.tolist() == [[-1, 0, 2, 2]]
    rows = {none: 6, 0: 3, 1: 4, -1: 2, 5: 5, 3: 5, -5: 1, -3: 1}  # beyond 2 as at 2, what is no word by itself
    found = attention(x, position_ids=clipped)
    query, key, value = (part(x).view(4, 2, 4) for part in (attention.query, attention.key, attention.value))
    a, b = (table.weight for table in (attention.positions.key_vectors, attention.positions.value_vectors))
    mixed = torch.zeros(4, 2, 4)
    for head in range(2):
        for i in range(4):
            row = [rows[int(distance)] for distance in distances[0, i]]
            weights = torch.stack([query[i, head] @ (key[j, head] + a[row[j]]) / math.sqrt(4) for j in range(4)]).softmax(0)
            mixed[i, head] = sum(weights[j] * (value[j, head] + b[row[j]]) for j in range(4))
    assert torch.allclose(found[0], attention.output(mixed.flatten(1)), atol=1e-6)


@torch.no_grad()
def test_before_training_the_encoder_gives_what_it_gave_without_trees(tokenizer, tagger):
    plain = encoder("bert", tokenizer)
    batch = collate(tagger.rows(TRAIN[:20]), tokenizer.pad)
    before = plain.encode(batch)[batch.real]
    assert torch.allclose(tagger.model.encode(batch)[batch.real], before, atol=1e-6)
    randomize(tagger.model)
    assert not torch.allclose(tagger.model.encode(batch)[batch.real], before, atol=1e-2)
    own = dict(tagger.model.named_parameters())
    assert all(torch.equal(own[name], weight) for name, weight in plain.named_parameters())


@torch.no_grad()
def test_padding_changes_nothing_and_captured_weights_are_those_that_are_used(tokenizer, tagger):
    randomize(tagger.model)
    rows = tagger.rows(TRAIN[:12])
    together = collate(rows, tokenizer.pad)
    hidden = tagger.model.encode(together)
    for number, row in enumerate(rows):
        alone = tagger.model.encode(collate([row], tokenizer.pad))[0]
        assert torch.allclose(hidden[number, : len(row.ids)], alone, atol=1e-5)
    with capture(tagger.model) as seen:
        captured = tagger.model.encode(together)
    assert torch.allclose(captured[together.real], hidden[together.real], atol=1e-5)
    weights = seen["blocks.0.attention"]
    assert torch.allclose(weights.sum(-1)[together.real[:, None].expand(weights.shape[:3])], torch.ones(()), atol=1e-5)


@torch.no_grad()
def test_another_tree_of_the_same_words_gives_other_vectors(tokenizer, tagger):
    randomize(tagger.model)
    words = ("rice", "soup", "rain")
    first, second = (tagger.model.encode(collate(tagger.rows([ParsedSentence(words, (), heads=heads)]), 0)) for heads in ((0, 1, 1), (0, 1, 2)))
    assert not torch.allclose(first, second, atol=1e-3)


def test_a_word_of_many_pieces_and_a_sentence_longer_than_the_context(tagger):
    """Pieces share the place of their word, windows see the tree of the whole sentence, and a word that fills a row is truncated."""
    long = ParsedSentence(tuple(["soup", "rice"] * 40), tuple(["FAR"] * 80), "file:1", heads=tuple(range(80)))
    rows = tagger.rows([long])
    assert len(rows) > 1 and all(row.tree.distances.shape == (len(row.ids), len(row.ids)) for row in rows)
    assert rows[-1].tree.depths[1:-1].tolist() == list(range(80 - len(rows[-1].ids) + 2, 80))
    endless = ParsedSentence(("soup", "qzx" * 60), ("FAR", "FAR"), "file:1", heads=(2, 0))
    assert all(row.tree.distances.shape == (len(row.ids), len(row.ids)) for row in tagger.rows([endless]))
    assert len(tagger.predict_examples([endless])[0]) == 2


OPTIONS = TrainingOptions(steps=300, batch_examples=32, learning_rate=0.01, precision="fp32", threads=1, evaluate_every=100)


@pytest.fixture(scope="module")
def trained(tokenizer, tmp_path_factory):
    """Taggers with and without trees, and their runs."""
    folder = tmp_path_factory.mktemp("tuned")
    for name, transfer in (("trees", TREES), ("plain", TransferOptions())):
        task = Tag.for_examples(TRAIN, Encode(encoder("bert", tokenizer), tokenizer), transfer)
        fit(task, LabelledSplits(TRAIN, HELD_OUT), folder / name, OPTIONS)
    return folder


def test_tags_that_follow_from_the_tree_are_learnt_with_trees_only(trained):
    with_tree, plain = (load(trained / name).evaluate_examples(HELD_OUT)["accuracy"] for name in ("trees", "plain"))
    assert with_tree["value"] > 0.97 and plain["high"] < 0.9, (with_tree, plain)


def test_a_saved_run_has_its_structural_positions(trained, tmp_path):
    task = load(trained / "trees")
    assert task.needs_trees and task.model.config.tree_distance == 16
    task.save(tmp_path)
    assert "structural_positions" in (tmp_path / "config.json").read_text()
    again = Tag.open(tmp_path, task.describe())
    assert again.predict_examples(HELD_OUT) == task.predict_examples(HELD_OUT)
    assert "structural_positions" not in load(trained / "plain").describe()["transfer"]


def test_a_training_that_is_extended_ends_with_the_same_bits(tokenizer, tmp_path):
    def train(steps, folder):
        task = Tag.for_examples(TRAIN, Encode(encoder("bert", tokenizer), tokenizer), TREES)
        fit(task, LabelledSplits(TRAIN, HELD_OUT), folder, replace(OPTIONS, steps=steps, schedule="constant", warmup=0.0, patience=0, save_every=2))
        return {name: weight.clone() for name, weight in load(folder).model.named_parameters()}

    train(4, tmp_path / "cut")
    resumed, whole = train(8, tmp_path / "cut"), train(8, tmp_path / "whole")
    assert all(torch.equal(resumed[name], weight) for name, weight in whole.items())
    assert any("key_vectors" in name and weight.any() for name, weight in whole.items()) and whole["depths.weight"].any()


def test_fingerprints_know_the_trees_and_those_without_are_as_they_were():
    other = [replace(TRAIN[0], heads=TRAIN[0].heads[::-1]), *TRAIN[1:]]
    assert LabelledSplits(TRAIN, []).fingerprint != LabelledSplits(other, []).fingerprint
    plain = TaggedSentence(("a",), ("O",), "f:1", "g")
    assert repr(plain) == "TaggedSentence(words=('a',), tags=('O',), where='f:1', group='g')"


def test_an_answer_to_a_parsed_sentence(trained):
    answer = load(trained / "trees").answer_parsed(HELD_OUT[0])
    assert answer["words"] == list(HELD_OUT[0].words) and answer["text"] == " ".join(HELD_OUT[0].words) and set(answer["tags"]) <= {"NEAR", "FAR"}


def test_spans_of_a_parsed_sentence_have_their_places(tokenizer):
    train = [ParsedSentence(("soup", "Rome", "rain"), ("O", "B-place", "I-place"), heads=(0, 1, 2))]
    task = Tag.for_examples(train, Encode(encoder("bert", tokenizer), tokenizer), TREES)
    with torch.no_grad():
        task.head.linear.bias.copy_(torch.tensor([9.0, 0.0, 0.0]))  # B-place for every word
    assert task.answer_parsed(train[0])["spans"][1] == {"label": "place", "text": "Rome", "start": 5, "end": 9}


def test_what_needs_a_tree_says_so(tokenizer, tagger):
    for call in (lambda: tagger.answer("soup today"), lambda: tagger.rows([TaggedSentence(("soup",), (), "file:3")])):
        with pytest.raises(Unsupported, match="needs the dependency tree of a sentence; give a CoNLL-U file"):
            call()
    with pytest.raises(Unsupported, match="which plain text does not have; tag or score a CoNLL-U file"):
        tagger.vectors(["soup today"])
    with pytest.raises(Unsupported, match="reads nothing without dependency trees; give --structural-positions again"):
        Tag.for_examples(TRAIN, tagger, TransferOptions())
    assert Tag.for_examples(TRAIN, tagger, TREES).model is tagger.model


@pytest.mark.parametrize("transfer", ["frozen", "features"])
def test_new_weights_must_be_trained(tokenizer, transfer):
    with pytest.raises(BadInput, match=f"--transfer {transfer} trains none of it; use full or top"):
        Tag.for_examples(TRAIN, Encode(encoder("bert", tokenizer), tokenizer), replace(TREES, transfer=transfer))


def test_models_without_trees_and_attention_that_has_no_room_for_them(tokenizer):
    with pytest.raises(Unsupported, match="--structural-positions is for bert, and this is a gpt run"):
        with_trees(encoder("gpt", tokenizer))
    config = encoder("bert", tokenizer).config
    unfit = {"positions relative": {"positions": "relative"}, "score additive": {"score": "additive"}}
    unfit["attention-pattern window"] = {"attention_pattern": "window", "radius": 2}
    for what, change in unfit.items():
        with pytest.raises(BadInput, match=f"structural positions do not go with {what}, which this bert has"):
            replace(config, tree_distance=4, **change)


def test_only_the_top_blocks_learn_distances_with_transfer_top(tokenizer):
    task = Tag.for_examples(TRAIN, Encode(encoder("bert", tokenizer), tokenizer), replace(TREES, transfer="top", top_layers=1))
    learnt = {name for name, weight in task.model.named_parameters() if weight.requires_grad}
    assert "blocks.1.attention.positions.key_vectors.weight" in learnt
    assert not learnt & {"blocks.0.attention.positions.key_vectors.weight", "depths.weight"}


def test_inference_copies_give_the_same(tagger):
    from stairs.fast.packed_linear import for_inference

    randomize(tagger.model)
    batch = collate(tagger.rows(TRAIN[:8]), 0)
    with torch.no_grad():
        expected = tagger.model.eval().encode(batch)[batch.real].numpy()
        assert np.allclose(for_inference(tagger.model, "fp32").encode(batch)[batch.real].numpy(), expected, atol=1e-4)
        assert np.abs(for_inference(tagger.model, "int8").encode(batch)[batch.real].numpy() - expected).mean() < 0.1 * np.abs(expected).mean()
