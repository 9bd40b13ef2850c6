"""Pretraining BERT beside `transformers`' BertForPreTraining: the same weights, batches and thread count; tokens that are not padding per CPU-second,
the ratio, and the loss of both.

python benchmarks/bert_train.py [--size mini] [--vocabulary 30522] [--rows 32] [--steps 4] [--threads 1] [--repeats 5]

Rows are neighbouring sentences of Wikipedia of their natural length, at most 128 tokens. "shipped" is the peer's own defaults (dropout 0.1, float32,
plain AdamW); "best flags" has bfloat16 where it is native, no dropout and the fused AdamW. Each trains in a process of its
own, since ours tells the allocator to keep freed memory, and they take turns.
"""

import argparse
import lzma
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bert_peer import bert
from side_by_side import PRECISIONS, conditions, data
from stairs.kernels.allocator import keep_freed_memory
from stairs.models.bert import BERT
from stairs.models.settings import SIZES, BERTConfig
from stairs.tasks.parts.masking import Masker, collate_pairs
from stairs.tasks.parts.other_objectives import truncate_pair
from stairs.tasks.parts.sentence_pairs import NEXT, OTHER, SentencePairs, sentence_ends
from stairs.text.batch import Batch
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec

BYTES = 6_000_000
LEARNING_RATE = 1e-4
SECOND = 0.4  # share of parts with a second sentence; rows are then about 60 tokens long
SHIPPED, BEST = "transformers shipped", "transformers best flags"
BF16 = "bf16" in PRECISIONS
SYSTEMS: dict[str, dict[str, Any]] = {
    SHIPPED: {"ours": False, "fused": False, "bf16": False, "dropout": 0.1},
    BEST: {"ours": False, "fused": True, "bf16": BF16, "dropout": 0.0},
    "ours fp32, dropout 0.1": {"ours": True, "fused": True, "bf16": False, "dropout": 0.1},
    "ours fp32": {"ours": True, "fused": True, "bf16": False, "dropout": 0.0},
}
if BF16:
    SYSTEMS["ours bf16, dropout 0.1"] = {"ours": True, "fused": True, "bf16": True, "dropout": 0.1}
    SYSTEMS["ours bf16"] = {"ours": True, "fused": True, "bf16": True, "dropout": 0.0}


class Trainer:
    """A model, its optimizer and its update."""

    def __init__(self, config: BERTConfig, *, ours: bool, fused: bool, bf16: bool, dropout: float) -> None:
        model = BERT(replace(config, dropout=dropout))
        self.model: nn.Module = model if ours else bert(model)
        self.loss: Callable[[nn.Module, Batch], Tensor] = our_loss if ours else their_loss
        self.bf16 = bf16
        self.optimizer = torch.optim.AdamW(self.model.parameters(), LEARNING_RATE, fused=fused or None)

    def train(self, batches: list[Batch]) -> list[float]:
        losses = []
        for number, batch in enumerate(batches):
            torch.manual_seed(number)
            with torch.autocast("cpu", torch.bfloat16) if self.bf16 else nullcontext():
                loss = self.loss(self.model, batch)
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            losses.append(float(loss.detach()))
        return losses


def our_loss(model: nn.Module, batch: Batch) -> Tensor:
    return model.loss(batch)


def their_loss(model: nn.Module, batch: Batch) -> Tensor:
    given = {"attention_mask": batch.real.long(), "token_type_ids": batch.segments, "labels": batch.targets, "next_sentence_label": batch.labels}
    return model(batch.ids, **given).loss


