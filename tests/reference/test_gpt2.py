"""GPT is GPT-2: the same weights in `transformers` give the same logits and the same greedy text."""

import sys
from pathlib import Path

import pytest
import torch

from stairs.models.gpt import GPT
from stairs.models.settings import GPTConfig
from stairs.text.batch import Batch, next_token_batch

pytest.importorskip("transformers")
pytestmark = pytest.mark.reference
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture
def pair():
    from gpt_peer import gpt2

    config = GPTConfig(vocab_size=300, context=64, width=48, heads=4, layers=3)
    ours = GPT(config).eval()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.2)  # far from the shy beginning, so that a difference would show
    return ours, gpt2(ours)


def test_logits_and_loss_are_equal(pair):
    ours, theirs = pair
    ids = torch.randint(5, 300, (3, 40))
    real = torch.ones_like(ids, dtype=torch.bool)
    assert (ours.predict(Batch(ids, real)) - theirs(ids).logits).abs().max() < 1e-4
    batch = next_token_batch(ids.tolist(), 2, None, 0)
    labels = torch.cat([torch.full((3, 1), 2), ids], 1)
    assert ours.loss(batch).item() == pytest.approx(theirs(labels, labels=labels).loss.item(), rel=1e-5)


def test_greedy_text_is_equal(pair):
    ours, theirs = pair
    prompt = torch.randint(5, 300, (2, 7))
    expected = theirs.generate(prompt, max_new_tokens=40, do_sample=False, pad_token_id=0, eos_token_id=None)[:, 7:]
    logits, state = ours.prefill(prompt)
    output_ids = []
    for _ in range(40):
        output_ids.append(logits.argmax(-1))
        logits, state = ours.decode_step(output_ids[-1], state)
    assert torch.stack(output_ids, 1).tolist() == expected.tolist()
