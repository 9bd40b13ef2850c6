"""What every model promises, whatever its paper. A new model joins by its line in `tests/support/tiny.py`."""

import dataclasses
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from stairs.errors import Unsupported
from stairs.fast.corpus_slice import CorpusSlice
from stairs.layers.capture import capture
from stairs.models import MODELS
from stairs.models.base import Model
from stairs.models.settings import CONFIGS, LABEL_MODELS, SIZES, TRAINING_DEFAULTS
from stairs.text.batch import IGNORE_INDEX, Batch, next_token_batch, pad_rows
from stairs.training.options import TrainingOptions
from tests.support.characters import add_characters
from tests.support.tiny import TINY, noiseless

BEGIN, END, PAD, VOCABULARY = 2, 3, 0, 30
ROWS = [[5, 6, 7, 8], [9, 5], [6, 7, 20, 21, 22, 5]]


def has(name, verb):
    return getattr(MODELS[name], verb) is not getattr(Model, verb)


def pretraining():
    """Those that learn from text, or pairs of sentences, by gradients."""
    return [name for name in MODELS if MODELS[name].learns_by == "gradient" and name not in LABEL_MODELS]


def batch_of(name, rows=ROWS):
    """What comes next, after a source for those that translate: the same rows from the last to the first."""
    batch = add_characters(next_token_batch(rows, BEGIN, END, PAD), BEGIN)
    translates = MODELS[name].pretrains_with == "translate"
    return replace(batch, source=Batch(*pad_rows([[BEGIN, *row[::-1], END] for row in rows], PAD))) if translates else batch


def trained(name):
    model = MODELS[name](CONFIGS[name](vocab_size=VOCABULARY, **noiseless(name)))
    random = np.random.default_rng(0)
    ids = np.concatenate([np.append(random.integers(5, VOCABULARY, random.integers(1, 9)), END) for _ in range(200)]).astype(np.uint16)
    if model.learns_by == "counting":
        model.count(ids)
    if model.learns_by == "adoption":
        model.restore({key: torch.from_numpy(random.random(tensor.shape, np.float32)) for key, tensor in model.tensors().items()})
    if model.learns_by == "sweeping":
        model.prepare(ids, [f"word{i}" for i in range(VOCABULARY)], seed=0)
        model.sweep(CorpusSlice(0, 1, 0, model.learning_rate, 0.0, seed=0, threads=1, deterministic=True))
    return model.eval()


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def test_every_step_is_listed_with_its_settings_and_sizes(name):
    assert name in CONFIGS and name in TINY and MODELS[name].name == name
    assert {"mini", "small", "base", "paper"} <= SIZES[name].keys()
    for size in SIZES[name]:
        with torch.device("meta"):  # shapes without numbers: the largest have a hundred million
            MODELS[name](CONFIGS[name](vocab_size=VOCABULARY, **SIZES[name][size]))


@pytest.mark.parametrize("name", pretraining())
def test_sizes_grow_and_each_below_mini_says_how_it_is_trained(name):
    def weights(size):
        with torch.device("meta"):
            return sum(weight.numel() for weight in MODELS[name](CONFIGS[name](vocab_size=VOCABULARY, **SIZES[name][size])).parameters())

    assert weights("nano") < weights("micro") < weights("mini") < weights("small")
    adam_papers = ("gpt", "bert", "roberta", "unilm", "xlnet", "transformer")  # they say how the size is trained
    by_adam = {"paper"} if name in adam_papers else set()
    assert TRAINING_DEFAULTS[name].keys() == {"nano", "micro"} | by_adam
    for size in ("nano", "micro"):
        assert TRAINING_DEFAULTS[name][size].keys() <= {"learning_rate", "batch_tokens"} and "batch_tokens" in TRAINING_DEFAULTS[name][size]
    for size in by_adam:
        assert TRAINING_DEFAULTS[name][size].keys() <= {field.name for field in dataclasses.fields(TrainingOptions)}


def zipf():
    """Logarithms of shares, and what a softmax sees of them."""
    shares = torch.distributions.Dirichlet(1 / torch.arange(1.0, VOCABULARY + 1)).sample().clamp(min=1e-4)
    shares /= shares.sum()
    return shares.log(), shares.log() - shares.log().mean()


@pytest.mark.parametrize("name", [name for name in MODELS if has(name, "start_at_unigram") and name not in ("seq2seq", "cove")])
def test_the_unigram_distribution_is_added_to_the_first_predictions_and_to_nothing_else(name):
    plain, model, batch = trained(name), trained(name), batch_of(name)
    log_shares, centred = zipf()
    model.start_at_unigram(log_shares)
    added = (model.predict(batch) - plain.predict(batch)).detach()
    assert torch.allclose(added - added.mean(-1, keepdim=True), centred.expand_as(added), atol=1e-4)


