"""Sixteen numbers side by side do what one number does."""

import numpy as np
import pytest
from numba import njit

from stairs.kernels import simd
from stairs.kernels.simd import (
    LANES,
    absolute,
    broadcast,
    clamp,
    first_half,
    load,
    mantissa,
    prefetch,
    sigmoid,
    store,
    sums,
    sums_of_two,
    zeros,
)


@njit
def arithmetic(x, y, out):
    store(out, 0, load(x, 0) * load(y, 0) + load(x, 1))
    store(out, 16, load(x, 0) / load(y, 0) - broadcast(2.0))
    store(out, 32, clamp(broadcast(-1.0), load(x, 0), broadcast(1.0)))
    store(out, 48, absolute(first_half(load(x, 0))))
    prefetch(x, 0)
    total = zeros()
    for i in range(2):
        total += load(x, i)
    store(out, 64, total)


@njit
def sigmoids(x, out):
    store(out, 0, sigmoid(load(x, 0)))


@njit
def six(x, out):
    a, b, c, d, e, f = load(x, 0), load(x, 16), load(x, 32), load(x, 48), load(x, 64), load(x, 80)
    store(out, 0, sums(a, b, c, d, e, f))
    store(out, 16, sums_of_two(f, e, d, c, b, a, a, a, b, c, d, e, f, f))


@njit
def apart(x, out):
    store(out, 0, mantissa(load(x, 0)))
    store(out, 16, simd.exponent(load(x, 0)))


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_arithmetic(random):
    x, y = random.normal(size=(2, LANES + 1)).astype(np.float32)
    out = np.zeros(5 * LANES, np.float32)
    arithmetic(x, y, out)
    a, b = x[:LANES], y[:LANES]
    expected = [a * b + x[1:], a / b - 2, np.clip(a, -1, 1), np.abs(a) * (np.arange(LANES) < 8), a + x[1:]]
    assert np.allclose(out, np.concatenate(expected), rtol=1e-5, atol=1e-6)


def test_sigmoid_is_exact_to_the_last_bits():
    out = np.zeros(LANES, np.float32)
    for start in np.linspace(-15, 14, 60):
        x = np.linspace(start, start + 1, LANES).astype(np.float32)
        sigmoids(x, out)
        assert np.allclose(out, 1 / (1 + np.exp(-x.astype(np.float64))), rtol=3e-7, atol=0)


def test_six_sums_at_once(random):
    x = random.normal(size=(6, LANES)).astype(np.float32)
    out = np.zeros(2 * LANES, np.float32)
    six(x.ravel(), out)
    assert np.allclose(out[:6], x.sum(1), atol=1e-5)
    assert np.allclose(out[16:23], x.sum(1)[[5, 4, 3, 2, 1, 0, 0]], atol=1e-5) and np.allclose(out[24:31], x.sum(1)[[0, 1, 2, 3, 4, 5, 5]], atol=1e-5)


def test_mantissa_and_exponent_make_up_the_number(random):
    x = np.exp(random.normal(0, 20, LANES)).astype(np.float32)
    out = np.zeros(2 * LANES, np.float32)
    apart(x, out)
    assert np.array_equal(out[:LANES] * 2.0 ** out[LANES:].astype(np.float64), x)
    assert ((out[:LANES] >= 1) & (out[:LANES] < 2)).all()
