"""XLNet gives the vectors and the logits of transformers' XLNet on its weights: one stream, two streams, segments and padding."""

import numpy as np
import pytest
import torch

from stairs.models.bert import XLNet
from stairs.models.settings import XLNetConfig
from stairs.randomness import numpy_generator
from stairs.tasks.parts.other_objectives import permute
from stairs.tasks.parts.sentence_pairs import MaskingExample
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.special import BEGIN, END, MASK

transformers = pytest.importorskip("transformers")
VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 40, 24, 3, 3, 11


@pytest.fixture(scope="module")
def both():
    settings = {"vocab_size": VOCABULARY, "d_model": WIDTH, "n_head": HEADS, "n_layer": LAYERS, "d_inner": 32, "dropout": 0.0}
    theirs = transformers.XLNetLMHeadModel(transformers.XLNetConfig(**settings, ff_activation="gelu")).eval()
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.normal_(0, 0.4, generator=random)
        theirs.transformer.mask_emb.copy_(theirs.transformer.word_embedding.weight[MASK])  # ours is a row of the table
    ours = XLNet(XLNetConfig(VOCABULARY, context=32, width=WIDTH, heads=HEADS, layers=LAYERS, feed_forward=32, dropout=0.0)).eval()
    ours.restore(our_tensors(theirs))
    return ours, theirs


def our_tensors(theirs) -> dict[str, torch.Tensor]:
    body, weights = theirs.transformer, {}
    weights["tokens.weight"], weights["word_head.bias"] = body.word_embedding.weight, theirs.lm_loss.bias
    for number, layer in enumerate(body.layer):
        attention, block = layer.rel_attn, f"blocks.{number}."
        u = attention.r_w_bias
        for name, matrix in {"query": attention.q, "key": attention.k, "value": attention.v}.items():
            weights[f"{block}attention.{name}.weight"] = matrix.flatten(1).T  # (D, H, D/H)
            weights[f"{block}attention.{name}.bias"] = u.flatten() if name == "query" else torch.zeros(WIDTH)
        weights[f"{block}attention.output.weight"], weights[f"{block}attention.output.bias"] = attention.o.flatten(1), torch.zeros(WIDTH)
        weights[f"{block}attention.positions.projection.weight"] = attention.r.flatten(1).T
        weights[f"{block}attention.positions.position_bias.weight"] = attention.r_r_bias - u
        weights[f"{block}attention.positions.segment_bias.weight"] = attention.r_s_bias - u
        weights[f"{block}attention.positions.segment_vectors.weight"] = attention.seg_embed.flatten(0, 1)
        for kind in ("weight", "bias"):
            weights[f"{block}attention_norm.{kind}"] = getattr(attention.layer_norm, kind)
            weights[f"{block}feed_forward_norm.{kind}"] = getattr(layer.ff.layer_norm, kind)
            weights[f"{block}feed_forward.inner.{kind}"] = getattr(layer.ff.layer_1, kind)
            weights[f"{block}feed_forward.outer.{kind}"] = getattr(layer.ff.layer_2, kind)
    return {name: weight.detach().clone() for name, weight in weights.items()}


@torch.no_grad()
def test_vectors_and_logits_of_one_stream(both):
    ours, theirs = both
    ids = torch.randint(5, VOCABULARY, (2, LENGTH), generator=torch.Generator().manual_seed(1))
    real = torch.ones_like(ids, dtype=torch.bool)
    real[1, 7:] = False
    segments = torch.zeros_like(ids)
    segments[:, 5:] = 1
    batch = Batch(ids, real, segments=segments)
    expected = theirs.transformer(ids, attention_mask=real.float(), token_type_ids=segments, use_mems=False).last_hidden_state
    assert torch.allclose(ours.encode(batch)[real], expected[real], atol=1e-4)
    logits = theirs(ids, attention_mask=real.float(), token_type_ids=segments, use_mems=False).logits
    assert torch.allclose(ours.predict(batch)[real], logits[real], atol=1e-4)
    other = theirs(ids, attention_mask=real.float(), token_type_ids=torch.zeros_like(ids), use_mems=False).logits
    assert not torch.allclose(logits[real], other[real], atol=1e-2)  # segments matter


@torch.no_grad()
def test_logits_of_two_streams(both):
    """Our second stream, appended tokens, beside theirs: perm_mask and target_mapping."""
    ours, theirs = both
    random = np.random.default_rng(2)
    ids = np.array([BEGIN, *random.integers(5, VOCABULARY, LENGTH - 2), END])
    segments = (np.arange(LENGTH) > 6).astype(np.int64)
    positions = np.array([2, 5, 6, 8])
    words = np.array([-1, *range(LENGTH - 2), -1])
    row = permute(MaskingExample(ids, words, segments), positions, MASK, numpy_generator(0, "order"))
    batch = Batch(
        torch.from_numpy(row.ids)[None], torch.ones(1, len(row.ids), dtype=torch.bool), torch.from_numpy(row.targets)[None],
        torch.from_numpy(row.segments)[None], position_ids=torch.from_numpy(row.position_ids)[None],
        attention_mask=torch.from_numpy(row.attention_mask)[None],
    )  # fmt: skip
    hidden_from = ~torch.from_numpy(row.attention_mask)  # 1 in their masks is what cannot be seen
    perm_mask = hidden_from[:LENGTH, :LENGTH].float()
    perm_mask[torch.from_numpy(positions)] = hidden_from[LENGTH:, :LENGTH].float()  # no word sees itself; their first stream always does
    mapping = torch.zeros(1, len(positions), LENGTH)
    mapping[0, torch.arange(len(positions)), torch.from_numpy(positions)] = 1
    segments_tensor = torch.from_numpy(segments)[None]
    logits = theirs(
        torch.from_numpy(ids)[None], perm_mask=perm_mask[None], target_mapping=mapping, token_type_ids=segments_tensor, use_mems=False
    ).logits
    assert torch.allclose(ours.predict(batch)[0, LENGTH:], logits[0], atol=1e-4)
    targets = batch.targets[0, LENGTH:]
    assert (targets != IGNORE_INDEX).all()
    expected = logits[0].log_softmax(-1).gather(-1, targets[:, None])[:, 0]
    assert torch.allclose(ours.log_likelihood(batch)[0, LENGTH:], expected, atol=1e-4)