def serve(orders: Connection, config: BERTConfig, settings: dict[str, Any], batches: list[Batch], threads: int) -> None:
    """Train at each request: wall and CPU seconds, and the losses; first the loss of the first batch without dropout."""
    torch.set_num_threads(threads)
    if settings["ours"]:
        keep_freed_memory()
    trainer = Trainer(config, **settings)
    with torch.no_grad():
        orders.send(float(trainer.loss(trainer.model.eval(), batches[0])))
    trainer.model.train()
    trainer.train(batches[:1])  # warm-up: allocates memory and selects kernels
    while orders.recv():
        wall, cpu = time.perf_counter(), time.process_time()
        losses = trainer.train(batches)
        orders.send((time.perf_counter() - wall, time.process_time() - cpu, losses))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="mini")
    parser.add_argument("--vocabulary", type=int, default=30522)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    config = BERTConfig(vocab_size=options.vocabulary, **SIZES["bert"][options.size])
    batches = text_batches(config, options.rows, options.steps)
    tokens, positions = sum(int(batch.real.sum()) for batch in batches), sum(batch.ids.numel() for batch in batches)
    lines: dict[str, Connection] = {}
    for name, settings in SYSTEMS.items():
        lines[name], theirs = get_context("spawn").Pipe()
        get_context("spawn").Process(target=serve, args=(theirs, config, settings, batches, options.threads), daemon=True).start()
    begun = {name: line.recv() for name, line in lines.items()}
    taken: dict[str, list[tuple[float, float, list[float]]]] = {name: [] for name in lines}
    for _ in range(options.repeats):
        for name, line in lines.items():
            line.send(True)
            taken[name].append(line.recv())
    for line in lines.values():
        line.send(False)
    print(f"BERT {options.size}, vocabulary {options.vocabulary}, {options.rows} rows a step, {options.threads} threads; {conditions()}")
    print(f"  {tokens / sum(len(batch.ids) for batch in batches):.0f} tokens a row, {1 - tokens / positions:.0%} padding")
    print(f"  loss of the first batch without dropout: ours {begun['ours fp32']:.6f}, theirs {begun[SHIPPED]:.6f}")
    medians = {name: [statistics.median(one[kind] for one in found) for kind in (0, 1)] for name, found in taken.items()}
    for name, (wall, cpu) in medians.items():
        ratios = [f"{medians[peer][1] / cpu:.2f}x" for peer in (SHIPPED, BEST)]
        walls = [f"{medians[peer][0] / wall:.2f}x" for peer in (SHIPPED, BEST)]
        losses = [*taken[name][0][2], *taken[name][-1][2]]
        print(
            f"  {name:26} {tokens / cpu:6.0f} tokens/CPU-s   {ratios[0]} shipped {ratios[1]} best flags   (wall {tokens / wall:.0f} tokens/s, "
            f"{walls[0]} {walls[1]})   loss {losses[0]:.4f} -> {losses[-1]:.4f}"
        )


def text_batches(config: BERTConfig, rows: int, steps: int) -> list[Batch]:
    """Neighbouring sentences of real text, in random order; half of the second parts come from elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "wiki.txt"
        with lzma.open(data("corpora/wiki_en.txt.xz")) as packed:
            text.write_bytes(packed.read(BYTES).rpartition(b"\n")[0])
        shards = build_shards(Corpus([text]), TokenizerSpec("wordpiece", vocab_size=config.vocab_size), cache=Path(folder))
        source = SentencePairs(np.array(shards.ids("train")), config, shards.tokenizer)
    masks, random, found = Masker(config, shards.tokenizer), np.random.default_rng(0), []
    last = len(source.sizes) - 4
    _, ends_document = sentence_ends(source.ids)
    document = np.cumsum(ends_document) - ends_document  # of each sentence
    while len(found) < rows * steps:
        first, label = int(random.integers(last)), NEXT if random.random() < 0.5 else OTHER
        middle = first + 1 + int(random.random() < SECOND)
        second = middle if label == NEXT else int(random.integers(last))
        a, b = source.sentences(first, middle), source.sentences(second, second + 1)
        if len(a) and len(b) and document[first] == document[middle]:
            found.append(masks.mask(masks.row(truncate_pair(a, b, config.context - 3, random), label), random))
    return [collate_pairs(found[at : at + rows], shards.tokenizer.pad) for at in range(0, len(found), rows)]


if __name__ == "__main__":
    main()
