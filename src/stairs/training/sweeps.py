"""Training by sweeps: compiled loops read the text from end to end, one slice of the corpus after another, and change the weights as they go.

A step is one slice. An epoch has a fixed number of them, which follows from the length of the text alone, so that a run can be stopped between any
two and the same seed gives the same training. The learning rate falls linearly over all steps. By default threads write to the same weights without
locks ("Hogwild", Niu et al. 2011), which is never repeatable bit for bit; with --deterministic every run is.

With several workers each reads its share of every part of a slice, and after each part their changes are merged:

    weights = weights before + sum over workers of (weights of the worker - weights before)

A mean would learn less the more workers there are. A sum overshoots where all of them move a row far and in the same direction, so a row that would
move by more than its length moves by the sum as far as the changes are orthogonal, and by the mean as far as they agree.
"""

import dataclasses
import math
import time
from typing import cast

import numpy as np
import torch
from torch import Tensor

from stairs.data import TrainingData
from stairs.errors import Diverged
from stairs.fast.corpus_slice import FINAL_LR_FACTOR, CorpusSlice, SweepingModel
from stairs.progress import format_count, say
from stairs.tasks.task import Task
from stairs.training.checkpoint import check_fit
from stairs.training.clock import Action
from stairs.training.options import TrainingOptions
from stairs.training.probe import seconds_per_position
from stairs.training.updater import Evaluate, ProbedPlan, StepResult, Workers

SLICE_TOKENS = 1 << 20  # a second of work, or a few
SYNC_TOKENS = 1 << 17  # tokens after which several workers merge their changes
EVALUATION_TOKENS = 1 << 20  # tokens of validation text evaluated after an epoch; the finished vectors are evaluated on all
PROBE_TOKENS = 250_000  # on which the speed is measured
RESERVE_SHARE = 0.07  # of the budget, for saving and for other processes on the machine


