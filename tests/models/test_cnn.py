"""CNN: the equations of its header by a plain loop, and how far a token sees."""

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.models.cnn import CNN
from stairs.models.settings import CNNConfig
from stairs.tasks.parts.encoder_features import pool_tokens
from stairs.text.batch import Batch, pad_rows

SMALL = {"vocab_size": 30, "word_width": 4, "width": 6, "input_dropout": 0.0, "dropout": 0.0}


def batch_of(*rows):
    return Batch(*pad_rows([list(row) for row in rows], 0))


def by_hand(model, row):
    """h of each layer, word by word."""
    config, weights = model.config, {name: tensor.numpy() for name, tensor in model.state_dict().items()}

    def window(vectors, t, size, d):
        first = t - (size - 1) // 2 * d
        zero = np.zeros_like(vectors[0])
        return np.concatenate([vectors[p] if 0 <= p < len(vectors) else zero for p in range(first, first + size * d, d)])

    vectors = [weights["tokens.weight"][word] for word in row]
    first_layer = []
    for t in range(len(row)):
        parts = [weights[f"windows.{n}.weight"] @ window(vectors, t, size, 1) + weights[f"windows.{n}.bias"] for n, size in enumerate(config.windows)]
        first_layer.append(np.maximum(np.concatenate(parts), 0))
    layers = [first_layer]
    for n in range(config.dilated_layers):
        w, b, below, d = weights[f"dilated.{n}.weight"], weights[f"dilated.{n}.bias"], layers[-1], config.dilation ** (n + 1)
        layers.append([below[t] + np.maximum(w @ window(below, t, 3, d) + b, 0) for t in range(len(row))])
    return np.array(layers)


@pytest.mark.parametrize("windows", [(3, 4, 5), (1, 2), (7,)])
def test_every_layer_is_that_of_a_plain_loop(windows):
    model = CNN(CNNConfig(**SMALL, windows=windows, dilated_layers=2)).eval()
    for part in (*model.windows, *model.dilated):
        torch.nn.init.normal_(part.bias)
    rows = [7, 8, 9, 10, 11, 12, 13], [5, 6, 7]
    states = torch.stack(model.hidden_states(batch_of(*rows))).detach().numpy()
    for number, row in enumerate(rows):
        assert states[:, number, : len(row)] == pytest.approx(by_hand(model, row), abs=1e-5)


def test_a_text_is_the_maximum_of_each_filter_over_its_words():
    model = CNN(CNNConfig(**SMALL)).eval()
    row = [2, 7, 8, 9, 3]  # between [CLS] and [SEP], which do not count
    batch = batch_of(row, [2, 5, 3])
    pooled = pool_tokens(model.encode(batch), batch, model, "max", frozenset(range(5)))
    assert pooled[0].detach().numpy() == pytest.approx(by_hand(model, row)[-1][1:4].max(0), abs=1e-6)
    assert pooled[1].detach().numpy() == pytest.approx(by_hand(model, [2, 5, 3])[-1][1], abs=1e-6)


@pytest.mark.parametrize(("layers", "dilation", "reach"), [(0, 2, 1), (2, 1, 3), (2, 2, 7), (3, 2, 15), (2, 3, 13)])
def test_a_token_sees_further_with_each_layer_and_exponentially_far_with_dilation(layers, dilation, reach):
    model = CNN(CNNConfig(**SMALL, windows=(3,), dilated_layers=layers, dilation=dilation)).eval()
    for weight in model.parameters():
        torch.nn.init.constant_(weight, 0.1)  # so that every filter fires
    row = torch.full((1, 61), 7)
    middle = 30
    vectors = model.tokens(row).detach().requires_grad_()
    model.tokens.forward = lambda ids: vectors[0]
    model.encode(Batch(row, torch.ones_like(row, dtype=torch.bool)))[0, middle].sum().backward()
    seen = vectors.grad[0].abs().sum(-1).nonzero()[:, 0] - middle
    assert (seen.min(), seen.max()) == (-reach, reach)


def test_dropout_sets_whole_filters_of_a_text_to_zero():
    model = CNN(CNNConfig(**{**SMALL, "width": 300, "dropout": 0.5})).train()
    torch.manual_seed(0)
    batch = batch_of([7, 8, 9, 10])
    states, dropped = model.hidden_states(batch)[-1][0], model.encode(batch)[0]
    is_kept = dropped.any(0)
    assert torch.allclose(dropped, 2 * states * is_kept) and 0.3 < float(is_kept.float().mean()) < 0.7


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"width": 100}, "multiple of 3"), ({"windows": ()}, "--windows 3 4 5"), ({"windows": (0, 3)}, "1 word"), ({"dilation": 0}, "dilation 0")],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(BadInput, match=message):
        CNNConfig(vocab_size=9, **settings)