@pytest.mark.parametrize("name", pretraining())
def test_first_predictions_are_nearly_the_unigram_distribution(name):
    model, batch = trained(name), batch_of(name)
    log_shares, _ = zipf()

    def divergence():
        predicted = model.predict(batch).detach()[batch.real].log_softmax(-1)
        return float((log_shares.exp() * (log_shares - predicted)).sum(-1).mean())

    uniform = divergence()
    model.start_at_unigram(log_shares)
    assert divergence() < (0.35 if MODELS[name].pretrains_with == "translate" else 0.02) * uniform  # translators begin with larger tables
    weights = [weight.clone() for weight in model.parameters()]
    model.initialize(0)
    model.start_at_unigram(log_shares)
    assert all(torch.equal(a, b) for a, b in zip(weights, model.parameters(), strict=True))


def test_a_model_has_a_verb_or_says_which_models_have_it(name):
    model = trained(name)
    batch = batch_of(name)
    for verb in ("encode", "predict", "loss"):
        if has(name, verb):
            getattr(model, verb)(batch)
        else:
            with pytest.raises(Unsupported, match=name):
                getattr(model, verb)(batch)


def test_what_a_model_claims_is_what_it_does(name):
    kind = MODELS[name]
    assert kind.encodes == (kind.encode is not Model.encode) and kind.predicts == (kind.predict is not Model.predict)
    assert kind.is_transformer == bool(kind(CONFIGS[name](vocab_size=VOCABULARY, **noiseless(name))).block_count)
    assert kind.is_encoder_decoder == (kind.pretrains_with == "translate") and kind.fills_blanks == (name in ("bert", "roberta", "unilm", "xlnet"))
    assert kind.generates == (kind.predicts and (not kind.fills_blanks or name == "unilm"))


def predicting():
    return [name for name in MODELS if MODELS[name].predicts]


@pytest.mark.parametrize("name", predicting())
def test_padding_changes_nothing(name):
    model = trained(name)
    together = model.log_likelihood(batch_of(name))
    for row, scores in zip(ROWS, together, strict=True):
        alone = model.log_likelihood(batch_of(name, [row]))[0]
        assert torch.allclose(scores[: len(alone)], alone, atol=1e-6)
        assert (scores[len(alone) :] == 0).all()


def reading():
    """Those that read from left to right."""
    return [name for name in predicting() if MODELS[name].pretrains_with == "next-token"]


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].pretrains_with == "translate"])
def test_those_that_translate_say_step_by_step_what_they_say_at_once(name):
    model, batch = trained(name), batch_of(name)
    predicted = model.predict(batch).detach()
    stepped, state = model.decode_step(batch.ids[:, 0], model.initial_state(batch.source, 2))
    assert torch.allclose(stepped, predicted[:, 0], atol=1e-5)
    state = state.reorder(torch.tensor([0, 0, 1, 1, 2, 2]))
    for position in range(1, min(map(len, ROWS)) + 1):
        stepped, state = model.decode_step(batch.ids[:, position].repeat_interleave(2), state)
        assert torch.allclose(stepped[::2], predicted[:, position], atol=1e-5) and torch.allclose(stepped[::2], stepped[1::2], atol=1e-6)
    reordered = state.reorder(torch.tensor([5, 4, 0, 0]))  # the last source and the first
    after, _ = model.decode_step(torch.tensor([7, 7, 8, 8]), reordered)
    for row, words in ((2, 7), (0, 8)):
        alone = batch_of(name, [ROWS[row]])
        ids = torch.cat([alone.ids[:, : position + 1], torch.tensor([[words]])], 1)
        expected = model.predict(replace(alone, ids=ids, real=torch.ones_like(ids, dtype=torch.bool)))[0, -1]
        assert torch.allclose(after[0 if row == 2 else 2], expected, atol=1e-5)


@pytest.mark.parametrize("name", reading())
def test_the_causal_ones_do_not_peek(name):
    model = trained(name)
    changed = [[*row[:-1], 11] for row in ROWS]
    before, after = (model.predict(batch_of(name, rows)) for rows in (ROWS, changed))
    for i, row in enumerate(ROWS):
        assert torch.equal(before[i, : len(row)], after[i, : len(row)])


@pytest.mark.parametrize("name", reading())
def test_predict_step_and_log_likelihood_tell_the_same(name):
    model = trained(name)
    batch = batch_of(name, [ROWS[2]])
    predicted = model.predict(batch).detach().log_softmax(-1)[0]
    state = None
    for i, (word, target) in enumerate(zip(batch.ids[0], batch.targets[0], strict=True)):
        stepped, state = model.decode_step(word[None], state)
        assert torch.allclose(stepped[0].log_softmax(-1), predicted[i], atol=1e-5)
        assert float(model.log_likelihood(batch)[0, i]) == pytest.approx(float(predicted[i, target]), abs=5e-3)