class SweepUpdater:
    """The weights, the text, and the workers that sweep over it."""

    is_sweeping = True
    unit = "words"

    def __init__(self, task: Task, data: TrainingData, options: TrainingOptions, workers: Workers) -> None:
        self.ids = cast(np.ndarray, task.examples(data, "train"))
        self.task = self.complete_task = task
        self.options, self.workers = options, workers
        task.start(options.seed, self.ids)
        self.trained_module = task.trained_module
        self.model: SweepingModel = task.model  # type: ignore[assignment]
        self.peak_lr = options.learning_rate or self.model.learning_rate
        self.steps_per_epoch = -(-len(self.ids) // SLICE_TOKENS)
        self.steps = self.steps_per_epoch  # of all epochs; the plan says how many
        self.is_prepared = False

    def prepare(self, recount: bool = False) -> None:
        """Let the model count what it needs of the text."""
        if recount or not self.is_prepared:
            self.model.prepare(self.ids, self.task.tokenizer.vocabulary, self.options.seed)
        self.is_prepared = True

    def start(self, step: int) -> None:
        self.prepare(recount=bool(self.options.init_from or self.options.accept_new_corpus))  # since the loaded counts are of other text
        is_repeatable = self.options.deterministic or self.task.model.is_thread_invariant
        if step and not is_repeatable and torch.get_num_threads() * self.workers.world_size > 1:
            say("not bit-exact: without --deterministic no two runs are the same")

    def learning_rate(self, done: float) -> float:
        """After a share of all steps."""
        return self.peak_lr * (1.0 if self.model.schedule == "constant" else 1 - (1 - FINAL_LR_FACTOR) * done)

    def corpus_slice(self, index: int, slices: int, epoch: int, rate_from: float, rate_to: float) -> CorpusSlice:
        return CorpusSlice(
            index, slices, epoch, rate_from, rate_to,
            seed=self.options.seed, threads=torch.get_num_threads(), deterministic=self.options.deterministic,
            rank=self.workers.rank, world_size=self.workers.world_size,
        )  # fmt: skip

    def update(self, action: Action, stop_requests: int = 0) -> StepResult:
        step = action.step
        epoch, index = divmod(step, self.steps_per_epoch)
        parts = max(SLICE_TOKENS // SYNC_TOKENS, 1) if self.workers.world_size > 1 else 1
        rates = [self.learning_rate((step + part / parts) / self.steps) for part in range(parts + 1)]
        started = time.monotonic()
        sums = np.zeros(3)
        for part in range(parts):
            before = self.copy_state()
            sums += self.model.sweep(self.corpus_slice(index * parts + part, self.steps_per_epoch * parts, epoch, rates[part], rates[part + 1]))
            self.merge_workers(before)
        nats, pairs, words, stopping = self.workers.all_reduce(*sums.tolist(), stop_requests)
        loss = nats / max(pairs, 1)
        norm = sum(float(torch.linalg.vector_norm(tensor)) for tensor in self.state_tensors())  # the loss alone may not show it: a sigmoid saturates
        if not (math.isfinite(loss) and math.isfinite(norm)):
            what = f"the loss became {loss}" if not math.isfinite(loss) else "the vectors grew without bounds"
            raise Diverged(f"{what} at step {step + 1}; try --learning-rate {self.peak_lr / 10:.1g} with another --out")
        seconds = max(time.monotonic() - started, 1e-9)
        return StepResult(loss, int(pairs), int(words), stopping > 0, {"words": int(words), "words_per_second": round(words / seconds)})

    def state_tensors(self) -> list[Tensor]:
        """Everything that a sweep changes."""
        return [*(weight.detach() for weight in self.trained_module.parameters()), *self.model.optimizer_state().values()]

    def copy_state(self) -> list[Tensor]:
        return [tensor.clone() for tensor in self.state_tensors()] if self.workers.world_size > 1 else []

    def merge_workers(self, before: list[Tensor]) -> None:
        """Merge what all workers have changed since `before`."""
        weights = len(before) - len(self.optimizer_state())
        for index, (tensor, old) in enumerate(zip(self.state_tensors(), before, strict=False)):
            current = tensor - old
            squares, change = self.workers.all_reduce_tensor(as_rows(current).square().sum(1)), self.workers.all_reduce_tensor(current)
            if index < weights:  # the optimizer's state are sums, and stay sums
                change *= damping(change, squares, old, self.workers.world_size)
            torch.add(old, change, out=tensor)

    def apply_plan(self, plan: ProbedPlan) -> None:
        self.steps_per_epoch, self.steps = plan["steps_per_epoch"], plan["steps"]

    def optimizer_state(self) -> dict[str, Tensor]:
        return self.model.optimizer_state()

    def load_optimizer_state(self, tensors: dict[str, Tensor] | None) -> None:
        current = self.optimizer_state()
        if tensors is not None:
            check_fit(current, tensors)
        for name, tensor in current.items():
            self.workers.broadcast_tensor(tensor, tensors[name] if tensors is not None else None)

    def rehearse(self, deterministic: bool) -> float:
        """Words per second of a sweep that changes nothing: its learning rate is 0 and the optimizer's state is restored."""
        self.prepare()
        before = {name: tensor.clone() for name, tensor in self.optimizer_state().items()}
        try:
            for slices in (max(len(self.ids) // 1000, 1), max(len(self.ids) // PROBE_TOKENS, 1)):  # the first loads the kernels and does not count
                corpus_slice = dataclasses.replace(self.corpus_slice(0, slices, 0, 0.0, 0.0), deterministic=deterministic)
                started = time.monotonic()
                words = self.model.sweep(corpus_slice)[2]
                seconds = max(time.monotonic() - started, 1e-9)
        finally:
            for name, tensor in self.optimizer_state().items():
                tensor.copy_(before[name])
        return self.workers.all_reduce(words)[0] / self.workers.broadcast(seconds)


def as_rows(tensor: Tensor) -> Tensor:
    return tensor.reshape(len(tensor), -1)


def damping(change: Tensor, squares: Tensor, old: Tensor, workers: int) -> Tensor:
    """The factor for the summed change of each row; `squares` are the squared lengths of the workers' own changes, summed."""
    length = as_rows(change).square().sum(1)
    agreement = (squares / length.clamp(min=torch.finfo(length.dtype).tiny)).clamp(1 / workers, 1)  # 1 / workers if all changes are the same
    return torch.where(length <= as_rows(old).square().sum(1), 1.0, agreement).reshape(-1, *[1] * (change.ndim - 1))


def probe_plan(updater: SweepUpdater, evaluate: Evaluate) -> ProbedPlan:
    """How many slices an epoch has and how many there are in all: found once, and kept in run.json."""
    options, started = updater.options, time.monotonic()
    steps = options.requested_steps(updater.steps_per_epoch)
    if options.deterministic:
        slow, fast = updater.rehearse(True), updater.rehearse(False)
        say(f"--deterministic reads {format_count(slow)} words/s here; without it, {format_count(fast)} words/s")
    if options.budget is not None:
        step_seconds = seconds_per_slice(updater)
        cost = updater.workers.broadcast(seconds_per_position(evaluate, updater))
        remaining = options.budget_seconds * (1 - RESERVE_SHARE) - (time.monotonic() - started) - cost["all"]
        evaluation = min(cost["one"] * EVALUATION_TOKENS, cost["all"]) / (options.evaluate_every or updater.steps_per_epoch)
        affordable = int(updater.workers.broadcast(max(int(remaining / (step_seconds + evaluation)), 1)))
        steps = min(affordable, steps or affordable)
        say(f"{steps / updater.steps_per_epoch:.3g} epochs ({steps} steps of {step_seconds:.3f} s) fit into {options.budget_seconds:.0f} s")
    assert steps is not None
    return {"steps_per_epoch": updater.steps_per_epoch, "steps": steps}


def seconds_per_slice(updater: SweepUpdater) -> float:
    return len(updater.ids) / updater.steps_per_epoch / max(updater.rehearse(updater.options.deterministic), 1e-9)
