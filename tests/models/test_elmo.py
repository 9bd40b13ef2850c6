"""ELMo: what its paper says of it."""

from dataclasses import replace

import pytest
import torch

from stairs.errors import BadInput
from stairs.fast.decode_state import CharacterState
from stairs.layers.capture import capture
from stairs.models.elmo import ELMo
from stairs.models.settings import ELMoConfig
from stairs.models.settings.elmo import SETTINGS
from stairs.text.batch import IGNORE_INDEX, Batch
from tests.support.characters import add_characters, one_character_ids
from tests.support.tiny import noiseless

SMALL = noiseless("elmo", vocab_size=40)


def build(**settings):
    model = ELMo(ELMoConfig(**{**SMALL, **settings}))
    model.initialize(5)
    model.set_vocabulary(one_character_ids(torch.arange(model.output_vocab)))
    return model.eval()


def stream(rows=2, length=9, seed=0):
    ids = torch.randint(5, 40, (rows, length + 1), generator=torch.Generator().manual_seed(seed))
    return add_characters(Batch(ids[:, :-1].contiguous(), torch.ones(rows, length, dtype=torch.bool), ids[:, 1:].contiguous()))


def test_three_vectors_the_first_of_the_word_alone_the_others_of_both_sides():
    model, batch = build(), stream(1)
    layers = model.hidden_states(batch)
    assert len(layers) == model.depth == 3 and all(layer.shape == (1, 9, 16) for layer in layers)
    assert torch.equal(layers[0][..., :8], layers[0][..., 8:])
    for changed_position in (0, 8):
        changed = add_characters(replace(batch, ids=batch.ids.index_fill(1, torch.tensor([changed_position]), 4)))
        now = model.hidden_states(changed)
        assert torch.allclose(now[0][0, 4], layers[0][0, 4], atol=1e-6)
        left, right = (not torch.allclose(now[1][0, 4, part], layers[1][0, 4, part], atol=1e-6) for part in (slice(8), slice(8, 16)))
        assert (left, right) == ((True, False) if changed_position == 0 else (False, True))
    assert torch.allclose(model.encode(batch), torch.stack(layers).mean(0))


def test_the_second_lstm_is_added_to_what_it_read():
    model, batch = build(), stream(1)
    x = model.words(batch)
    first = model.forwards[0](x)[0]
    assert torch.allclose(model.hidden_states(batch)[2][..., :8], model.forwards[1](first)[0] + first, atol=1e-6)


def test_clipping_is_the_same_in_training_and_word_by_word():
    """As in the paper's program; the size `paper` has it."""
    free, clipped, batch = build(), build(cell_clip=0.1, projection_clip=0.01), stream(2, 6)
    h = clipped.hidden_states(batch)[1].detach()
    assert h.abs().max() <= 0.01 < free.hidden_states(batch)[1].detach().abs().max()
    clipped.loss(batch).backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in clipped.forwards.parameters())
    with torch.no_grad():
        whole, state = clipped.predict(batch), CharacterState(one_character_ids)
        for position in range(6):
            logits, state = clipped.decode_step(batch.ids[:, position], state)
            assert torch.allclose(logits, whole[:, position], atol=1e-5)
    paper = ELMoConfig(40, **SETTINGS.sizes["paper"])
    assert (paper.cell_clip, paper.projection_clip, ELMoConfig(40).cell_clip) == (3.0, 3.0, None)


def test_what_passes_through_can_be_captured():
    model, batch = build(), stream(1)
    with capture(model) as seen:
        layers = model.hidden_states(batch)
    assert all(torch.equal(seen[f"layer_taps.{number}"], layer) for number, layer in enumerate(layers))


def test_a_word_is_its_characters_whatever_its_id():
    model, batch = build(), stream(1)
    other = replace(batch, ids=batch.ids + 100)
    assert torch.allclose(model.encode(other), model.encode(batch), atol=1e-6)
    with pytest.raises(AssertionError, match="the task fills in the characters"):
        model.encode(replace(batch, characters=None))


