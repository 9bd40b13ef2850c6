"""What every option of the attention promises in every model that takes it: the promises of `test_every_model.py`, and that fast and plain agree."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from stairs.layers.capture import capture
from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.text.batch import Batch
from tests.contract.test_every_model import BEGIN, ROWS, VOCABULARY, batch_of
from tests.support.attention_options import CASES, OPTIONS
from tests.support.tiny import noiseless

LONG = [[5 + (7 * row + 3 * column) % 25 for column in range(length)] for row, length in enumerate((40, 23, 7))]


def build(name, option, **more):
    settings = {**noiseless(name), **OPTIONS[option], **more}
    return MODELS[name](CONFIGS[name](vocab_size=VOCABULARY, **settings)).eval()


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}: {case[1]}")
def case(request):
    return request.param


def rows_for(model):
    return LONG if model.config.context >= 42 else ROWS


def likelihood(model, rows):
    return model.log_likelihood(batch_of(model.name, rows))


def test_padding_changes_nothing(case):
    model = build(*case)
    rows = rows_for(model)
    together, vectors = likelihood(model, rows), model.encode(batch_of(model.name, rows))
    filled = batch_of(model.name, rows)
    filled = model.encode(replace(filled, ids=filled.ids.masked_fill(~filled.real, 17)))
    for number, row in enumerate(rows):
        alone, vector = likelihood(model, [row])[0], model.encode(batch_of(model.name, [row]))[0]
        assert torch.allclose(together[number, : len(alone)], alone, atol=2e-6)
        assert torch.allclose(vectors[number, : len(vector)], vector, atol=2e-6)
        assert torch.equal(vectors[number, : len(vector)], filled[number, : len(vector)])


@pytest.mark.parametrize(("name", "option"), [case for case in CASES if case[0] != "bert"])
def test_causal_ones_do_not_peek(name, option):
    model = build(name, option)
    batch = batch_of(name, rows_for(model))
    changed = batch.ids.clone()
    changed[:, -3:] = 11
    before, after = model.predict(batch), model.predict(replace(batch, ids=changed, real=torch.ones_like(batch.real)))
    assert torch.allclose(before[0, :-3], after[0, :-3], atol=1e-6)
    assert not torch.allclose(before[0, -3:], after[0, -3:], atol=1e-4)


def test_the_fast_path_equals_the_plain_one(case):
    model = build(*case)
    batch = batch_of(model.name, rows_for(model))
    fast = model.predict(batch)
    with capture(model) as seen:
        plain = model.predict(batch)
    assert torch.allclose(fast[batch.real], plain[batch.real], atol=1e-5)
    weights = seen["blocks.1.attention"]
    rows = batch.source if batch.source is not None else batch
    assert torch.allclose(weights.sum(-1).transpose(1, 2)[rows.real], torch.ones(1), atol=1e-5)


def test_gradients_of_the_fast_path_are_those_of_the_plain_one(case):
    gradients = []
    for captured in (False, True):
        model = build(*case).train()
        batch = batch_of(model.name, rows_for(model))
        if captured:
            with capture(model):
                model.loss(batch).backward()
        else:
            model.loss(batch).backward()
        gradients.append([weight.grad for weight in model.parameters() if weight.grad is not None])
    assert len(gradients[0]) == len(gradients[1])
    assert all(torch.allclose(fast, plain, atol=1e-5) for fast, plain in zip(*gradients, strict=True))


def test_every_weight_is_trained(case):
    model = build(*case).train()
    batch = batch_of(model.name, rows_for(model))
    model.loss(batch).backward()
    untrained = [path for path, weight in model.named_parameters() if weight.grad is None or not weight.grad.abs().sum()]
    expected = {"segments.weight", "pooler", "next_head"} | {"key.bias"}  # one segment, no pair; a bias of all keys changes no softmax
    assert not [path for path in untrained if not any(part in path for part in expected)]


def test_saved_tensors_give_equal_outputs(case):
    model = build(*case)
    model.initialize(5)
    loaded = type(model).from_saved(model.describe(), model.tensors(), Path("config.json")).eval()
    batch = batch_of(model.name)
    assert torch.equal(model.loss(batch), loaded.loss(batch))
    assert len({tensor.data_ptr() for tensor in model.tensors().values()}) == len(model.tensors())  # or safetensors would refuse


def test_the_seed_decides_the_first_weights(case):
    model, other = build(*case), build(*case)
    other.initialize(1)
    assert not all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    other.initialize(0)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize(("name", "option"), [case for case in CASES if case[1] != "no residual"])  # without, little is learnt
def test_training_lowers_the_loss(name, option):
    model = build(name, option).train()
    batch = batch_of(name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    first = float(model.loss(batch).detach())
    for _ in range(60):
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < first / 2


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("option", [option for name, option in CASES if name == "gpt"])
def test_generation_with_a_cache_is_reading_everything_again(option, precision):
    model = build("gpt", option)
    inference = model.for_inference(precision)
    row = [BEGIN, *rows_for(model)[0]]
    expected = model.predict(Batch(torch.tensor([row]), torch.ones(1, len(row), dtype=torch.bool)))[0]
    half = len(row) // 2
    logits, state = inference.prefill(torch.tensor([row[:half]]))
    within = 1e-5 if precision == "fp32" else 0.05
    assert torch.allclose(logits[0], expected[half - 1], atol=within)
    for position in range(half, len(row)):
        logits, state = inference.decode_step(torch.tensor([row[position]]), state)
        assert torch.allclose(logits[0], expected[position], atol=within)


@pytest.mark.parametrize("option", [option for name, option in CASES if name == "gpt"])
def test_prompts_of_different_lengths_are_continued_as_if_alone(option):
    model = build("gpt", option)
    prompts = [[BEGIN, 5, 6, 7, 8, 9, 10], [BEGIN, 11, 12]]
    ids = torch.zeros(2, 7, dtype=torch.int64)
    real = torch.zeros(2, 7, dtype=torch.bool)
    for number, prompt in enumerate(prompts):
        ids[number, : len(prompt)], real[number, : len(prompt)] = torch.tensor(prompt), True
    together, state = model.prefill(ids, real=real)
    together, state = model.decode_step(torch.tensor([13, 14]), state)
    for number, (prompt, word) in enumerate(zip(prompts, (13, 14), strict=True)):
        alone, own = model.prefill(torch.tensor([prompt]))
        alone, _ = model.decode_step(torch.tensor([word]), own)
        assert torch.allclose(together[number], alone[0], atol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("option", [option for name, option in CASES if name == "transformer"])
def test_beams_step_by_step_are_the_whole_target(option, precision):
    model = build("transformer", option)
    rows = rows_for(model)
    batch = batch_of("transformer", rows)
    predicted, inference = model.predict(batch).detach(), model.for_inference(precision)
    within = 1e-5 if precision == "fp32" else 0.1
    stepped, state = inference.decode_step(batch.ids[:, 0], inference.initial_state(batch.source, 2))
    assert (stepped - predicted[:, 0]).abs().mean() < within
    state = state.reorder(torch.tensor([0, 0, 1, 1, 2, 2]))
    for position in range(1, min(map(len, rows)) + 1):
        stepped, state = inference.decode_step(batch.ids[:, position].repeat_interleave(2), state)
        assert (stepped[::2] - predicted[:, position]).abs().mean() < within
        assert torch.allclose(stepped[::2], stepped[1::2], atol=1e-5)


@pytest.mark.parametrize("option", [option for name, option in CASES if name == "bert"])
def test_the_first_position_alone_is_that_of_all(option):
    model = build("bert", option)
    batch = batch_of("bert", rows_for(model))
    assert torch.allclose(model.encode_cls(batch), model.encode(batch)[:, :1], atol=1e-5)


@pytest.mark.parametrize("name", ["gpt", "bert", "transformer"])
@pytest.mark.parametrize("option", ["sinusoidal", "rotary", "relative", "buckets", "transformer-xl", "no positions"])
def test_positions_that_are_computed_go_beyond_the_trained_length(name, option):
    short = build(name, option)
    long = type(short)(replace(short.config, context=64)).eval()
    long.load_state_dict(short.state_dict())
    batch = batch_of(name, LONG)
    assert torch.allclose(short.log_likelihood(batch), long.log_likelihood(batch), atol=1e-5)
