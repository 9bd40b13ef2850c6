"""GloVe: the kernel does what the readable loss says, and the vectors come to say which words are alike."""

import dataclasses

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.fast import glove_sweep
from stairs.fast.corpus_slice import CorpusSlice
from stairs.fast.glove_sweep import WEIGHTS, round_order
from stairs.kernels.cooccurrence import BLOCKS
from stairs.kernels.glove import words_of
from stairs.models.glove import GloVe
from stairs.models.settings import GloVeConfig
from stairs.text.batch import Batch

BEGIN, END, UNKNOWN = 2, 3, 1
RATE = 0.05
ONE = CorpusSlice(index=0, slices=1, epoch=0, rate_from=RATE, rate_to=RATE, seed=0, threads=2, deterministic=True)


def text(size=3000, words=60, seed=0):
    random = np.random.default_rng(seed)
    ids = (5 + words * random.random(size) ** 2).astype(np.uint16)
    ids[random.random(size) < 0.08] = END
    ids[random.random(size) < 0.03] = UNKNOWN
    ids[-1] = BEGIN
    return ids


def build(ids, words=60, **settings):
    model = GloVe(GloVeConfig(**{"vocab_size": words + 5, "width": 12, "window": 4, "x_max": 3.0, **settings}))
    torch.manual_seed(1)
    with torch.no_grad():
        for name in WEIGHTS:
            getattr(model, name).normal_(0, 0.3)
    model.prepare(ids, [], 0)
    return model


def stored_counts(model):
    """X of the stored pairs, both ways round."""
    found = {}
    for a in range(BLOCKS):
        for b in range(a + 1):
            cell = a * (a + 1) // 2 + b
            for pair in model.pairs[model.starts[cell] : model.starts[cell + 1]]:
                i, j, log_count = words_of(pair, a, b)
                found[i, j] = found[j, i] = float(np.exp(log_count))
    return found


def batch_of(ids):
    found = torch.from_numpy(ids.astype(np.int64))[None]
    return Batch(found, torch.ones_like(found, dtype=torch.bool))


def test_one_step_of_the_kernel_is_the_gradient_of_the_readable_loss():
    """Two words are two pairs, (5, 6) and (6, 5), without a number in common, so one sweep is one step along the gradient."""
    model = build(np.array([5, 6, END], np.uint16))
    loss = model.loss(batch_of(np.array([5, 6])))
    loss.backward()
    before = {name: getattr(model, name).detach().clone() for name in WEIGHTS}
    total, pairs, words = model.sweep(ONE)
    assert pairs == 2 and words == 2 and total / pairs == pytest.approx(float(loss.detach()), rel=1e-5)
    for name in WEIGHTS:
        update = (getattr(model, name).detach() - before[name]) / RATE
        assert torch.allclose(update, -pairs * getattr(model, name).grad, rtol=1e-4, atol=1e-6), name


def test_a_sweep_is_adagrad_on_the_readable_loss_pair_by_pair():
    ids = text(400)
    model = build(ids)
    weights = {name: getattr(model, name).detach().double().requires_grad_() for name in WEIGHTS}
    squares = {name: torch.ones_like(weight) for name, weight in weights.items()}
    for games in round_order(0, 0):
        for a, b in games.tolist():
            cell = a * (a + 1) // 2 + b
            for pair in model.pairs[model.starts[cell] : model.starts[cell + 1]]:
                i, j, log_count = words_of(pair, a, b)
                for word, context in ((i, j), (j, i))[: 1 + (i != j)]:
                    error = weights["vectors"][word] @ weights["contexts"][context]
                    error = error + weights["biases"][word] + weights["context_biases"][context] - float(log_count)
                    loss = min(float(np.exp(log_count)) / model.config.x_max, 1) ** model.config.power * error**2 / 2
                    for (name, weight), gradient in zip(weights.items(), torch.autograd.grad(loss, list(weights.values())), strict=True):
                        step = RATE * gradient
                        weight.data -= step / squares[name].sqrt()
                        squares[name] += step**2
    model.sweep(ONE)
    for name, sums in zip(WEIGHTS, model.optimizer_state().values(), strict=True):
        assert torch.allclose(getattr(model, name).double(), weights[name], atol=1e-4), name
        assert torch.allclose(sums.double(), squares[name], atol=1e-3), name


def test_the_readable_loss_counts_what_the_kernel_counts():
    ids = text(600)
    model = build(ids)
    words, contexts, counts = model.pairs_of(batch_of(ids))
    readable = dict(zip(zip(words.tolist(), contexts.tolist(), strict=True), counts.tolist(), strict=True))
    assert readable == pytest.approx(stored_counts(model), rel=1e-5)
    total, pairs, _ = model.sweep(dataclasses.replace(ONE, rate_from=0, rate_to=0))
    assert pairs == len(readable) and model.loss(batch_of(ids)).item() == pytest.approx(total / pairs, rel=1e-4)


def test_a_rate_of_zero_changes_nothing():
    model = build(text())
    before = {name: tensor.clone() for name, tensor in {**model.tensors(), **model.optimizer_state()}.items()}
    model.sweep(dataclasses.replace(ONE, rate_from=0.0, rate_to=0.0))
    assert all(torch.equal(tensor, before[name]) for name, tensor in {**model.tensors(), **model.optimizer_state()}.items())


