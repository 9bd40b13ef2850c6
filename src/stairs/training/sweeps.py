"""Learning by sweeping: the text is read from end to end, stretch by stretch, by compiled loops that change the weights as they go.

A step is one stretch; an epoch has a fixed number of them, which follows from the length of the text alone, so that a run can be stopped between any
two and the same seed gives the same training. The learning rate falls along a straight line over all steps. By default threads write into one
another's work ("Hogwild", Niu et al. 2011), which no run repeats bit for bit; with --deterministic every run does.

Among many workers each reads its share of every piece of a stretch, and after each piece what they learnt is put together:

    weights = weights before + sum over workers of (weights of the worker - weights before)

A mean would learn the less the more workers there are. A sum overshoots where all of them move a row far and to the same place, so a row that would
move farther than it is long moves by the sum as far as the changes are at right angles to one another, and by the mean as far as they agree.
"""

import dataclasses
import math
import resource
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput, Diverged, Unsupported
from stairs.fast.corpus_slice import CorpusSlice, SweepingModel
from stairs.models.base import Model
from stairs.progress import format_count, say
from stairs.tasks.task import Task
from stairs.training import checkpoint
from stairs.training.clock import Action
from stairs.training.distributed import Workers
from stairs.training.loop import Loop
from stairs.training.options import DEFAULT_BUDGET, TrainingOptions, flag
from stairs.training.probe import Evaluate, requested_steps, seconds_per_position
from stairs.training.snapshots import write_snapshot
from stairs.training.updater import StepResult

SLICE_TOKENS = 1 << 20  # in a stretch: a second of work, or a few
SYNC_TOKENS = 1 << 17  # tokens after which many workers put together what they learnt
FINAL_LR_FACTOR = 1e-4  # share of the learning rate that is left at the end
EVALUATION_TOKENS = 1 << 20  # tokens of validation text looked at after an epoch; the finished vectors are judged on all
PROBE_TOKENS = 250_000  # tokens on which the speed is measured
RESERVE_SHARE = 0.07  # of the budget, for saving and a machine that is not always alone
# not for sweeping
GRADIENT_ONLY = (
    "steps", "batch_tokens", "batch_examples", "accumulate", "schedule", "warmup", "warmup_steps", "beta1", "beta2", "adam_epsilon",
        "embedding_lr_scale",
    "weight_decay", "clip", "precision", "compile", "shard",
)  # fmt: skip


def validated(model: Model | type[Model], options: TrainingOptions) -> TrainingOptions:
    """The options as this step understands them; those that mean nothing to it are refused."""
    options.check()
    step = model.name
    if model.learns_by == "adoption":
        raise Unsupported(f"{step} are adopted, not trained; train cbow, skipgram or glove")
    if model.learns_by != "sweeping":
        if options.deterministic:
            raise BadInput(f"--deterministic is for steps that sweep over the text; {step} gives the same bits without it while --threads stays")
        return options if not options.is_timed else dataclasses.replace(options, budget=options.budget or DEFAULT_BUDGET)
    for field in dataclasses.fields(options):
        if field.name in GRADIENT_ONLY and getattr(options, field.name) != field.default:
            instead = "give --epochs or --budget" if field.name == "steps" else "leave it out"
            raise BadInput(f"{flag(field.name)} means nothing to {step}, which learns by sweeping over the text; {instead}")
    if options.device.startswith("cuda"):
        raise BadInput(f"--device {options.device}: {step} is trained on the CPU; leave it out")
    if options.epochs is None and options.budget is None:
        options = dataclasses.replace(options, epochs=model.epochs)
    return options


