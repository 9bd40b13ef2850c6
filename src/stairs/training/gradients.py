"""Training by gradients: which examples each step trains on, their gradient by any number of workers and in any number of parts, and the update.

The examples of a step are a pure function of the lengths, the seed and the epoch, so that resuming needs one integer. Examples of about the same
length are batched together, so that there is little padding. The boundaries between batches follow from the lengths alone, so every epoch has the
same number of batches, and step -> (epoch, index) is one division.
"""

import copy
import math
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from stairs.data import TrainingData
from stairs.errors import BadInput, Diverged, EnvironmentFault
from stairs.kernels.allocator import keep_freed_memory
from stairs.machine import is_memory_error
from stairs.randomness import derive_seed, numpy_generator
from stairs.tasks.task import Task
from stairs.text.batch import Batch, TrainingRows
from stairs.training.clock import Action
from stairs.training.distributed import full_tensor, shard
from stairs.training.optimizer import Optimizer
from stairs.training.options import TrainingOptions
from stairs.training.skipgram_start import start_from_skipgram
from stairs.training.stacking import lowest_blocks, silence_upper_blocks, trained_block_count
from stairs.training.updater import ProbedPlan, StepResult, Workers

STEPS_PER_DOUBLING = 8  # how finely lengths are distinguished


class Objective(nn.Module):
    """A task's loss as the forward of a module, which is where PyTorch's wrappers hook in."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.trained_module = task.trained_module
        self.loss = task.training_loss

    def forward(self, batch: Batch) -> tuple[Tensor, int]:
        return self.loss(batch)


class GradientUpdater:
    """The weights, their optimizer, the examples, and the workers that compute the gradients."""

    is_sweeping = False
    unit = "tokens"

    def __init__(self, task: Task, data: TrainingData, options: TrainingOptions, workers: Workers) -> None:
        self.examples = cast(TrainingRows, task.examples(data, "train"))
        self.options, self.workers = options.with_default_epochs(task, self.examples), workers
        self.model = task.model
        task.start(options.seed, self.examples)
        if options.stacking:
            silence_upper_blocks(self.model)
        self.complete_task = copy.deepcopy(task) if options.shard else task  # what FSDP shards cannot be saved as a model
        keep_freed_memory()  # every step allocates the same blocks again
        self.order = BatchOrder(self.examples.lengths, options.batch_tokens, options.seed, options.batch_examples)
        self.trained_module = task.trained_module.to(workers.device).train()
        self.peak_lr = options.learning_rate or task.learning_rate
        self.lr_scales = task.lr_scales()
        if options.embedding_lr_scale is not None:
            tables = [f"{name}.weight" for name, module in self.trained_module.named_modules() if isinstance(module, nn.Embedding)]
            self.lr_scales |= dict.fromkeys(tables, options.embedding_lr_scale)
        self.precision: str = options.precision
        if options.shard and workers.world_size > 1:
            shard(self.trained_module, workers)
        self.objective: nn.Module = Objective(task)
        self.weights = [weight for weight in self.trained_module.parameters() if weight.requires_grad]
        self.optimizer = self.new_optimizer(options.weight_decay)
        if workers.world_size > 1 and not options.shard:
            unused = options.stacking > 0  # blocks that have not joined yet have no gradients
            self.objective = DistributedDataParallel(self.objective, gradient_as_bucket_view=True, find_unused_parameters=unused)
        if options.compile:
            self.objective = torch.compile(self.objective)  # type: ignore[assignment]

    def new_optimizer(self, weight_decay: float) -> Optimizer:
        return Optimizer(self.trained_module, self.options, self.peak_lr, self.lr_scales, weight_decay)

    def accumulate_gradient(self, step: int) -> tuple[float, int]:
        """Add this worker's share of the batch to the gradients: nats of its targets, and their number."""
        epoch, numbers = self.order.batch_at(step)
        parts = worker_parts(numbers, self.workers.rank, self.workers.world_size, self.options.accumulate)
        nats, targets = 0.0, 0
        for index, part in enumerate(parts):
            # Dropout and the like follow from the step, so there is no generator's state to lose.
            torch.manual_seed(derive_seed(self.options.seed, "dropout", epoch, step, self.workers.rank, index))
            has_examples = len(part) > 0  # a rank without examples runs another rank's with weight 0, so that collectives stay in step
            batch = self.examples.batch(part if has_examples else numbers[:1], epoch, self.options.seed)
            if self.workers.device.type != "cpu":
                batch = batch.to(self.workers.device)
            no_sync = isinstance(self.objective, DistributedDataParallel) and index < len(parts) - 1
            with self.objective.no_sync() if no_sync else nullcontext():  # type: ignore[operator]
                with torch.autocast(self.workers.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
                    total, count = self.objective(batch)
                (total if has_examples else total * 0.0).backward()
            if has_examples:
                nats, targets = nats + float(total.detach()), targets + count
        return nats, targets

    def update(self, action: Action, stop_requests: int = 0) -> StepResult:
        step = action.step
        self.optimizer.zero_grad()
        try:
            with self.trained_blocks(action.blocks):
                nats, own_targets = self.accumulate_gradient(step)
        except (RuntimeError, MemoryError) as error:
            if not is_memory_error(error):
                raise
            own_targets = -1
        if own_targets < 0:  # outside of the except clause, whose error keeps the activations alive
            raise self.out_of_memory(step)
        nats, targets, stopping = self.workers.all_reduce(nats, own_targets, stop_requests)
        loss = nats / max(targets, 1)
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        scale = self.workers.world_size / max(targets, 1)  # PyTorch's wrappers average over the workers; the mean over targets is wanted
        norm = float(full_tensor(torch.nn.utils.get_total_norm(gradients))) * scale
        rate = self.peak_lr * action.lr_factor
        if not (math.isfinite(loss) and math.isfinite(norm)):
            what = f"the loss became {loss}" if not math.isfinite(loss) else f"the norm of the gradient became {norm}"
            advice = f"try --learning-rate {self.peak_lr / 10:.1g} with another --out"
            raise Diverged(f"{what} at step {step + 1} with a learning rate of {rate:.3g}; {advice}")
        if self.options.clip:
            scale *= min(1.0, self.options.clip / (norm + 1e-6))
        torch._foreach_mul_(gradients, scale)
        self.optimizer.step(rate)
        tokens = int(self.examples.lengths[self.order.batch_at(step)[1]].sum())
        return StepResult(loss, int(targets), tokens, stopping > 0)

    def trained_blocks(self, count: int) -> AbstractContextManager[None]:
        """The model with so many blocks, 0 for all; never fewer than have been trained, as a longer run that resumes a shorter one might ask for."""
        return lowest_blocks(self.model, max(count, trained_block_count(self.model, self.optimizer.state))) if count else nullcontext()

    @property
    def steps_per_epoch(self) -> int:
        return self.order.batches_per_epoch

    def apply_plan(self, plan: ProbedPlan) -> None:
        self.precision = plan["precision"]
        self.optimizer.set_precision(self.precision)

    def start(self, step: int) -> None:
        """Before the first update of all, the embeddings of a training that wants them become word vectors."""
        if step == 0 and self.options.skipgram_tokens:
            ids = getattr(self.examples, "ids", None)
            if ids is None:
                raise BadInput("--skipgram-tokens needs running text, and pairs of texts are none; leave it out")
            start_from_skipgram(self.model.get_parameter("tokens.weight"), ids, self.options.skipgram_tokens, self.options.seed)

    def optimizer_state(self) -> dict[str, Tensor]:
        """The moments of the optimizer, by the names of the weights."""
        return self.optimizer.state_tensors()

    def load_optimizer_state(self, tensors: dict[str, Tensor] | None) -> None:
        """From rank 0, which alone has read them; a weight that has made no step yet has none."""
        for name, weight, moments in self.optimizer.new_states():
            if self.workers.broadcast(tensors is not None and f"{name}:{next(iter(moments))}" in tensors):
                for key, target in moments.items():
                    self.workers.broadcast_tensor(target, tensors[f"{name}:{key}"] if tensors is not None else None)
                self.optimizer.restore(weight, moments)

    def rehearse(self, step: int) -> None:
        """A step that changes nothing: its learning rate is 0 and its moments are discarded."""
        optimizer, self.optimizer = self.optimizer, self.new_optimizer(0.0)
        try:
            self.update(Action("update", step))
        finally:
            self.optimizer = optimizer
            self.optimizer.zero_grad()

    def out_of_memory(self, step: int) -> EnvironmentFault:
        """Try in how many parts the same step fits into memory, and say so."""
        epoch, numbers = self.order.batch_at(step)
        positions = int(self.examples.lengths[numbers].sum()) // self.workers.world_size // self.options.accumulate
        parts = self.options.accumulate * 2
        if self.workers.world_size > 1:
            return batch_too_large(positions, parts)
        while parts <= len(numbers):
            self.optimizer.zero_grad()
            try:
                batch = self.examples.batch(worker_parts(numbers, 0, 1, parts)[0], epoch, self.options.seed)
                self.objective(batch.to(self.workers.device))[0].backward()
                return batch_too_large(positions, parts)
            except (RuntimeError, MemoryError):
                parts *= 2
        return batch_too_large(positions, None)


def bucketed_batches(lengths: np.ndarray, batch_tokens: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The numbers of the examples of each batch of an epoch; a batch has at most `batch_tokens` positions, or one example."""
    random = numpy_generator(seed, "order", epoch)
    rounded = rounded_lengths(np.asarray(lengths))
    order = np.lexsort((random.permutation(len(rounded)), rounded))  # by length; equal ones in another order every epoch
    batches = np.split(order, batch_boundaries(rounded[order], batch_tokens))
    return [batches[i] for i in random.permutation(len(batches))]


def shuffled_batches(count: int, batch_examples: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The same number of examples in each batch, whatever their lengths: labelled examples are few, and short ones should not be batched together."""
    order = numpy_generator(seed, "order", epoch).permutation(count)
    return np.split(order, range(batch_examples, count, batch_examples))


def rounded_lengths(lengths: np.ndarray) -> np.ndarray:
    """Lengths rounded up to one of a few; the longest are not made longer."""
    lengths = np.maximum(lengths, 1)
    rounded: np.ndarray = np.ceil(2.0 ** (np.ceil(np.log2(lengths) * STEPS_PER_DOUBLING) / STEPS_PER_DOUBLING)).astype(np.int64)
    result: np.ndarray = np.minimum(np.maximum(rounded, lengths), lengths.max(initial=1))
    return result


def batch_boundaries(ascending: np.ndarray, batch_tokens: int) -> list[int]:
    """Where to split examples in order of length; a batch is as wide as its longest example."""
    boundaries: list[int] = []
    start = 0
    while True:
        candidates = ascending[start : start + batch_tokens]
        fitting = int(np.searchsorted(candidates * np.arange(1, len(candidates) + 1), batch_tokens, side="right"))
        start += max(fitting, 1)
        if start >= len(ascending):
            return boundaries
        boundaries.append(start)


class BatchOrder:
    """The batches of one training, by step."""

    def __init__(self, lengths: np.ndarray, batch_tokens: int, seed: int, batch_examples: int | None = None) -> None:
        """A batch has `batch_tokens` positions, or `batch_examples` examples if that is given."""
        self.lengths, self.batch_tokens, self.seed = lengths, batch_tokens, seed
        if batch_examples is None:
            self.batches_per_epoch = len(batch_boundaries(np.sort(rounded_lengths(np.asarray(lengths))), batch_tokens)) + 1
            self.epoch = lru_cache(2)(lambda epoch: bucketed_batches(lengths, batch_tokens, seed, epoch))
        else:
            self.batches_per_epoch = -(-len(lengths) // batch_examples)
            self.epoch = lru_cache(2)(lambda epoch: shuffled_batches(len(lengths), batch_examples, seed, epoch))

    def position(self, step: int) -> tuple[int, int]:
        """The epoch of a step, and the index of its batch in it."""
        return divmod(step, self.batches_per_epoch)

    def batch_at(self, step: int) -> tuple[int, np.ndarray]:
        """The epoch of a step and the numbers of its examples."""
        epoch, index = self.position(step)
        return epoch, self.epoch(epoch)[index]


def worker_parts(numbers: np.ndarray, rank: int, world_size: int, parts: int) -> list[np.ndarray]:
    """One worker's share of a batch, in the parts it is computed in: the same number of parts for every worker, so that some may be empty."""
    return np.array_split(numbers[rank::world_size], min(parts, -(-len(numbers) // world_size)))


def batch_too_large(positions: int, parts: int | None) -> EnvironmentFault:
    advice = f"--accumulate {parts} fits, with the same result" if parts else "lower --batch-tokens, --context or --size"
    return EnvironmentFault(f"not enough memory for {positions} positions at once; {advice}")
