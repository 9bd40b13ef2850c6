"""BERT: both directions, three heads, and no work for padding."""

import math

import pytest
import torch

from stairs.errors import BadInput, Unsupported
from stairs.layers.capture import capture
from stairs.models.bert import BERT
from stairs.models.settings import SIZES, BERTConfig
from stairs.text.batch import IGNORE_INDEX, Batch
from tests.support.tiny import noiseless

SMALL = noiseless("bert", vocab_size=40, context=24)


def batch_of(lengths=(5, 20, 3, 11, 12), labels=True):
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, 40, real.shape)
    targets = torch.where((torch.rand(real.shape) < 0.3) & real, torch.randint(5, 40, real.shape), IGNORE_INDEX)
    segments = (torch.arange(real.shape[1]) > 4).long().expand_as(ids)
    return Batch(ids, real, targets, segments, labels=torch.randint(0, 2, (len(lengths),)) if labels else None)


def slopes(model, batch):
    model.zero_grad()
    loss = model.loss(batch)
    loss.backward()
    return loss.detach(), {name: weight.grad.clone() for name, weight in model.named_parameters()}


def test_the_fast_path_is_the_readable_one():
    model, batch = BERT(BERTConfig(**SMALL)), batch_of()
    loss, found = slopes(model, batch)
    with capture(model) as seen:  # who looks is shown rows with their padding
        plain, expected = slopes(model, batch)
    assert seen["blocks.1"].shape == (*batch.ids.shape, 16) and seen["blocks.0.attention"].shape == (5, 2, 20, 20)
    assert torch.allclose(loss, plain, atol=1e-6)
    for name, slope in found.items():
        assert torch.allclose(slope, expected[name], atol=1e-6), name


def test_every_position_sees_all_others():
    model, batch = BERT(BERTConfig(**SMALL)).eval(), batch_of((6,))
    before = model.encode(batch)
    ids = batch.ids.clone()
    ids[0, 5] = (ids[0, 5] - 5 + 1) % 35 + 5
    after = model.encode(Batch(ids, batch.real, segments=batch.segments))
    assert ((before - after).abs().amax(-1) > 1e-5).all()


def test_segments_and_positions_make_a_difference():
    model, batch = BERT(BERTConfig(**SMALL)).eval(), batch_of((6,))
    first = model.encode(Batch(batch.ids, batch.real))
    assert not torch.allclose(first, model.encode(Batch(batch.ids, batch.real, segments=torch.ones_like(batch.ids))), atol=1e-4)
    shifted_positions = torch.arange(6).flip(0)[None]
    moved = model.encode(Batch(batch.ids.flip(1), batch.real, position_ids=shifted_positions)).flip(1)
    assert torch.allclose(first, moved, atol=1e-6)


def test_the_loss_is_that_of_the_words_and_of_the_pairs():
    model, batch = BERT(BERTConfig(**SMALL)).eval(), batch_of()
    has_target = batch.targets != IGNORE_INDEX
    words = -model.log_likelihood(batch).sum() / has_target.sum()
    probabilities = model.next_sentence_logits(model.encode(batch)).log_softmax(-1)
    pairs = -probabilities.gather(1, batch.labels[:, None]).mean()
    assert float(model.loss(batch).detach()) == pytest.approx(float((words + pairs).detach()), rel=1e-5)
    predicted = model.predict(batch).log_softmax(-1).gather(-1, batch.targets.clamp(min=0)[..., None])[..., 0]
    assert torch.allclose(predicted[has_target], model.log_likelihood(batch)[has_target], atol=1e-5)


def test_an_untrained_bert_knows_nothing():
    model, batch = BERT(BERTConfig(**SMALL)).eval(), batch_of()
    assert float(model.loss(batch).detach()) == pytest.approx(math.log(40) + math.log(2), rel=0.03)


def test_the_layers_are_those_of_the_paper():
    model = BERT(BERTConfig(**SMALL))
    block = model.blocks[0]
    assert not block.norm_first and block.attention_norm.eps == 1e-12 and block.feed_forward.inner.out_features == 64
    assert BERT(BERTConfig(**SMALL, feed_forward=10)).blocks[0].feed_forward.inner.out_features == 10
    assert SIZES["bert"]["large"] == {"context": 512, "width": 1024, "heads": 16, "layers": 24}
    assert SIZES["bert"]["paper"] == SIZES["bert"]["base"] == {"context": 512, "width": 768, "heads": 12, "layers": 12}


def test_a_missing_head_is_named():
    batch = batch_of()
    bare = BERT(BERTConfig(**SMALL, output_heads=()))
    assert bare.encode(batch).shape == (5, 20, 16) and not any("head" in name or "pooler" in name for name in bare.state_dict())
    for verb, words in (("predict", "vectors only"), ("loss", "vectors only")):
        with pytest.raises(Unsupported, match=words):
            getattr(bare, verb)(batch)
    without = BERT(BERTConfig(**SMALL, objective="none"))
    assert without.config.output_heads == ("words",)
    with pytest.raises(Unsupported, match="--objective next-sentence"):
        without.next_sentence_logits(without.encode(batch))
    with pytest.raises(Unsupported, match="no pooler"):
        without.pool(without.encode(batch))
    with pytest.raises(Unsupported, match="try ngram or gpt"):
        without.decode_step(torch.tensor([5]))


def test_too_many_tokens_are_refused():
    ids = torch.full((1, 25), 7)
    with pytest.raises(BadInput, match=r"at most 24 tokens, got 25; shorten the text or train with --context 32"):
        BERT(BERTConfig(**SMALL)).encode(Batch(ids, ids > 0))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"heads": 3}, "3 heads cannot share"), ({"mask_prob": 0.0}, "mask_prob 0.0"), ({"mask_token_share": 0.95}, "exceed 1"), ({"context": 4},
        "context 4")],
)
def test_settings_that_cannot_be(wrong, words):
    with pytest.raises(BadInput, match=words):
        BERTConfig(**{**SMALL, **wrong})


@pytest.mark.parametrize("chosen", ["first", "targets", "no targets"])
def test_some_positions_alone_are_the_same(chosen):
    model, batch = BERT(BERTConfig(**SMALL)), batch_of(labels=False)
    has_target = (batch.targets != IGNORE_INDEX) & (chosen != "no targets")
    alone = model.encode_cls if chosen == "first" else lambda batch: model.encode_where(batch, has_target)
    from_all = (lambda batch: model.encode(batch)[:, :1]) if chosen == "first" else lambda batch: model.encode(batch)[has_target]
    found = {}
    for name, encode in (("alone", alone), ("whole", from_all)):
        model.zero_grad()
        vectors = encode(batch)
        vectors.square().sum().backward()
        found[name] = vectors.detach(), {place: weight.grad.clone() for place, weight in model.named_parameters() if weight.grad is not None}
    assert found["alone"][0].shape == found["whole"][0].shape and torch.allclose(found["alone"][0], found["whole"][0], atol=1e-5)
    assert found["alone"][1].keys() == found["whole"][1].keys()
    for place, slope in found["alone"][1].items():
        assert torch.allclose(slope, found["whole"][1][place], atol=1e-4), place
    with capture(model) as seen:
        assert torch.allclose(alone(batch), found["whole"][0], atol=1e-5)
    assert seen["blocks.1.attention"].shape == (5, 2, 20, 20)  # who looks is shown everything
