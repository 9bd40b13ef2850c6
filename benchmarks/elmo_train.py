"""Training ELMo beside a straightforward one in PyTorch: the same weights, rows and steps; tokens/s, ratio, and the perplexity of both at the end.

python benchmarks/elmo_train.py [--size mini] [--steps 150] [--more 1.5] [--batch-tokens 2048] [--threads 1] [--bytes 16000000]

A sampled softmax learns less from a step than a full one, so ours takes `--more` times the steps; the ratio is that of the CPU time of all of them.

The peer reads 50 characters of every word of the batch; it has Conv1d convolutions, PyTorch's LSTMs with a projection, a softmax over all words, and
the fused AdamW, in float32 and, where that is native, also in bfloat16. No published trainer installs today, so it is written here in the usual way.
"""

import argparse
import lzma
import math
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from side_by_side import PRECISIONS, conditions, data
from stairs.models.elmo import ELMo
from stairs.models.settings import SIZES, ELMoConfig
from stairs.tasks import BidirectionalLM
from stairs.text.batch import Batch
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec

LETTERS, LEARNING_RATE, TURN = 50, 2e-3, 10


class Plain(nn.Module):
    """The model of the paper, in plain PyTorch."""

    def __init__(self, ours: ELMo, letters: Tensor) -> None:
        super().__init__()
        config, own = ours.config, ours.characters
        self.register_buffer("letters", letters)
        self.codes = nn.Embedding(*own.codes.weight.shape)
        self.convolutions = nn.ModuleList(nn.Conv1d(config.character_width, count, size) for size, count in enumerate(config.filters, 1))
        self.gates, self.changes = (nn.ModuleList(nn.Linear(sum(config.filters), sum(config.filters)) for _ in own.highways) for _ in range(2))
        self.projection = nn.Linear(sum(config.filters), config.width)
        self.forwards, self.backwards = (
            nn.ModuleList(nn.LSTM(config.width, config.hidden, proj_size=config.width, batch_first=True) for _ in range(config.layers))
            for _ in range(2)
        )
        self.output = nn.Linear(config.width, ours.output_vocab)
        self.unknown, self.dropout = config.unknown, nn.Dropout(config.dropout)
        self.take(ours)

    @torch.no_grad()
    def take(self, ours: ELMo) -> None:
        """Our weights, so that both start equal."""
        self.codes.load_state_dict(ours.characters.codes.state_dict())
        for size, (own, theirs) in enumerate(zip(ours.characters.filters, self.convolutions, strict=True), 1):
            theirs.weight.copy_(own.weight.view(len(own.weight), size, -1).transpose(1, 2))
            theirs.bias.copy_(own.bias)
        for highway, gate, change in zip(ours.characters.highways, self.gates, self.changes, strict=True):
            gate.load_state_dict(highway.gate.state_dict())
            change.load_state_dict(highway.change.state_dict())
        self.projection.load_state_dict(ours.characters.projection.state_dict())
        for name in ("forwards", "backwards"):
            for own, theirs in zip(getattr(ours, name), getattr(self, name), strict=True):
                theirs.load_state_dict(own.fused.state_dict())
        self.output.weight.copy_(ours.output_words.weight)
        self.output.bias.copy_(ours.output_bias)

    def words(self, ids: Tensor) -> Tensor:
        letters = self.codes(self.letters[ids.flatten()]).transpose(1, 2)
        x = torch.cat([convolution(letters).amax(-1) for convolution in self.convolutions], -1).relu()
        for gate, change in zip(self.gates, self.changes, strict=True):
            open_by = gate(x).sigmoid()
            x = open_by * change(x).relu() + (1 - open_by) * x
        return self.projection(x).unflatten(0, ids.shape)

    def run_layers(self, layers: nn.ModuleList, x: Tensor) -> Tensor:
        for number, layer in enumerate(layers):
            outputs = layer(self.dropout(x))[0]
            x = outputs + x if number else outputs
        return self.dropout(x)

    def loss(self, rows: Tensor) -> Tensor:
        ids = rows[:, :-1]
        x = self.words(ids)
        from_left = self.output(self.run_layers(self.forwards, x))
        from_right = self.output(self.run_layers(self.backwards, x.flip(1)).flip(1))
        wanted = rows.where(rows < self.output.out_features, self.unknown)
        logits = torch.cat([from_left.flatten(0, 1), from_right[:, 1:].flatten(0, 1)])
        return cross_entropy(logits.float(), torch.cat([wanted[:, 1:].flatten(), wanted[:, :-2].flatten()]))


