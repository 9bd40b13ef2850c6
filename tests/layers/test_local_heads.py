"""A head begins by looking at the token beside its own."""

import pytest
import torch

from stairs.inspection.capture import capture
from stairs.models.bert import BERT
from stairs.models.settings import BERTConfig
from stairs.text.batch import Batch


@pytest.mark.parametrize(("width", "heads"), [(64, 2), (128, 4)])
def test_each_head_looks_mostly_at_its_neighbour(width: int, heads: int) -> None:
    model = BERT(BERTConfig(vocab_size=50, width=width, heads=heads, layers=2, context=40)).eval()
    ids = torch.randint(5, 50, (3, 30), generator=torch.Generator().manual_seed(0))
    with capture(model) as seen:
        model.encode(Batch(ids, ids >= 0))
    for head, offset in enumerate([-1, 1, -2, 2][:heads]):
        looked = seen["blocks.0.attention"][:, head, 4:-4]
        told = torch.arange(4, 26) + offset
        probability = looked[:, torch.arange(22), told].mean()
        assert probability > 3 / 30, f"head {head} gives {probability:.3f} to the token {offset} away, and the mean is 1/30"
        assert looked.mean(0).argmax(-1).sub(told).abs().float().mean() < 1


@pytest.mark.parametrize(("width", "heads"), [(6, 2), (4, 4), (36, 4)])
def test_heads_too_narrow_for_waves_are_left_as_they_are(width: int, heads: int) -> None:
    model = BERT(BERTConfig(vocab_size=20, width=width, heads=heads, layers=1, context=8))
    assert all(torch.isfinite(parameter).all() for parameter in model.parameters())


def test_the_beginning_follows_from_the_seed() -> None:
    models = [BERT(BERTConfig(vocab_size=20, width=16, heads=2, layers=1, context=8)) for _ in range(3)]
    models[2].initialize(1)
    tables = [model.positions.weight for model in models]
    assert torch.equal(tables[0], tables[1])
    assert not torch.equal(tables[0], tables[2])