@pytest.mark.parametrize("name", predicting())
def test_loss_is_the_mean_negative_log_likelihood_of_the_targets(name):
    model = trained(name)
    batch = batch_of(name)
    has_target = batch.targets != IGNORE_INDEX
    total, count = float(model.log_likelihood(batch).sum()), int(has_target.sum())
    if MODELS[name].pretrains_with == "bidirectional-lm":  # from the right it reads all but the first token, and asks for the one before
        backward_batch = next_token_batch([row[::-1] for row in ROWS], BEGIN, END, PAD)
        later = {name: getattr(backward_batch, name)[:, 1:] for name in ("ids", "real", "targets")}
        backward_batch = add_characters(replace(backward_batch, **later), BEGIN)
        total, count = total + float(model.log_likelihood(backward_batch, backwards=True).sum()), count + sum(map(len, ROWS))
    assert float(model.loss(batch).detach()) == pytest.approx(-total / count, rel=1e-6)


@pytest.mark.parametrize("name", predicting())
def test_only_what_is_asked_is_scored(name):
    model = trained(name)
    full = batch_of(name)
    targets = full.targets.clone()
    targets[:, 0] = IGNORE_INDEX
    partly = model.log_likelihood(replace(full, targets=targets))
    assert (partly[:, 0] == 0).all()
    assert torch.allclose(partly[:, 1:], model.log_likelihood(full)[:, 1:], atol=1e-6)


def test_saved_tensors_give_equal_outputs(name):
    model = trained(name)
    restored = MODELS[name](model.config)
    restored.restore({key: tensor.clone() for key, tensor in model.tensors().items()})
    loaded = MODELS[name].from_saved(model.describe(), model.tensors(), Path("config.json")).eval()
    batch = batch_of(name)
    verb = "loss" if has(name, "loss") else "encode"
    for again in (restored, loaded):
        assert torch.equal(getattr(model, verb)(batch), getattr(again, verb)(batch))


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].learns_by == "gradient"])
def test_a_saved_model_is_not_initialized_first(name, monkeypatch):
    model = trained(name)
    monkeypatch.setattr(MODELS[name], "initialize", lambda self, seed: pytest.fail("weights that saved ones replace"))
    loaded = MODELS[name].from_saved(model.describe(), model.tensors(), Path("config.json"))
    assert not any(tensor.is_meta for tensor in (*loaded.parameters(), *loaded.buffers()))
    assert all(weight.requires_grad for weight in loaded.parameters())


def test_the_same_data_gives_the_same_model(name):
    first, second = trained(name).tensors(), trained(name).tensors()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)


def encoding():
    return [name for name in MODELS if MODELS[name].encodes]


@pytest.mark.parametrize("name", encoding())
def test_padding_changes_no_vector(name):
    model = trained(name)
    batch = batch_of(name)
    together = model.encode(batch)
    filled = model.encode(replace(batch, ids=batch.ids.masked_fill(~batch.real, 17)))
    assert together.shape[:2] == batch.ids.shape
    for i, row in enumerate(ROWS):
        length = len(row) + 1
        alone = model.encode(batch_of(name, [row]))[0]
        assert torch.allclose(together[i, :length], alone, atol=1e-6)
        assert torch.equal(together[i, :length], filled[i, :length])


@pytest.mark.parametrize("name", encoding())
def test_capture_changes_nothing_and_leaves_nothing(name):
    model = trained(name)
    batch = batch_of(name)
    before = model.encode(batch)
    with capture(model) as seen:
        watched = model.encode(batch)
    assert torch.allclose(before, watched, atol=1e-5)
    assert (seen or not list(model.children())) and all(torch.isfinite(tensor).all() and not tensor.requires_grad for tensor in seen.values())
    assert not any(part._forward_hooks for part in model.modules())


@pytest.mark.parametrize("name", reading())
def test_reading_at_once_is_reading_step_by_step(name):
    model = trained(name)
    ids = torch.tensor([[BEGIN, *ROWS[0]], [BEGIN, *ROWS[2][:4]]])
    at_once, state = model.prefill(ids)
    stepped = None
    for column in ids.T:
        logits, stepped = model.decode_step(column, stepped)
    assert torch.allclose(at_once, logits, atol=1e-5)
    after = torch.tensor([7, 8])
    assert torch.allclose(model.decode_step(after, state)[0], model.decode_step(after, stepped)[0], atol=1e-5)


@pytest.mark.parametrize("name", pretraining())
def test_the_seed_decides_the_first_weights_and_training_lowers_the_loss(name):
    model, other = trained(name), trained(name)
    other.initialize(1)
    assert not all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    other.initialize(0)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    batch = batch_of(name)
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=0.02)
    first = float(model.loss(batch).detach())
    for _ in range(40):
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        optimizer.step()
    assert first == pytest.approx(np.log(VOCABULARY), rel=0.3 if MODELS[name].pretrains_with == "translate" else 0.05)
    assert float(loss.detach()) < first / 3


@pytest.mark.parametrize("name", LABEL_MODELS)
def test_the_seed_decides_the_first_weights_and_labels_train_all_of_them(name):
    model, other = trained(name), trained(name)
    other.initialize(1)
    assert not all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    other.initialize(0)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    model.train().encode(batch_of(name)).amax(1).square().sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in model.parameters())