def test_words_outside_the_output_vocabulary_are_the_unknown_one():
    model = build(output_vocab=20)
    batch = stream()
    rare = batch.targets >= 20
    assert rare.any() and model.predict(batch).shape[-1] == 20
    unknown = replace(batch, targets=batch.targets.masked_fill(rare, 1))
    assert torch.equal(model.log_likelihood(batch), model.log_likelihood(unknown))


def test_carried_words_are_read_and_not_learnt_from():
    model, expected = build(burn_in=3), stream(length=15)
    inside = expected.targets.clone()
    inside[:, :3] = inside[:, 12:] = IGNORE_INDEX
    batch = replace(expected, targets=inside)
    loss = model.loss(batch)
    loss.backward()
    forward = -model.log_likelihood(batch).sum()
    backward_batch = Batch(expected.ids.flip(1), expected.real, torch.cat([expected.ids.flip(1)[:, 1:], torch.full((2, 1), IGNORE_INDEX)], 1))
    backward_batch = add_characters(backward_batch)
    has_target = torch.zeros_like(backward_batch.real)
    has_target[:, 3:12] = True
    backward_batch = replace(backward_batch, targets=backward_batch.targets.masked_fill(~has_target, IGNORE_INDEX))
    backward = -model.log_likelihood(backward_batch, backwards=True).sum()
    assert float(loss.detach()) == pytest.approx(float(forward + backward) / (2 * 2 * 9), rel=1e-5)
    # Other words in the carried places change the loss, but no gradient goes there: only their states do.
    word = int(batch.ids[0, 0])
    others = batch.ids.clone()
    others[others == word] = 5
    others[:, 0] = word
    model.zero_grad()
    model.loss(add_characters(replace(batch, ids=others))).backward()
    code = one_character_ids(torch.tensor([word]))[0, 1]
    assert not model.characters.codes.weight.grad[code].any()


@pytest.mark.parametrize("softmax", ["full", "sampled", "cnn"])
def test_every_softmax_learns(softmax):
    model, batch = build(softmax=softmax, samples=30, correction_width=4), stream()
    before = float(model.loss(batch).detach())
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-2)
    torch.manual_seed(0)
    for _ in range(60):
        optimizer.zero_grad()
        model.loss(batch).backward()
        optimizer.step()
    assert all(weight.grad is not None for weight in model.parameters())
    assert float(model.eval().loss(batch).detach()) < before - 1


def test_cnn_softmax_is_characters_and_a_correction():
    model = build(softmax="cnn", correction_width=4)
    ids = torch.tensor([6, 9, 6])
    from_characters = model.output_characters(one_character_ids(ids))
    assert torch.allclose(model.output_weight[ids], from_characters + model.output_projection(model.output_correction.weight[ids]), atol=1e-6)
    assert torch.allclose(model.vectors_from_characters(ids), from_characters, atol=1e-6)


def test_cnn_softmax_may_do_without_a_correction():
    model = build(softmax="cnn", correction_width=0)
    assert not [name for name in model.state_dict() if name.startswith(("output_correction", "output_projection"))]
    ids = torch.tensor([6, 9, 6])
    assert torch.allclose(model.output_weight[ids], model.output_characters(one_character_ids(ids)), atol=1e-6)
    assert float(model.train().loss(stream()).detach()) > 0


def test_a_state_goes_on_where_it_stood():
    model, batch = build(), stream(2, 8)
    expected = model.predict(batch)[:, -1]
    _, state = model.prefill(batch.ids[:, :5], CharacterState(one_character_ids))
    assert torch.allclose(model.prefill(batch.ids[:, 5:], state)[0], expected, atol=1e-5)
    backward_batch = state.reorder(torch.tensor([1, 1]))
    assert torch.allclose(model.prefill(batch.ids[[1, 1], 5:], backward_batch)[0], expected[[1, 1]], atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"filters": (4, 0)}, "filters 4 0"), ({"width": 12}, "its cell of 12"), ({"output_vocab": 3}, "output_vocab"), ({"burn_in": -1}, "burn_in")],
)
def test_settings_it_cannot_have(settings, message):
    with pytest.raises(BadInput, match=message):
        build(**settings)