class SweepUpdater:
    """The weights, the text, and the workers that sweep over it."""

    def __init__(self, task: Task, ids: np.ndarray, options: TrainingOptions, workers: Workers) -> None:
        self.task, self.ids, self.options, self.workers = task, ids, options, workers
        self.trained_module = task.trained_module
        self.model: SweepingModel = task.model  # type: ignore[assignment]
        self.peak_lr = options.learning_rate or self.model.learning_rate
        self.epoch = -(-len(ids) // SLICE_TOKENS)
        self.steps = self.epoch  # of all epochs; `apply_plan` says
        self.prepared = False
        self.words, self.seconds = 0, 0.0  # read, and in what time

    def prepare(self, again: bool = False) -> None:
        if again or not self.prepared:
            self.model.prepare(self.ids, self.task.tokenizer.vocabulary, self.options.seed)
        self.prepared = True

    def rate(self, done: float) -> float:
        return self.peak_lr * (1.0 if self.model.schedule == "constant" else 1 - (1 - FINAL_LR_FACTOR) * done)

    def stretch(self, number: int, stretches: int, epoch: int, rate_from: float, rate_to: float) -> CorpusSlice:
        return CorpusSlice(
            number, stretches, epoch, rate_from, rate_to,
            seed=self.options.seed, threads=torch.get_num_threads(), deterministic=self.options.deterministic,
            rank=self.workers.rank, world_size=self.workers.world_size,
        )  # fmt: skip

    def update(self, action: Action, stop_requests: int = 0) -> StepResult:
        step, steps = action.step, self.steps
        epoch, number = divmod(step, self.epoch)
        pieces = max(SLICE_TOKENS // SYNC_TOKENS, 1) if self.workers.world_size > 1 else 1
        rates = [self.rate((step + piece / pieces) / steps) for piece in range(pieces + 1)]
        began = time.monotonic()
        found = np.zeros(3)
        for piece in range(pieces):
            before = self.copy_state()
            found += self.model.sweep(self.stretch(number * pieces + piece, self.epoch * pieces, epoch, rates[piece], rates[piece + 1]))
            self.merge_workers(before)
        nats, pairs, words, leaving = self.workers.all_reduce(*found.tolist(), stop_requests)
        loss = nats / max(pairs, 1)
        # the loss alone may not show it: a sigmoid has an end
        length = sum(float(torch.linalg.vector_norm(tensor)) for tensor in self.state_tensors())
        if not (math.isfinite(loss) and math.isfinite(length)):
            what = f"the loss became {loss}" if not math.isfinite(loss) else "the vectors grew beyond all bounds"
            raise Diverged(f"{what} at step {step + 1}; try --learning-rate {self.peak_lr / 10:.1g} elsewhere")
        seconds = max(time.monotonic() - began, 1e-9)
        self.words, self.seconds = self.words + int(words), self.seconds + seconds
        return StepResult(loss, int(pairs), int(words), leaving > 0, {"words": int(words), "words_per_second": round(words / seconds)})

    def state_tensors(self) -> list[Tensor]:
        """All that a sweep changes."""
        return [*(weight.detach() for weight in self.trained_module.parameters()), *self.model.optimizer_state().values()]

    def copy_state(self) -> list[Tensor]:
        return [tensor.clone() for tensor in self.state_tensors()] if self.workers.world_size > 1 else []

    def merge_workers(self, before: list[Tensor]) -> None:
        """What all workers learnt since `before`."""
        remembered = len(self.optimizer_state())
        for place, (tensor, was) in enumerate(zip(self.state_tensors(), before, strict=False)):
            own = tensor - was
            squares, change = self.workers.all_reduce_tensor(as_rows(own).square().sum(1)), self.workers.all_reduce_tensor(own)
            if place < len(before) - remembered:  # what is remembered are sums, and stays one
                change *= damping(change, squares, was, self.workers.world_size)
            torch.add(was, change, out=tensor)

    def apply_plan(self, known: dict[str, Any]) -> None:
        self.epoch, self.steps = known["steps_per_epoch"], known["steps"]

    def optimizer_state(self) -> dict[str, Tensor]:
        return self.model.optimizer_state()

    def load_optimizer_state(self, found: dict[str, Tensor] | None) -> None:
        own = self.optimizer_state()
        if found is not None:
            checkpoint.check_fit(own, found)
        for name, tensor in own.items():
            self.workers.broadcast_tensor(tensor, found[name] if found is not None else None)

    def rehearse(self, deterministic: bool) -> float:
        """Words per second of a sweep that changes nothing: with a rate of zero, and a memory that is put back."""
        self.prepare()
        remembered = {name: tensor.clone() for name, tensor in self.optimizer_state().items()}
        parts = max(len(self.ids) // PROBE_TOKENS, 1)
        try:
            for piece in (max(len(self.ids) // 1000, 1), parts):  # the first finds its kernels and does not count
                stretch = dataclasses.replace(self.stretch(0, piece, 0, 0.0, 0.0), deterministic=deterministic)
                began = time.monotonic()
                words = self.model.sweep(stretch)[2]
                seconds = max(time.monotonic() - began, 1e-9)
        finally:
            for name, tensor in self.optimizer_state().items():
                tensor.copy_(remembered[name])
        return self.workers.all_reduce(words)[0] / self.workers.broadcast(seconds)


def as_rows(tensor: Tensor) -> Tensor:
    return tensor.reshape(len(tensor), -1)


def damping(change: Tensor, squares: Tensor, was: Tensor, workers: int) -> Tensor:
    """By what the summed change of each row is multiplied; `squares` are the squared lengths of the workers' own changes, summed."""
    length = as_rows(change).square().sum(1)
    agreed = (squares / length.clamp(min=torch.finfo(length.dtype).tiny)).clamp(1 / workers, 1)  # 1 / workers if all went the same way
    return torch.where(length <= as_rows(was).square().sum(1), 1.0, agreed).reshape(-1, *[1] * (change.ndim - 1))


class SweepLoop(Loop):
    """The loop, with a look at validation text, a checkpoint and a snapshot after every epoch."""

    updater: SweepUpdater

    @property
    def steps_per_round(self) -> int:
        return self.updater.epoch

    def resume(self) -> None:
        super().resume()
        self.updater.prepare(again=bool(self.options.init_from or self.options.accept_new_corpus))  # since the counts that came are of other text
        repeatable = self.options.deterministic or self.task.model.is_thread_invariant
        if self.state.step and not repeatable and torch.get_num_threads() * self.workers.world_size > 1:
            say("not bit-exact: without --deterministic no two runs are the same")

    def is_time_to_save(self) -> bool:
        return self.state.step % self.updater.epoch == 0 or super().is_time_to_save()

    def save(self, must: bool = False) -> None:
        super().save(must)
        epoch, rest = divmod(self.state.step, self.updater.epoch)
        if not rest:
            self.attempt(lambda: write_snapshot(self.task, self.run.folder, epoch), "a snapshot")

    def place(self) -> str:
        epoch, steps = self.updater.epoch, self.updater.steps
        return f"epoch {self.state.step / epoch:.3g} of {steps / epoch:.3g} (step {self.state.step} of {steps})"

    def speed(self) -> str:
        return f"{format_count(self.updater.words / max(self.updater.seconds, 1e-9))} words/s"


def probe_plan(sweeps: SweepUpdater, options: TrainingOptions, evaluate: Evaluate) -> dict[str, Any]:
    """How many stretches an epoch has and how many are made: found once and kept in run.json."""
    began = time.monotonic()
    steps = requested_steps(sweeps, options)
    if options.deterministic:
        slow, fast = sweeps.rehearse(True), sweeps.rehearse(False)
        say(f"--deterministic reads {format_count(slow)} words/s here, where {format_count(fast)} words/s would be read without it")
    if options.budget is not None:
        step = seconds_per_slice(sweeps)
        judging = sweeps.workers.broadcast(seconds_per_position(evaluate, sweeps))
        left = options.budget_seconds * (1 - RESERVE_SHARE) - (time.monotonic() - began) - judging["all"]
        look = min(judging["one"] * EVALUATION_TOKENS, judging["all"]) / (options.evaluate_every or sweeps.epoch)
        fits = int(sweeps.workers.broadcast(max(int(left / (step + look)), 1)))
        steps = min(fits, steps or fits)
        say(f"{steps / sweeps.epoch:.3g} epochs ({steps} steps of {step:.3f} s) fit into {options.budget_seconds:.0f} s")
    return {"steps_per_epoch": sweeps.epoch, "steps": steps}


def seconds_per_slice(sweeps: SweepUpdater) -> float:
    return len(sweeps.ids) / sweeps.epoch / max(sweeps.rehearse(sweeps.options.deterministic), 1e-9)


def estimate(sweeps: SweepUpdater, options: TrainingOptions, evaluate: Evaluate) -> dict[str, Any]:
    """What `stairs plan` prints: minutes, memory and disk of a training that is not made."""
    found = probe_plan(sweeps, options, evaluate)
    step, judging = seconds_per_slice(sweeps), seconds_per_position(evaluate, sweeps)
    evaluations = found["steps"] // (options.evaluate_every or sweeps.epoch)
    one = min(judging["one"] * EVALUATION_TOKENS, judging["all"])
    held = sum(tensor.nbytes for tensor in sweeps.state_tensors())
    return {
        "parameters": sum(weight.numel() for weight in sweeps.trained_module.parameters()),
        "tokens": len(sweeps.ids),
        "steps": found["steps"],
        "epochs": round(found["steps"] / sweeps.epoch, 2),
        "words_per_second": round(len(sweeps.ids) / sweeps.epoch / step),
        "minutes": round((found["steps"] * step + evaluations * one + judging["all"]) / 60, 2),
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "disk_mb": round(held * (options.keep + 3) / 1e6, 1),
    }
