"""Settings of the attention that do not fit one another are refused in a sentence."""

import math

import pytest
import torch

from stairs.errors import BadInput
from stairs.layers.block import Attention
from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.text.batch import Batch

REFUSALS = [
    ("gpt", {"attention_pattern": "linformer"}, "gpt attends only to earlier ones"),
    ("bert", {"attention_pattern": "linformer", "objective": "prefix"}, "objective prefix hides words from one another"),
    ("bert", {"attention_pattern": "linformer", "rank": 128}, "a rank of 128 saves nothing in a context of 128"),
    ("bert", {"attention_pattern": "linformer", "positions": "relative"}, "relative ones need the distance of each"),
    ("gpt", {"attention_pattern": "window", "radius": 256}, "a radius of 256 covers the context of 256"),
    ("gpt", {"attention_pattern": "window", "radius": 0}, "radius 0 is not between 1"),
    ("gpt", {"attention_pattern": "sparse", "radius": 48}, "a block of 32 tokens does not divide the radius of 48"),
    ("bert", {"attention_pattern": "sparse", "block": 256, "radius": 64}, "a block of 256 tokens is longer than the context of 128"),
    ("transformer", {"positions": "rotary", "width": 6, "heads": 2}, "even width"),
    ("bert", {"positions": "relative", "score": "additive"}, "which the additive score does not multiply"),
    ("bert", {"positions": "transformer-xl", "score": "additive"}, "transformer-xl positions are added to keys"),
    ("gpt", {"positions": "transformer-xl", "width": 27, "heads": 3}, "need an even width, got 27"),
    ("gpt", {"score": "folded", "share_projections": "qk"}, "share-projections qk also gives to the key"),
    ("transformer", {"cross_heads": 7}, "7 heads cannot share a width of 256"),
    ("gpt", {"memory": 64}, "a memory of 64 tokens is read by how far away they are, which --positions learned does not allow; choose rotary"),
    ("gpt", {"memory": 64, "positions": "rotary", "attention_pattern": "window"}, "which --attention-pattern window does not allow; choose full"),
    ("gpt", {"memory": -1}, "memory -1 is not between 0"),
    ("gpt", {"max_distance": 0}, "max_distance 0 is not between 1"),
]


@pytest.mark.parametrize(("name", "settings", "sentence"), REFUSALS)
def test_what_does_not_fit_is_refused_in_a_sentence(name, settings, sentence):
    with pytest.raises(BadInput, match=sentence):
        CONFIGS[name](vocab_size=30, **settings)


def test_relative_positions_do_not_fit_weights_that_have_none():
    plain = MODELS["gpt"](CONFIGS["gpt"](vocab_size=30, width=16, heads=2, layers=1))
    relative = MODELS["gpt"](CONFIGS["gpt"](vocab_size=30, width=16, heads=2, layers=1, positions="relative"))
    with pytest.raises(BadInput, match=r"the saved tensors do not fit this gpt: blocks\.0\.attention\.positions\.key_vectors\.weight missing"):
        relative.restore(plain.tensors())


@pytest.mark.parametrize("name", ["gpt", "bert", "transformer"])
def test_folded_scores_start_as_scaled_ones(name):
    settings = {"vocab_size": 30, "width": 16, "heads": 2, "layers": 2, "dropout": 0.0}
    scaled, folded = (MODELS[name](CONFIGS[name](**settings, score=score)).eval() for score in ("scaled", "folded"))
    ids = torch.randint(5, 30, (2, 9))
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool))
    batch = Batch(ids, batch.real, source=batch) if name == "transformer" else batch
    assert torch.allclose(scaled.encode(batch), folded.encode(batch), atol=1e-5)
    ratios = {
        round(float((own.get_parameter("query.weight").norm() / other.get_parameter("query.weight").norm()).detach()), 4)
        for own, other in zip(scaled.modules(), folded.modules(), strict=True) if isinstance(own, Attention)
    }
    assert ratios == {round(math.sqrt(8), 4)}


def test_without_positions_a_bert_reads_a_bag_of_words():
    model = MODELS["bert"](CONFIGS["bert"](vocab_size=30, width=16, heads=2, layers=2, positions="none", dropout=0.0)).eval()
    ids, order = torch.randint(5, 30, (1, 9)), torch.randperm(9)
    real = torch.ones_like(ids, dtype=torch.bool)
    assert torch.allclose(model.encode(Batch(ids, real))[:, order], model.encode(Batch(ids[:, order], real)), atol=1e-5)
