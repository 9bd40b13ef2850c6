"""Transformer-XL's memory: read by every block, learnt from by none, and text that was there before."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.models.gpt import GPT
from stairs.models.settings import GPTConfig
from stairs.tasks.parts.stream import StreamExamples, bits_of_rows
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.train_job import TrainJob

CONTEXT, MEMORY, VOCABULARY = 8, 5, 30


def build(**changes) -> GPT:
    settings = {"positions": "rotary", "context": CONTEXT, "memory": MEMORY, "width": 16, "heads": 2, "layers": 3, "dropout": 0.0, **changes}
    model = GPT(GPTConfig(vocab_size=VOCABULARY, **settings)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4)  # so that attention is far from uniform
    return model


def rows(count: int = 3, memory: int = MEMORY) -> Batch:
    """Random ids; those of the memory are no targets. The last row ends with padding."""
    random = torch.Generator().manual_seed(0)
    ids, targets = (torch.randint(5, VOCABULARY, (count, memory + CONTEXT), generator=random) for _ in range(2))
    real = torch.ones_like(ids, dtype=torch.bool)
    real[-1, -3:] = False
    targets[:, :memory] = IGNORE_INDEX
    return Batch(ids, real, targets.masked_fill(~real, IGNORE_INDEX))


KINDS = [{"positions": kind} for kind in ("rotary", "relative", "buckets", "transformer-xl")]


@pytest.mark.parametrize("changes", [*KINDS, {"norm_first": False}, {"share_projections": "kv"}])
def test_a_row_after_its_memory_is_the_end_of_both_read_as_one(changes):
    model, batch = build(**changes), rows()
    hidden = model.hidden(batch)
    assert hidden.requires_grad and not hidden[:, :MEMORY].any()
    has_target = batch.targets != IGNORE_INDEX
    assert torch.allclose(hidden[has_target], model.encode(batch)[has_target], atol=1e-5)
    with torch.no_grad():
        assert torch.allclose(model.loss(batch), model.loss(batch, hidden), atol=1e-5)


def test_the_gradient_is_that_of_blocks_which_read_fixed_states():
    """By hand: the inputs of each block at the memory are computed first and are constants then."""
    model, batch = build(), rows()
    model.loss(batch).backward()
    gradients = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    positions = torch.arange(MEMORY + CONTEXT)
    mask = torch.ones(MEMORY + CONTEXT, MEMORY + CONTEXT, dtype=torch.bool).tril() & batch.real[:, None]
    states = [model.tokens(batch.ids)]
    for block in model.blocks:
        states.append(block(states[-1], mask, position_ids=positions))
    x = model.tokens(batch.ids[:, MEMORY:])
    for block, state in zip(model.blocks, states, strict=False):
        whole = block.attention_norm(torch.cat([state[:, :MEMORY].detach(), x], 1))
        x = x + block.attention(whole, mask=mask, position_ids=positions)[:, MEMORY:]
        x = x + block.feed_forward(block.feed_forward_norm(x))
    model.loss(replace(batch, targets=batch.targets[:, MEMORY:]), model.norm(x)).backward()
    for name, weight in model.named_parameters():
        assert torch.allclose(gradients[name], weight.grad, atol=1e-5), name


def test_no_gradient_reaches_the_memory_and_every_block_reads_it():
    model, batch = build(tie_embeddings=False), rows()
    ids = batch.ids.clamp(min=7)
    ids[:, 0] = 5  # a token of the memory alone
    batch = replace(batch, ids=ids)
    loss = model.loss(batch)
    loss.backward()
    assert not model.tokens.weight.grad[5].any() and model.tokens.weight.grad[7:].any()
    other = ids.clone()
    other[:, 0] = 6
    assert not torch.allclose(model.loss(replace(batch, ids=other)), loss, atol=1e-4)


def test_no_position_peeks_past_its_memory():
    model, batch = build(), rows(1)
    changed = batch.ids.clone()
    changed[:, -4:] = 9
    before, after = model.hidden(batch), model.hidden(replace(batch, ids=changed, real=torch.ones_like(batch.real)))
    assert torch.allclose(before[:, :-4], after[:, :-4], atol=1e-6) and not torch.allclose(before[:, -4:], after[:, -4:], atol=1e-3)


def test_held_out_text_is_predicted_once_each_token_from_at_least_the_memory():
    model = build()
    ids = np.random.default_rng(0).integers(5, VOCABULARY, 40).astype(np.uint16)
    bits, tokens = bits_of_rows(model, ids)
    assert tokens.sum() == len(ids)
    stream = torch.tensor([Tokenizer.begin, *ids.tolist()])
    total = 0.0
    for target in range(1, len(stream)):
        reads = 0 if target <= CONTEXT + MEMORY else (target - 1 - MEMORY) // CONTEXT * CONTEXT  # where the row of this target begins
        row = stream[reads:target][None]
        assert target <= MEMORY or row.shape[1] > MEMORY
        total -= model.predict(Batch(row, torch.ones_like(row, dtype=torch.bool)))[0, -1].log_softmax(-1)[stream[target]].item() / math.log(2)
    assert math.isclose(bits.sum(), total, rel_tol=1e-5)


def test_generation_keeps_context_and_memory_and_then_the_memory():
    model = build()
    row = torch.randint(5, VOCABULARY, (1, 2 * CONTEXT + MEMORY), generator=torch.Generator().manual_seed(1))
    state = None
    for position in range(row.shape[1]):
        logits, state = model.decode_step(row[:, position], state)
        start = 0 if position < CONTEXT + MEMORY else CONTEXT
        read = row[:, start : position + 1]
        assert torch.allclose(logits, model.predict(Batch(read, torch.ones_like(read, dtype=torch.bool)))[:, -1], atol=1e-4)


@pytest.fixture
def shards(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join(f"the cat number {i} sat .\nit ran to number {i} ." for i in range(60)))
    return build_shards(Corpus(path), TokenizerSpec("words"), cache=tmp_path / "cache")


def test_rows_come_with_the_tokens_before_them(shards):
    plain, with_memory = StreamExamples(shards, "train", CONTEXT), StreamExamples(shards, "train", CONTEXT, before=MEMORY)
    numbers = np.arange(1, len(plain.lengths))
    expected, batch = plain.batch(numbers, 0, 0), with_memory.batch(numbers, 0, 0)
    assert torch.equal(batch.ids[:, MEMORY:], expected.ids) and torch.equal(batch.targets[:, MEMORY:], expected.targets)
    assert (batch.targets[:, :MEMORY] == IGNORE_INDEX).all()
    assert torch.equal(batch.ids[1:, :MEMORY], expected.ids[:-1, -MEMORY:])


def test_a_memory_longer_than_the_text_is_refused_with_the_count(shards):
    count = len(shards.ids("train"))
    with pytest.raises(BadInput, match=f"{count} tokens, no more than a memory of {count} and a context of 8; give .* a smaller --memory"):
        StreamExamples(shards, "train", CONTEXT, before=count)


def test_the_flag_alone_means_rotary_positions():
    job = TrainJob.from_keywords("gpt", "notes.txt", {"memory": 64})
    assert job.config(vocab_size=30).positions == "rotary"
    assert TrainJob.from_keywords("gpt", "notes.txt", {"memory": 64, "positions": "buckets"}).config(vocab_size=30).positions == "buckets"
    assert TrainJob.from_keywords("gpt", "notes.txt", {}).config(vocab_size=30).positions == "learned"
    with pytest.raises(BadInput, match="choose rotary, relative, buckets or transformer-xl"):
        TrainJob.from_keywords("gpt", "notes.txt", {"memory": 64, "positions": "learned"}).config(vocab_size=30)