def test_any_number_of_threads_gives_the_same_bits():
    models = [build(text(20_000, 300), 300) for _ in range(2)]
    losses = [[model.sweep(dataclasses.replace(ONE, epoch=epoch, threads=threads)) for epoch in range(2)] for threads, model in enumerate(models, 1)]
    assert losses[0] == losses[1]
    assert all(torch.equal(a, b) for a, b in zip(models[0].tensors().values(), models[1].tensors().values(), strict=True))


def test_slices_and_workers_share_the_pairs_of_an_epoch():
    ids = text(5000)
    single, parts = build(ids), build(ids)
    once = single.sweep(ONE)
    several = [parts.sweep(dataclasses.replace(ONE, index=index, slices=7)) for index in range(7)]
    assert sum(loss for loss, _, _ in several) == pytest.approx(once[0]) and sum(pairs for _, pairs, _ in several) == once[1]
    assert all(torch.equal(a, b) for a, b in zip(single.tensors().values(), parts.tensors().values(), strict=True))
    model = build(ids)
    shared = [model.sweep(dataclasses.replace(ONE, index=index, slices=3, rank=rank, world_size=2)) for index in range(3) for rank in range(2)]
    assert sum(pairs for _, pairs, _ in shared) == once[1]
    assert sum(words for _, _, words in shared) == pytest.approx(once[2], abs=6)


def test_evaluation_scales_the_counts_and_changes_nothing(monkeypatch):
    monkeypatch.setattr(glove_sweep, "COMMONEST", 1.0)
    ids = text(8000)
    model = build(ids)
    before = {name: tensor.clone() for name, tensor in model.tensors().items()}
    losses, pairs = model.held_out_loss(ids, 0)  # of the same size, so the loss is that of learning itself
    total, made_pairs, _ = model.sweep(dataclasses.replace(ONE, rate_from=0.0, rate_to=0.0))
    assert losses.sum() == pytest.approx(total, rel=1e-5) and pairs.sum() == made_pairs and len(losses) == len(pairs) == 100
    twice, _ = model.held_out_loss(np.concatenate([ids, ids]), 0)
    assert twice.sum() == pytest.approx(total, rel=1e-3)  # every count doubled, and halved again
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.tensors().items())


def test_a_held_out_text_is_evaluated_on_its_commonest_pairs():
    ids = text(8000)
    model = build(ids)
    few, all_of_them = model.held_out_loss(ids, 0)[1].sum(), sum(1 if a == b else 2 for a, b in stored_counts(model) if a >= b)
    assert len(model.pairs) > 1000 and 100 <= few < 300 < all_of_them
    least = sorted(stored_counts(model).values())[-int(few)]
    words, contexts = zip(*(pair for pair, count in stored_counts(model).items() if count >= least * (1 - 1e-6)), strict=True)
    counts = torch.tensor([stored_counts(model)[pair] for pair in zip(words, contexts, strict=True)])
    error = (model.vectors[list(words)] * model.contexts[list(contexts)]).sum(1) + model.biases[list(words)] + model.context_biases[list(contexts)]
    loss = ((counts / model.config.x_max).clamp(max=1) ** model.config.power * (error - counts.log()) ** 2).sum() / 2
    assert float(loss.detach()) == pytest.approx(model.held_out_loss(ids, 0)[0].sum(), rel=1e-3)


def test_it_learns_and_what_it_learns_holds_for_other_text():
    model = build(text(40_000))
    model.initialize(0)
    held_out = text(2000, seed=1)
    losses = [model.sweep(dataclasses.replace(ONE, epoch=epoch))[0] for epoch in range(8)]
    untrained = GloVe(model.config)
    untrained.counts.copy_(model.counts)
    assert losses[-1] < losses[0] / 4
    assert model.held_out_loss(held_out, 0)[0].sum() < untrained.held_out_loss(held_out, 0)[0].sum() / 2


def test_words_used_alike_become_alike():
    random = np.random.default_rng(0)
    sentences = []
    for _ in range(4000):
        group = int(random.integers(2))
        sentences += [*(5 + 10 * group + random.integers(0, 10, 6)), END]
    model = build(np.array(sentences, np.uint16), 20, x_max=100.0)
    model.initialize(0)
    for epoch in range(10):
        model.sweep(dataclasses.replace(ONE, epoch=epoch))
    vectors = model.all_vectors()[5:]
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    same = np.arange(20)[:, None] // 10 == np.arange(20) // 10
    assert cosines[same].min() > cosines[~same].max()


def test_many_pairs_are_kept_on_the_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    inside = build(text())
    monkeypatch.setattr(glove_sweep, "MAX_BYTES_IN_MEMORY", 100)
    outside = build(text())
    assert isinstance(outside.pairs, np.memmap) and np.array_equal(inside.pairs, outside.pairs)
    assert inside.sweep(ONE) == outside.sweep(ONE)
    assert not list(tmp_path.rglob("*.*"))  # the file has no name


def test_text_without_neighbours_is_refused():
    with pytest.raises(BadInput, match=r"no two words .* more text"):
        build(np.array([5, END, 6, END], np.uint16))


@pytest.mark.parametrize("wrong", [{"width": 0}, {"window": 0}, {"x_max": 0.0}, {"power": -1.0}])
def test_settings_that_cannot_be(wrong):
    with pytest.raises(BadInput, match=f"{next(iter(wrong))} .* is not between"):
        GloVeConfig(vocab_size=10, **wrong)


def test_a_vocabulary_that_is_too_large():
    with pytest.raises(BadInput, match="--min-count"):
        GloVe(GloVeConfig(vocab_size=1 << 23, width=1))
