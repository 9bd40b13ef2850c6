"""A head begins by looking at the token beside its own."""

import pytest
import torch

from stairs.layers.capture import capture
from stairs.models import bert
from stairs.models.bert import BERT
from stairs.models.settings import BERTConfig
from stairs.text.batch import Batch


@pytest.mark.parametrize(("width", "heads"), [(64, 2), (128, 4)])
def test_each_head_attends_mostly_to_its_neighbour(width: int, heads: int) -> None:
    model = BERT(BERTConfig(vocab_size=50, width=width, heads=heads, layers=2, context=40)).eval()
    ids = torch.randint(5, 50, (3, 30), generator=torch.Generator().manual_seed(0))
    with capture(model) as seen:
        model.encode(Batch(ids, ids >= 0))
    for head, offset in enumerate([-1, 1, -2, 2][:heads]):
        looked = seen["blocks.0.attention"][:, head, 4:-4]
        beside = torch.arange(4, 26) + offset
        probability = looked[:, torch.arange(22), beside].mean()
        assert probability > 3 / 30, f"head {head} gives {probability:.3f} to the token {offset} away, and the mean is 1/30"
        assert looked.mean(0).argmax(-1).sub(beside).abs().float().mean() < 1


@pytest.mark.parametrize(("width", "heads"), [(64, 2), (128, 4), (256, 4)])
def test_heads_stay_with_their_neighbours_when_token_vectors_have_grown_as_they_do_in_training(width: int, heads: int) -> None:
    model = BERT(BERTConfig(vocab_size=50, width=width, heads=heads, layers=1, context=40)).eval()
    with torch.no_grad():
        model.tokens.weight.div_(model.tokens.weight.norm(dim=1, keepdim=True))
    ids = torch.randint(5, 50, (3, 30), generator=torch.Generator().manual_seed(0))
    with capture(model) as seen:
        model.encode(Batch(ids, ids >= 0))
    for head, offset in enumerate([-1, 1]):
        near = sum(seen["blocks.0.attention"][:, head].diagonal(own, -2, -1).mean() for own in (offset - 1, offset, offset + 1))
        assert near > 6 / 30, f"head {head} gives {near:.3f} to three tokens around its neighbour, and the mean is 3/30"


@pytest.mark.parametrize(("width", "heads"), [(6, 2), (4, 4), (36, 4)])
def test_rows_of_a_head_that_no_wave_fits_into_stay_as_they_were(width: int, heads: int, monkeypatch) -> None:
    config = BERTConfig(vocab_size=20, width=width, heads=heads, layers=1, context=8)
    local = BERT(config)
    monkeypatch.setattr(bert, "init_local_heads", lambda *given: None)
    plain = BERT(config)
    size = width // heads
    waves = size // 2 * 2  # a wave takes two rows
    for name in ("query", "key"):
        ours, theirs = (getattr(model.blocks[0].attention, name).weight.reshape(heads, size, width) for model in (local, plain))
        assert torch.equal(ours[:, waves:], theirs[:, waves:])
        assert (ours[:, :waves] != theirs[:, :waves]).all()
    assert torch.equal(local.positions.weight, plain.positions.weight) == (waves == 0)


def test_the_beginning_follows_from_the_seed() -> None:
    models = [BERT(BERTConfig(vocab_size=20, width=16, heads=2, layers=1, context=8)) for _ in range(3)]
    models[2].initialize(1)
    tables = [model.positions.weight for model in models]
    assert torch.equal(tables[0], tables[1])
    assert not torch.equal(tables[0], tables[2])
