"""Training GPT beside `transformers`' GPT-2: the same weights, rows and thread count; tokens/s, ratio, and the loss of both.

python benchmarks/gpt_train.py [--size mini] [--vocabulary 8192] [--batch-tokens 4096] [--steps 4] [--threads 1] [--repeats 3]

"shipped" is the peer's own defaults (dropout 0.1, float32, plain AdamW); "best flags" has bfloat16 where it is native, no dropout and
the fused AdamW.
"""

import argparse
import copy
import lzma
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from gpt_peer import gpt2
from side_by_side import PRECISIONS, conditions, data, in_turn
from stairs.models.gpt import GPT
from stairs.models.settings import SIZES, GPTConfig
from stairs.text.batch import Batch
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec

BYTES = 4_000_000
LEARNING_RATE = 1e-3


class Trainer:
    """A model, its optimizer and its update."""

    def __init__(self, model: nn.Module, loss: Callable[[nn.Module, Tensor], Tensor], *, fused: bool, bf16: bool) -> None:
        self.model = copy.deepcopy(model).train()
        self.loss = loss
        self.bf16 = bf16
        self.optimizer = torch.optim.AdamW(self.model.parameters(), LEARNING_RATE, fused=fused or None)
        self.losses: list[float] = []

    def train(self, rows: list[Tensor]) -> None:
        for number, row in enumerate(rows):
            torch.manual_seed(number)
            with torch.autocast("cpu", torch.bfloat16) if self.bf16 else nullcontext():
                loss = self.loss(self.model, row)
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.losses.append(float(loss.detach()))


def our_loss(model: nn.Module, rows: Tensor) -> Tensor:
    return model.loss(Batch(rows[:, :-1], torch.ones_like(rows[:, :-1], dtype=torch.bool), rows[:, 1:]))


def their_loss(model: nn.Module, rows: Tensor) -> Tensor:
    return model(rows[:, :-1], labels=rows[:, 1:], shift_labels=rows[:, 1:].contiguous()).loss


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="mini")
    parser.add_argument("--vocabulary", type=int, default=8192)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config = GPTConfig(vocab_size=options.vocabulary, **{**SIZES["gpt"][options.size], "dropout": 0.0})
    batches = text_rows(options.vocabulary, config.context, options.batch_tokens // config.context, options.steps)
    plain, dropping = GPT(config), GPT(replace(config, dropout=0.1))
    trainers = {
        "transformers shipped": Trainer(gpt2(plain, 0.1), their_loss, fused=False, bf16=False),
        "transformers fp32, no dropout": Trainer(gpt2(plain), their_loss, fused=False, bf16=False),
        "transformers best flags": Trainer(gpt2(plain), their_loss, fused=True, bf16="bf16" in PRECISIONS),
        "ours fp32, dropout 0.1": Trainer(dropping, our_loss, fused=True, bf16=False),
        "ours fp32": Trainer(plain, our_loss, fused=True, bf16=False),
    }
    if "bf16" in PRECISIONS:
        trainers["ours bf16, dropout 0.1"] = Trainer(dropping, our_loss, fused=True, bf16=True)
        trainers["ours bf16"] = Trainer(plain, our_loss, fused=True, bf16=True)
    taken = in_turn({name: lambda trainer=trainer: trainer.train(batches) for name, trainer in trainers.items()}, options.repeats)
    tokens = sum(row[:, 1:].numel() for row in batches)
    print(f"GPT {options.size}, vocabulary {options.vocabulary}, {options.batch_tokens} tokens a step, {options.threads} threads; {conditions()}")
    shipped, best = taken["transformers shipped"], taken["transformers best flags"]
    for name, seconds in taken.items():
        losses = trainers[name].losses
        wall, cpu = ([f"{peer[kind] / seconds[kind]:.2f}x" for peer in (shipped, best)] for kind in ("wall", "cpu"))
        print(
            f"  {name:30} {tokens / seconds['wall']:7.0f} tokens/s   {wall[0]} shipped {wall[1]} best flags   (CPU {cpu[0]} {cpu[1]})"
            f"   loss {losses[0]:.5f} -> {losses[-1]:.5f}"
        )


def text_rows(vocabulary: int, context: int, rows: int, steps: int) -> list[Tensor]:
    """Rows of real text, one id longer than the context."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "wiki.txt"
        with lzma.open(data("corpora/wiki_en.txt.xz")) as packed:
            text.write_bytes(packed.read(BYTES).rpartition(b"\n")[0])
        ids = np.array(build_shards(Corpus([text]), TokenizerSpec("bpe", vocab_size=vocabulary), cache=Path(folder)).ids("train")).astype(np.int64)
    shape = (steps, rows, context + 1)
    return list(torch.from_numpy(ids[: np.prod(shape)].reshape(shape)))


if __name__ == "__main__":
    main()
