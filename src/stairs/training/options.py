"""How a training is run: everything that is not the model's own. The flags of `stairs train` are these fields and the words behind them."""

import math
import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from stairs.errors import BadInput

DEFAULT_BUDGET = "10m"
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# What a run may be continued with although it was begun with something else: none of it decides which weights come out.
RESUMABLE = ("evaluate_every", "patience", "save_every", "keep", "compile", "device", "threads", "tensorboard", "shard", "on_disk_full")
NOT_RECORDED = ("accept_new_corpus", "seed")  # said once, or kept elsewhere
Schedule = Literal["linear", "cosine", "hold", "inverse-sqrt", "constant"]


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    steps: int | None = None  # updates of the weights; with --budget, at most so many
    epochs: float | None = None  # passes over the corpus, instead of --steps
    budget: str | None = None  # time for learning and judging, as 90s, 20m or 2h; 10m if neither --steps nor --epochs is given
    batch_tokens: int = 2048  # positions per step, over all workers
    batch_examples: int | None = None  # labelled examples per step, drawn at random, instead
    accumulate: int = 1  # parts each step is computed in, to save memory; the result is the same
    learning_rate: float | None = None  # the highest; the step's own if not given
    schedule: Schedule = "linear"  # how the learning rate falls after the warm-up; hold: in the last fifth only, so that the run can be lengthened
    warmup: float = 0.05  # share of the training in which the learning rate rises
    warmup_steps: int | None = None  # updates in which the learning rate rises, instead of --warmup
    beta1: float = 0.9  # AdamW: decay of the mean of gradients
    beta2: float = 0.95  # AdamW: decay of the mean of squared gradients; short, as GPT-3 has it
    adam_epsilon: float = 1e-8  # AdamW: what is added to the root of the mean of squared gradients
    embedding_lr_scale: float | None = None  # learning rate of the embedding tables, as a multiple of the others'; the model's own if not given
    weight_decay: float = 0.01  # pull of AdamW towards zero, on matrices only
    clip: float = 1.0  # longest gradient; 0 for no limit
    patience: int = 5  # stop after so many evaluations without a better one; 0 never
    evaluate_every: int | None = None  # updates between evaluations on validation text; if not given, a twelfth of --steps, or as a share of --budget
    save_every: int | None = None  # updates between checkpoints; if not given, about 20 seconds
    keep: int = 3  # newest checkpoints kept, besides the best
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # of the arithmetic; auto takes bf16 where the processor has it and a probe finds it faster
    compile: bool = False  # use torch.compile; seldom worth it on a CPU
    device: str = "auto"  # cpu, cuda or cuda:1
    threads: int | None = None  # of the CPU; if not given, one for each core, or with --budget a single one where the first updates are faster so
    tensorboard: bool = False  # write TensorBoard's files too
    shard: bool = False  # under torchrun: divide the weights among the workers (FSDP2), for models that do not fit one of them
    deterministic: bool = False  # cbow, skipgram and glove: the same bits with any number of threads, which is slower
    on_disk_full: Literal["go-on", "stop"] = "go-on"  # what to do when a checkpoint cannot be written
    init_from: str | None = None  # a run whose weights this new run begins with
    accept_new_corpus: bool = False  # go on although the text has changed
    seed: int = 0  # of everything random

    def check(self) -> None:
        """Refuse what cannot be before any work is done."""
        if self.steps is not None and self.epochs is not None:
            raise BadInput("--steps and --epochs both say how long to train; give one of them")
        for name, low, high in (
            ("steps", 1, 10**9), ("batch_tokens", 1, 1 << 30), ("batch_examples", 1, 1 << 20), ("accumulate", 1, 1 << 20),
            ("evaluate_every", 1, 10**9), ("save_every", 1, 10**9), ("keep", 1, 1000), ("patience", 0, 10**6), ("threads", 1, 10**6),
            ("seed", 0, (1 << 63) - 1),
            ("epochs", 0, 1e6), ("learning_rate", 0, math.inf), ("warmup", 0, 1), ("weight_decay", 0, 100), ("clip", 0, 1e9),
            ("warmup_steps", 1, 10**9), ("beta1", 0, 0.999999), ("beta2", 0, 0.999999), ("adam_epsilon", 0, 1), ("embedding_lr_scale", 0, 1000),
        ):  # fmt: skip
            check_range(name, getattr(self, name), low, high)
        for name in ("epochs", "learning_rate"):
            if getattr(self, name) == 0:
                raise BadInput(f"{flag(name)} 0 would learn nothing; give a number above 0")
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise BadInput(f"--device {self.device!r} is not known; give auto, cpu, cuda or cuda:1")
        if self.budget is not None:
            parse_duration(self.budget)

    @property
    def is_timed(self) -> bool:
        """Whether the clock says when the training ends."""
        return self.budget is not None or (self.steps is None and self.epochs is None)

    @property
    def budget_seconds(self) -> float:
        return parse_duration(self.budget or DEFAULT_BUDGET)

    def frozen_fields(self) -> dict[str, Any]:
        """What decides the weights that come out: a run goes on only with the same. A switch that is off is not mentioned, so that runs from
        before there was such a switch go on, too."""
        return {name: value for name, value in asdict(self).items() if name not in (*RESUMABLE, *NOT_RECORDED) and value is not False}

    def resumable_fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in RESUMABLE}


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def check_range(name: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not (low <= value <= high and math.isfinite(value)):
        raise BadInput(f"{flag(name)} {value} is not between {low} and {high:g}")


def parse_duration(text: str) -> float:
    """'90s' -> 90.0, '20m' -> 1200.0"""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip())
    if not found or not 0 < float(found[1]) * UNITS[found[2] or "s"] < 1e9:
        raise BadInput(f"--budget {text!r} is not a time; write it as 90s, 20m or 2h")
    return float(found[1]) * UNITS[found[2] or "s"]
