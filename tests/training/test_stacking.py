"""Progressive stacking: the blocks of a Transformer join its training one by one, and a block that joins changes nothing at first."""

import shutil

import pytest
import torch
from safetensors.torch import load_file

from stairs.errors import BadInput
from stairs.models.registry import MODELS
from stairs.models.settings import CONFIGS
from stairs.text.batch import Batch
from stairs.training.clock import read_log
from stairs.training.options import TrainingOptions
from stairs.training.stacking import joined_blocks, lowest_blocks, silence_upper_blocks, trained_block_count
from tests.support.tiny import tiny

DEEP = {"layers": 3, "dropout": 0.0, "stacking": 0.5, "patience": 0}


def new_model(name: str, **settings):
    return MODELS[name](CONFIGS[name](vocab_size=50, **{**tiny(name), "layers": 3, "dropout": 0.0, **settings})).eval()


def test_blocks_join_at_equal_intervals_and_all_have_joined_after_the_share():
    assert [joined_blocks(progress, 3, 0.5) for progress in (0.0, 0.24, 0.25, 0.49, 0.5, 1.0)] == [1, 1, 2, 2, 0, 0]
    assert joined_blocks(0.0, 3, 0.0) == joined_blocks(0.0, 1, 0.5) == joined_blocks(0.0, 0, 0.0) == 0  # 0 stands for all


@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_with_norms_before_the_sublayers_a_silent_block_changes_nothing(name):
    model = new_model(name)
    silence_upper_blocks(model)
    ids = torch.randint(5, 50, (2, 7), generator=torch.manual_seed(0))
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool), targets=ids, source=Batch(ids, torch.ones_like(ids, dtype=torch.bool)))
    with torch.no_grad():
        everything = model.loss(batch)
        with lowest_blocks(model, 1):
            assert len(model.blocks) == 1
            first = model.loss(batch)
    assert len(model.blocks) == 3 and torch.allclose(everything, first, atol=1e-6)


def test_a_silent_block_of_bert_changes_no_more_than_a_norm_does():
    model = new_model("bert")
    silence_upper_blocks(model)
    ids = torch.randint(5, 50, (2, 7), generator=torch.manual_seed(0))
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool))
    with torch.no_grad():
        everything = model.encode(batch)
        with lowest_blocks(model, 1):
            first = model.encode(batch)
    assert torch.allclose(everything, first, atol=1e-3)  # new norms have no weights of their own yet


def test_blocks_that_have_not_joined_are_not_trained(train, tmp_path):
    train("gpt", **DEEP, steps=40, save_every=8, keep=10)
    at = {step: load_file(tmp_path / "run" / f"step-{step:09d}" / "model.safetensors") for step in (8, 16, 24)}
    for block, joined in (("blocks.1", (False, True)), ("blocks.2", (False, False))):  # after 10 updates and after 20
        names = [name for name in at[8] if name.startswith(f"{block}.") and "inner" in name]
        assert names and [any(not torch.equal(at[a][name], at[b][name]) for name in names) for a, b in ((8, 8), (8, 16))] == list(joined)
    assert any(not torch.equal(at[16][name], at[24][name]) for name in at[16] if name.startswith("blocks.2."))


def test_the_clock_says_which_blocks_were_trained(train, tmp_path):
    train("gpt", **DEEP, budget="3s", steps=60)
    blocks = [action.blocks for action in read_log(tmp_path / "run" / "clock.jsonl") if action.kind == "update"]
    assert blocks[0] == 1 and blocks[-1] == 0 and blocks == sorted(blocks, key=lambda count: count or 3)


def test_a_run_that_is_extended_goes_on_with_all_blocks(train, tmp_path):
    train("gpt", **DEEP, steps=20)
    shutil.rmtree(tmp_path / "run" / "model")
    train("gpt", **DEEP, steps=44, save_every=2, keep=20)  # 20 of 44 is less than half
    before, after = (load_file(tmp_path / "run" / f"step-{step:09d}" / "model.safetensors") for step in (20, 22))
    assert all(not torch.equal(before[name], after[name]) for name in before if name.startswith("blocks.2.") and "inner" in name)


def test_blocks_with_a_state_of_the_optimizer_have_been_trained():
    model = new_model("gpt")
    assert trained_block_count(model, {}) == 0
    assert trained_block_count(model, {weight: {} for weight in model.blocks[:2].parameters()}) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [({"shard": True}, "--shard"), ({"compile": True}, "--compile"), ({"init_from": "run"}, "--init-from")],
)
def test_what_stacking_does_not_go_with_is_one_sentence(options, words):
    with pytest.raises(BadInput, match=rf"--stacking .* does not go with {words}"):
        TrainingOptions(stacking=0.5, **options).check()


def test_models_without_blocks_refuse_it():
    for options in ({"stacking": 0.5}, {"skipgram_tokens": 100}):
        with pytest.raises(BadInput, match="is for Transformers, and nnlm is none"):
            TrainingOptions(**options).validated(MODELS["nnlm"])
