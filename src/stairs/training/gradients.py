"""One step of learning: the gradient of a batch, by however many workers and in however many parts, and the update it makes."""

import math
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from stairs.errors import Diverged
from stairs.kernels.allocator import keep_freed_memory
from stairs.randomness import derive_seed
from stairs.tasks.task import Task
from stairs.text.batch import Batch
from stairs.training.clock import Action
from stairs.training.data_order import BatchOrder, worker_parts
from stairs.training.device import batch_too_large, is_memory_error
from stairs.training.distributed import Workers, full_tensor, shard
from stairs.training.options import TrainingOptions
from stairs.training.updater import StepResult


class Objective(nn.Module):
    """A task's loss as the forward of a module, which is where PyTorch's wrappers listen."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.trained_module = task.trained_module
        self.loss = task.training_loss

    def forward(self, batch: Batch) -> tuple[Tensor, int]:
        return self.loss(batch)


class GradientUpdater:
    """The weights, their optimizer, and the workers that move them."""

    def __init__(self, task: Task, examples: Any, options: TrainingOptions, workers: Workers) -> None:
        self.examples, self.options, self.workers = examples, options, workers
        keep_freed_memory()  # every step asks for the same blocks again
        self.order = BatchOrder(examples.lengths, options.batch_tokens, options.seed, options.batch_examples)
        self.trained_module = task.trained_module.to(workers.device).train()
        self.peak_lr = options.learning_rate or task.learning_rate
        self.lr_scales = task.lr_scales()
        if options.embedding_lr_scale is not None:
            tables = [f"{place}.weight" for place, part in self.trained_module.named_modules() if isinstance(part, nn.Embedding)]
            self.lr_scales |= dict.fromkeys(tables, options.embedding_lr_scale)
        self.precision: str = options.precision
        if options.shard and workers.world_size > 1:
            shard(self.trained_module, workers)
        self.objective: nn.Module = Objective(task)
        self.weights = [weight for weight in self.trained_module.parameters() if weight.requires_grad]
        self.optimizer = self.new_optimizer(options.weight_decay)
        if workers.world_size > 1 and not options.shard:
            self.objective = DistributedDataParallel(self.objective, gradient_as_bucket_view=True)
        if options.compile:
            self.objective = torch.compile(self.objective)  # type: ignore[assignment]

    def new_optimizer(self, weight_decay: float) -> torch.optim.AdamW:
        tables = {id(part.weight) for part in self.trained_module.modules() if isinstance(part, nn.Embedding)}
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for name, weight in self.trained_module.named_parameters():
            if weight.requires_grad:
                pulled = weight.ndim > 1 and id(weight) not in tables  # rows of a table that are not seen stay as they are
                groups.setdefault((weight_decay if pulled else 0.0, self.lr_scales.get(name, 1.0)), []).append(weight)
        found = [{"params": weights, "weight_decay": decay, "times": times} for (decay, times), weights in groups.items()]
        betas = (self.options.beta1, self.options.beta2)
        return torch.optim.AdamW(found, lr=0.0, betas=betas, eps=self.options.adam_epsilon, fused=True)

    def gradient(self, step: int) -> tuple[float, int]:
        """Put the gradient of this worker's share of a batch beside the weights: nats of its targets, and their number."""
        epoch, numbers = self.order.batch_at(step)
        parts = worker_parts(numbers, self.workers.rank, self.workers.world_size, self.options.accumulate)
        nats, asked = 0.0, 0
        for index, part in enumerate(parts):
            # Dropout and the like follow from where we are, so there is no state of a generator to lose.
            torch.manual_seed(derive_seed(self.options.seed, "dropout", epoch, step, self.workers.rank, index))
            present = len(part) > 0  # a worker without an example computes with a strange one, for nothing, or the others would wait
            batch = self.examples.batch(part if present else numbers[:1], epoch, self.options.seed).to(self.workers.device)
            apart = isinstance(self.objective, DistributedDataParallel) and index < len(parts) - 1
            with self.objective.no_sync() if apart else nullcontext():  # type: ignore[operator]
                with torch.autocast(self.workers.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
                    total, count = self.objective(batch)
                (total if present else total * 0.0).backward()
            if present:
                nats, asked = nats + float(total.detach()), asked + count
        return nats, asked

    def update(self, action: Action, stop_requests: int = 0) -> StepResult:
        step = action.step
        self.optimizer.zero_grad()
        try:
            nats, asked = self.gradient(step)
        except (RuntimeError, MemoryError) as error:
            if not is_memory_error(error):
                raise
            asked = -1
        if asked < 0:  # out here, since the error above still holds on to what was computed
            raise self.out_of_memory(step)
        nats, targets, leaving = self.workers.all_reduce(nats, asked, stop_requests)
        loss = nats / max(targets, 1)
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        scale = self.workers.world_size / max(targets, 1)  # the wrappers take the mean over workers; the mean over targets is wanted
        length = float(full_tensor(torch.nn.utils.get_total_norm(gradients))) * scale
        rate = self.peak_lr * action.rate
        if not (math.isfinite(loss) and math.isfinite(length)):
            what = f"the loss became {loss}" if not math.isfinite(loss) else f"the gradient became {length}"
            raise Diverged(f"{what} at step {step + 1} with a learning rate of {rate:.3g}; try --learning-rate {self.peak_lr / 10:.1g} elsewhere")
        if self.options.clip:
            scale *= min(1.0, self.options.clip / (length + 1e-6))
        torch._foreach_mul_(gradients, scale)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["times"]
        self.optimizer.step()
        tokens = int(self.examples.lengths[self.order.batch_at(step)[1]].sum())
        return StepResult(loss, int(targets), tokens, leaving > 0)

    @property
    def epoch(self) -> int:
        return self.order.batches_per_epoch

    def apply_plan(self, known: dict[str, Any]) -> None:
        self.precision = known["precision"]

    def optimizer_state(self) -> dict[str, Tensor]:
        """What the optimizer remembers, by the names of the weights."""
        names = {id(tensor): name for name, tensor in self.trained_module.named_parameters()}
        return {f"{names[id(weight)]}:{key}": value for weight, kept in self.optimizer.state.items() for key, value in kept.items()}

    def load_optimizer_state(self, found: dict[str, Tensor] | None) -> None:
        for name, weight in self.trained_module.named_parameters():
            if not weight.requires_grad or not self.workers.broadcast(found is not None and f"{name}:step" in found):
                continue
            count = torch.zeros((), device=weight.device)
            kept = {"step": count, "exp_avg": torch.zeros_like(weight), "exp_avg_sq": torch.zeros_like(weight)}
            for key, target in kept.items():
                self.workers.broadcast_tensor(target, found[f"{name}:{key}"] if found is not None else None)
            self.optimizer.state[weight] = kept

    def rehearse(self, step: int) -> None:
        """A step that changes nothing: with a learning rate of zero and a memory that is thrown away."""
        remembered, self.optimizer = self.optimizer, self.new_optimizer(0.0)
        try:
            self.update(Action("update", step))
        finally:
            self.optimizer = remembered
            self.optimizer.zero_grad()

    def out_of_memory(self, step: int) -> Exception:
        """After the memory ran out: in how many parts the same step can be computed, found by trying."""
        positions = int(self.examples.lengths[self.order.batch_at(step)[1]].sum()) // self.workers.world_size // self.options.accumulate
        if self.workers.world_size > 1:
            return batch_too_large(positions, self.options.accumulate * 2)
        rows = len(self.order.batch_at(step)[1])
        parts = self.options.accumulate * 2
        while parts <= rows:
            self.optimizer.zero_grad()
            try:
                epoch, numbers = self.order.batch_at(step)
                self.objective(self.examples.batch(worker_parts(numbers, 0, 1, parts)[0], epoch,
                    self.options.seed).to(self.workers.device))[0].backward()
                return batch_too_large(positions, parts)
            except (RuntimeError, MemoryError):
                parts *= 2
        return batch_too_large(positions, None)
