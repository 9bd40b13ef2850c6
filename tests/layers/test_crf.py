"""The CRF layer: log Z, the loss and the best path equal an enumeration of all sequences; padding changes nothing."""

import itertools

import numpy as np
import pytest
import torch

from stairs.layers.crf import LinearChainCRF, gather_rows
from stairs.tasks.parts.tag_sequences import transitions, viterbi

LABELS = ["B-PER", "I-PER", "O"]


@pytest.fixture
def crf():
    layer = LinearChainCRF(torch.from_numpy(transitions(LABELS)))
    with torch.no_grad():
        layer.transitions.copy_(torch.randn(4, 3, generator=torch.Generator().manual_seed(0)))
    return layer


def exponent(crf, scores, labels, begins=True):
    allowed, total = crf.allowed_transitions(), 0.0
    for t, label in enumerate(labels):
        total = total + scores[t, label] + (allowed[labels[t - 1], label] if t else allowed[-1, label] * begins)
    return total


def all_sequences(length):
    return list(itertools.product(range(len(LABELS)), repeat=length))


def test_loss_and_best_path_equal_enumeration(crf):
    scores = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(1))
    labels = torch.tensor([[0, 1, 2, 0], [2, 0, 2, 2]])
    real = torch.tensor([[True] * 4, [True, True, False, False]])
    expected = 0.0
    for row, length in ((0, 4), (1, 2)):
        sequences = all_sequences(length)
        exponents = torch.stack([exponent(crf, scores[row], own) for own in sequences])
        expected = expected + exponents.logsumexp(0) - exponent(crf, scores[row], labels[row, :length].tolist())
        best = viterbi(scores[row, :length].numpy(), crf.allowed_transitions().detach().numpy())
        assert tuple(best) == sequences[int(exponents.argmax())]
        assert all(own != 1 or (t and best[t - 1] in (0, 1)) for t, own in enumerate(best))  # I-PER only after B-PER and I-PER
    torch.testing.assert_close(crf.nll(scores, labels, real), expected)


def test_padding_changes_nothing_and_gets_no_gradient(crf):
    scores = torch.randn(1, 5, 3, generator=torch.Generator().manual_seed(2), requires_grad=True)
    labels, real = torch.tensor([[0, 1, 2, 0, 0]]), torch.tensor([[True, True, True, False, False]])
    loss = crf.nll(scores, labels, real)
    torch.testing.assert_close(loss, crf.nll(scores[:, :3], labels[:, :3], real[:, :3]))
    loss.backward()
    assert not scores.grad[0, 3:].any() and scores.grad[0, :3].any()


def test_a_row_that_begins_inside_a_span_continues_another(crf):
    scores, labels = torch.randn(1, 3, 3, generator=torch.Generator().manual_seed(3)), torch.tensor([[1, 2, 0]])
    exponents = torch.stack([exponent(crf, scores[0], own, begins=False) for own in all_sequences(3)])
    expected = exponents.logsumexp(0) - exponent(crf, scores[0], [1, 2, 0], begins=False)
    torch.testing.assert_close(crf.nll(scores, labels, torch.ones(1, 3, dtype=torch.bool)), expected)


def test_without_transitions_it_is_a_softmax_at_each_position():
    layer = LinearChainCRF(torch.zeros(3, 2))
    scores, labels = torch.randn(1, 4, 2, generator=torch.Generator().manual_seed(4)), torch.tensor([[0, 1, 1, 0]])
    expected = torch.nn.functional.cross_entropy(scores[0], labels[0], reduction="sum")
    torch.testing.assert_close(layer.nll(scores, labels, torch.ones(1, 4, dtype=torch.bool)), expected)


def test_chosen_positions_move_to_the_front_in_their_order():
    values = torch.arange(12.0).reshape(2, 3, 2)
    chosen = torch.tensor([[False, True, True], [True, False, False]])
    found, real = gather_rows(values, chosen)
    assert found[0].tolist() == [[2, 3], [4, 5]] and found[1, 0].tolist() == [6, 7]
    assert real.tolist() == [[True, True], [True, False]]
    assert np.array_equal(gather_rows(chosen.long(), chosen)[0].numpy()[real.numpy()], np.ones(3))
