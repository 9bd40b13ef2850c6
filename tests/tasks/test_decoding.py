"""Choosing what to say: greedy, sampled, cut to the likeliest, several prompts at once."""

import numpy as np
import pytest
import torch

from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.tasks.parts.decoding import generate, generate_batch, sample_token
from tests.support.tiny import tiny

STOP, SUPPRESSED = 3, [0, 1, 2, 4]
PROMPTS = [[2, 5, 6], [2, 7], [2, 9, 8], [2]]


def model_of(name):
    model = MODELS[name](CONFIGS[name](vocab_size=20, **tiny(name))).eval()
    if model.learns_by == "counting":
        random = np.random.default_rng(0)
        model.count(np.concatenate([np.append(random.integers(5, 20, 6), STOP) for _ in range(50)]).astype(np.uint16))
    return model


@pytest.mark.parametrize("name", ["ngram", "nnlm", "gpt"])
@pytest.mark.parametrize("options", [{}, {"temperature": 1.0, "seed": 4}, {"temperature": 0.7, "top_k": 5, "top_p": 0.9}], ids=str)
def test_several_at_once_say_what_each_says_alone(name, options):
    model = model_of(name)
    options = {"length": 8, "stop": STOP, "suppressed_ids": SUPPRESSED, **options}
    together = generate_batch(model, PROMPTS, **options)
    assert together == [generate(model, prompt, **options) for prompt in PROMPTS]
    assert together == generate_batch(model, PROMPTS, **options)
    assert all(len(output_ids) <= 8 and STOP not in output_ids and not set(output_ids) & set(SUPPRESSED) for output_ids in together)


def test_more_is_said_than_the_context_holds():
    output_ids = generate(model_of("gpt"), PROMPTS[0], length=60, stop=-1, suppressed_ids=SUPPRESSED)
    assert len(output_ids) == 60


def test_top_k_and_top_p_leave_only_the_likeliest():
    logits = torch.log(torch.tensor([0.1, 0.5, 0.3, 0.1]))
    for top_k, top_p, left in ((2, 1.0, {1, 2}), (0, 0.4, {1}), (0, 1.0, {0, 1, 2, 3})):
        assert {int(sample_token(logits, 1.0, top_k, top_p, seed, 0)) for seed in range(200)} == left
    assert int(sample_token(logits, 0.0, 0, 1.0, 0, 0)) == 1


def test_nothing_asked_nothing_said():
    assert generate_batch(model_of("nnlm"), PROMPTS, length=0, stop=STOP) == [[], [], [], []]
    assert generate_batch(model_of("nnlm"), [], length=3, stop=STOP) == []
