"""Which examples a step trains on: each one once an epoch, whatever the number of workers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from stairs.training.gradients import BatchOrder, batch_boundaries, bucketed_batches, rounded_lengths, worker_parts
from stairs.training.options import TrainingOptions, lr_factor_by_steps, lr_factor_by_time

lengths = some.lists(some.integers(1, 700), min_size=1, max_size=200).map(np.array)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(lengths, some.integers(1, 2000), some.integers(0, 5), some.integers(0, 3))
def test_every_example_once_an_epoch_within_the_token_budget(lengths, tokens, seed, epoch):
    batches = bucketed_batches(lengths, tokens, seed, epoch)
    assert sorted(np.concatenate(batches)) == list(range(len(lengths)))
    assert all(len(batch) == 1 or lengths[batch].max() * len(batch) <= tokens for batch in batches)
    again = bucketed_batches(lengths, tokens, seed, epoch)
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))
    assert len(batches) == BatchOrder(lengths, tokens, seed).batches_per_epoch


@settings(derandomize=True, max_examples=30, deadline=None)
@given(lengths)
def test_lengths_are_rounded_up_a_little(lengths):
    rounded = rounded_lengths(lengths)
    assert (rounded >= lengths).all() and (rounded <= lengths * 1.1 + 1).all() and rounded.max() == lengths.max()


def test_epochs_differ_and_seeds_differ():
    equal = np.full(100, 8)
    orders = [np.concatenate(bucketed_batches(equal, 32, seed, epoch)).tolist() for seed in (0, 1) for epoch in (0, 1)]
    assert len({tuple(order) for order in orders}) == 4


def test_there_is_little_padding():
    lengths = np.random.default_rng(0).integers(5, 200, 5000)
    batches = bucketed_batches(lengths, 4096, 0, 0)
    positions = sum(lengths[batch].max() * len(batch) for batch in batches)
    assert lengths.sum() / positions > 0.93


def test_the_batch_of_a_step_is_found_directly():
    order = BatchOrder(np.full(70, 10), 100, 0)
    assert order.batches_per_epoch == 7
    assert [order.position(step) for step in (0, 6, 7, 700)] == [(0, 0), (0, 6), (1, 0), (100, 0)]
    assert order.batch_at(9)[0] == 1 and (order.batch_at(9)[1] == bucketed_batches(np.full(70, 10), 100, 0, 1)[2]).all()


@settings(derandomize=True, max_examples=60, deadline=None)
@given(some.integers(1, 40), some.integers(1, 5), some.integers(1, 6))
def test_workers_and_parts_share_a_batch_without_loss(size, workers, parts):
    numbers = np.arange(size) * 3
    shares = [worker_parts(numbers, rank, workers, parts) for rank in range(workers)]
    assert sorted(np.concatenate([part for share in shares for part in share])) == numbers.tolist()
    assert len({len(share) for share in shares}) == 1  # the same number for every worker, or some would wait for ever


def test_an_example_longer_than_the_batch_has_its_own():
    assert batch_boundaries(np.array([1, 1, 50, 60]), 10) == [2, 3]


@pytest.mark.parametrize("schedule", ["linear", "cosine", "hold", "inverse-sqrt", "constant"])
def test_the_learning_rate_rises_and_then_never_rises_again(schedule):
    options = TrainingOptions(schedule=schedule, warmup=0.1)
    rates = [1e-3 * lr_factor_by_steps(step, 200, options) for step in range(200)]
    assert rates[0] == pytest.approx(1e-3 / 20) and rates[19] == pytest.approx(1e-3)
    assert all(a < b for a, b in pairwise(rates[:20]))
    assert all(a >= b > 0 for a, b in pairwise(rates[19:]))
    if schedule in ("linear", "cosine"):
        assert rates[-1] < 1e-5
    if schedule == "inverse-sqrt":
        assert rates[79] == pytest.approx(1e-3 / 2)
    if schedule == "hold":
        assert rates[159] == rates[19] > rates[170]


@pytest.mark.parametrize("schedule", ["linear", "cosine", "hold", "inverse-sqrt", "constant"])
def test_under_a_budget_it_rises_for_at_least_ten_updates_and_never_rises_again(schedule):
    options = TrainingOptions(schedule=schedule, warmup=0.05)
    slow_start = [lr_factor_by_time(step, progress, options) for step, progress in enumerate([0.0, 0.3, 0.31, 0.32])]
    assert slow_start == pytest.approx([0.01, 0.2, 0.3, 0.4])  # a slow first update does not use up the warm-up
    rates = [lr_factor_by_time(1000, progress / 1000, options) for progress in range(1, 1001)]
    assert all(a < b for a, b in pairwise(rates[:50])) and all(a >= b for a, b in pairwise(rates[50:]))
    assert rates[60] == pytest.approx(1.0, abs=0.1) and (rates[-1] < 1e-9) == (schedule in ("linear", "cosine", "hold"))
