"""Words from their letters: the convolution, the highways, and independence of who stands beside whom."""

import torch
from torch import nn

from stairs.layers import characters
from stairs.layers.characters import PAD, CharacterCNN, Highway, distinct
from stairs.layers.initial import initialize

WORDS = torch.tensor([[1, 9, 2, 0, 0, 0, 0], [1, 10, 11, 12, 13, 14, 2], [1, 9, 9, 12, 2, 0, 0]])


def build():
    layer = CharacterCNN(20, 4, (3, 5, 2), 2, 6)
    initialize(layer, 3, None)
    layer.initialize()
    return layer


def test_it_is_the_convolution_of_the_paper():
    layer = build()
    word = WORDS[1]
    vectors = layer.codes(torch.cat([word, torch.zeros(2, dtype=torch.int64)]))
    found = []
    for size, part in enumerate(layer.filters, 1):
        convolution = nn.Conv1d(4, part.out_features, size)
        convolution.weight.data = part.weight.data.view(-1, size, 4).transpose(1, 2)
        convolution.bias.data = part.bias.data
        found.append(convolution(vectors.T[None])[0, :, : len(word)].amax(-1))
    x = torch.cat(found).relu()
    for highway in layer.highways:
        gate = torch.sigmoid(highway.gate(x))
        x = gate * torch.relu(highway.change(x)) + (1 - gate) * x
    assert torch.allclose(layer(WORDS[1:2])[0], layer.projection(x), atol=1e-6)


def test_neighbours_order_and_padding_change_nothing(monkeypatch):
    layer = build()
    alone = torch.cat([layer(word[None, : int((word != PAD).sum())]) for word in WORDS])
    assert torch.allclose(layer(WORDS), alone, atol=1e-6)
    monkeypatch.setattr(characters, "WORDS_AT_ONCE", 2)
    assert torch.allclose(layer(WORDS[[2, 0, 1]]), alone[[2, 0, 1]], atol=1e-6)


def test_a_highway_begins_by_letting_most_pass():
    layer, x = build(), torch.randn(5, 10)
    assert all((highway(x) - x).norm() < 0.5 * x.norm() for highway in layer.highways if isinstance(highway, Highway))


def test_every_different_word_is_found_once():
    ids = torch.tensor([7, 3, 7, 7, 3])
    where, inverse = distinct(ids)
    assert ids[where].tolist() == [3, 7] and torch.equal(ids[where][inverse], ids)
