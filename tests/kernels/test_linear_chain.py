"""Forward-backward equals an enumeration of all sequences, and an epoch of AdaGrad follows the gradient of the loss."""

import itertools

import numpy as np
import pytest

from stairs.kernels.linear_chain import forward_backward, score_words, train_epoch
from stairs.tasks.parts.tag_sequences import FORBIDDEN

LENGTH, LABELS = 4, 3


def random_chain(seed=0):
    random = np.random.default_rng(seed)
    transitions = random.normal(size=(LABELS + 1, LABELS))
    transitions[-1, 2] = transitions[0, 2] = FORBIDDEN
    return random.normal(size=(LENGTH, LABELS)), transitions


def exponent(scores, transitions, labels):
    befores = (LABELS, *labels[:-1])
    return sum(scores[t, own] + transitions[before, own] for t, (before, own) in enumerate(zip(befores, labels, strict=True)))


def enumerate_sequences(scores, transitions):
    """log Z, marginals and expected transitions."""
    sequences = list(itertools.product(range(LABELS), repeat=len(scores)))
    exponents = np.array([exponent(scores, transitions, own) for own in sequences])
    log_partition = np.logaddexp.reduce(exponents)
    marginals, pairs = np.zeros_like(scores), np.zeros_like(transitions)
    for own, probability in zip(sequences, np.exp(exponents - log_partition), strict=True):
        for t, label in enumerate(own):
            marginals[t, label] += probability
            pairs[own[t - 1] if t else LABELS, label] += probability
    return log_partition, marginals, pairs


@pytest.mark.parametrize("length", [1, 2, LENGTH])
def test_forward_backward_equals_enumeration(length):
    scores, transitions = random_chain()
    pairs = np.zeros_like(transitions)
    log_partition, marginals = forward_backward(scores[:length], transitions, pairs)
    expected = enumerate_sequences(scores[:length], transitions)
    assert log_partition == pytest.approx(expected[0])
    np.testing.assert_allclose(marginals, expected[1], atol=1e-12)
    np.testing.assert_allclose(pairs, expected[2], atol=1e-12)


def test_an_update_is_the_gradient_of_the_loss_by_finite_differences():
    """With large squares AdaGrad is gradient descent: the step divided by its rate is the gradient."""
    random = np.random.default_rng(1)
    sentences, words = np.array([0, 3]), np.array([0, 2, 3, 5])
    features, tags, counts = np.array([0, 1, 2, 0, 3]), np.array([1, 2, 0]), np.array([2.0, 1.0, 1.0, 1.0])
    weights, transitions = random.normal(size=(4, LABELS)), random_chain()[1]
    is_allowed, penalty, square, epsilon = transitions != FORBIDDEN, 0.7, 1e8, 1e-5

    def loss(weights, transitions):
        scores = score_words(words, features, weights, 0, 3)
        value = forward_backward(scores, transitions, np.zeros_like(transitions))[0] - exponent(scores, transitions, tuple(tags))
        return value + penalty / 2 * ((weights**2).sum() + (transitions[is_allowed] ** 2).sum())

    stepped, stepped_transitions = weights.copy(), transitions.copy()
    squares = [np.full_like(array, square) for array in (weights, transitions)]
    total = train_epoch(np.array([0]), sentences, words, features, tags, counts, stepped, stepped_transitions, *squares, is_allowed, 1.0, penalty)
    assert total == pytest.approx(loss(weights, transitions) - penalty / 2 * ((weights**2).sum() + (transitions[is_allowed] ** 2).sum()))
    for before, after, which in ((weights, stepped, 0), (transitions, stepped_transitions, 1)):
        for place in np.ndindex(before.shape):
            moved = [weights.copy(), transitions.copy()]
            moved[which][place] += epsilon
            lowered = [weights.copy(), transitions.copy()]
            lowered[which][place] -= epsilon
            gradient = (loss(*moved) - loss(*lowered)) / (2 * epsilon) if which == 0 or is_allowed[place] else 0.0
            assert (before[place] - after[place]) * square**0.5 == pytest.approx(gradient, abs=1e-3)