class Trainer:
    def __init__(self, model: nn.Module, loss: Any, bf16: bool) -> None:
        self.model, self.loss, self.bf16 = model.train(), loss, bf16
        self.optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE, fused=True)
        self.cpu = 0.0

    def train(self, rows: list[Tensor], first: int, steps: int) -> None:
        began = time.process_time()
        for number, row in enumerate(rows, first):
            for group in self.optimizer.param_groups:
                group["lr"] = LEARNING_RATE * min(1.0, (number + 1) / 20) * (1 - number / steps)
            torch.manual_seed(number)
            with torch.autocast("cpu", torch.bfloat16) if self.bf16 else nullcontext():
                loss = self.loss(self.model, row)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        self.cpu += time.process_time() - began


def batch_of(rows: Tensor) -> Batch:
    return Batch(rows[:, :-1].contiguous(), torch.ones_like(rows[:, :-1], dtype=torch.bool), rows[:, 1:].contiguous())


@torch.no_grad()
def perplexity(trainer: Trainer, rows: list[Tensor]) -> float:
    """Perplexity of held-out rows in both directions, by the full softmax."""
    trainer.model.eval()
    return math.exp(np.mean([float(trainer.loss(trainer.model, row)) for row in rows]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="mini")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--more", type=float, default=1.5)
    parser.add_argument("--alone", action="store_true", help="without the peer")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bytes", type=int, default=16_000_000)
    parser.add_argument("--output-vocab", type=int, default=32768)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        with lzma.open(data("corpora/wiki_en.txt.xz")) as packed:
            text.write_bytes(packed.read(options.bytes).rpartition(b"\n")[0])
        shards = build_shards(Corpus(text), TokenizerSpec("words"))
        ids, held_out = np.asarray(shards.ids("train")).astype(np.int64), np.asarray(shards.ids("test")).astype(np.int64)
    config = ELMoConfig(**shards.tokenizer.vocabulary_settings, **{**SIZES["elmo"][options.size], "output_vocab": options.output_vocab,
        "softmax": "sampled"})
    length, longer = config.context + 1, round(options.steps * options.more)

    def rows(stream: np.ndarray, count: int) -> list[Tensor]:
        starts = np.random.default_rng(0).integers(0, len(stream) - length, (count, options.batch_tokens // config.context))
        return [torch.from_numpy(stream[own[:, None] + np.arange(length)]) for own in starts]

    task = BidirectionalLM(ELMo(config), shards.tokenizer)
    ours = task.model
    wide = BidirectionalLM(ELMo(ELMoConfig(**{**task.model.describe(), "max_word_length": LETTERS - 2})), shards.tokenizer).tokenizer
    letters = wide.character_ids(torch.arange(shards.tokenizer.vocab_size))
    kinds = [kind for kind in PRECISIONS if kind != "int8"]
    trainers = {f"plain, {kind}": Trainer(Plain(ours, letters), lambda model, row: model.loss(row), kind == "bf16") for kind in kinds}
    trainers[f"ours, {kinds[-1]}"] = Trainer(ours, lambda model, row: model.loss(task.add_characters(batch_of(row))), kinds[-1] == "bf16")
    trainers = {name: trainer for name, trainer in trainers.items() if trainer.model is ours or not options.alone}
    batches = rows(ids, longer)
    for first in range(0, longer, TURN):
        for trainer in trainers.values():
            steps = longer if trainer.model is ours else options.steps
            trainer.train(batches[first : min(first + TURN, steps)], first, steps)
    judging = rows(held_out, 8)
    print(f"{shards.tokenizer.vocab_size} words to read, {ours.output_vocab} to say, steps of {options.batch_tokens} words; {conditions()}")
    print(f"{'':14}{'steps':>7}{'words/CPU-s':>12}{'CPU-s':>8}{'ratio':>8}{'perplexity':>12}")
    first_cpu = next(iter(trainers.values())).cpu
    for name, trainer in trainers.items():
        steps = longer if trainer.model is ours else options.steps
        speed = steps * options.batch_tokens / trainer.cpu
        print(f"{name:14}{steps:7d}{speed:12.0f}{trainer.cpu:8.0f}{first_cpu / trainer.cpu:8.2f}{perplexity(trainer, judging):12.1f}", flush=True)


if __name__ == "__main__":
    main()
