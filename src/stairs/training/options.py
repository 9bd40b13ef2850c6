"""How a training is run: everything that is not a setting of the model. The flags of `stairs train` are these fields; their help is the comments.

The learning rate rises over the warm-up and then falls:

linear         to zero, in a straight line
cosine         to zero, along half a cosine
hold           constant until the last fifth, then to zero in a straight line: such a run can be extended from where its decay started
inverse-sqrt   as 1 / sqrt(progress), "Attention Is All You Need" section 5.3
constant       not at all

Under --steps or --epochs progress is counted in updates, under --budget it is the share of the time spent. With --warmup-steps the warm-up is counted
in updates under --budget, too, and the total number of updates is estimated from those so far.

It imports neither torch nor a model, so that --help and a refused flag answer at once.
"""

import math
import re
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

from stairs.errors import BadInput, Unsupported
from stairs.progress import say

if TYPE_CHECKING:
    from stairs.models.base import Model
    from stairs.tasks.task import Task
    from stairs.text.batch import TrainingRows

DEFAULT_BUDGET = "10m"
DECAY_SHARE = 0.2  # of a training with schedule `hold`: the part in which the learning rate falls
MIN_WARMUP_UPDATES = 10  # the first update is slow, and would use up the warm-up of a short budget
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Options that a resumed run may change, since none of them decides the weights.
RESUMABLE = ("evaluate_every", "patience", "save_every", "keep", "compile", "device", "threads", "tensorboard", "shard", "on_disk_full")
NOT_RECORDED = ("accept_new_corpus", "seed")  # the first holds for one command only; the seed is recorded beside the options
CHOICES = ("optimizer", "muon_learning_rate", "skipgram_tokens", "stacking")  # recorded only if something else than their default is chosen
# Options that only training by gradients has.
GRADIENT_ONLY = (
    "steps", "batch_tokens", "batch_examples", "accumulate", "schedule", "warmup", "warmup_steps", "beta1", "beta2", "adam_epsilon",
    "embedding_lr_scale", "weight_decay", "clip", "precision", "compile", "shard", "optimizer", "muon_learning_rate",
    "skipgram_tokens", "stacking",
)  # fmt: skip
# What does not go with an option, and why.
INCOMPATIBLE = {"shard": ("optimizer", "skipgram_tokens", "stacking"), "compile": ("stacking",), "init_from": ("skipgram_tokens", "stacking")}
NEEDS = {
    "optimizer": "--optimizer muon needs whole matrices", "skipgram_tokens": "--skipgram-tokens needs a new and whole embedding table",
    "stacking": "--stacking trains the lowest blocks of a new model first",
}  # fmt: skip
OptimizerKind = Literal["auto", "adamw", "muon"]
Schedule = Literal["linear", "cosine", "hold", "inverse-sqrt", "constant"]


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    steps: int | None = None  # number of updates, with --budget at most this many; if not given, --epochs or --budget decide
    epochs: float | None = None  # passes over the training data, instead of --steps; if not given, --steps or --budget decide
    budget: str | None = None  # time for training and evaluation, as 90s, 20m or 2h; 10m if neither --steps nor --epochs is given
    batch_tokens: int = 2048  # batch size in positions, over all workers
    batch_examples: int | None = None  # batch size in labelled examples, instead of --batch-tokens; the task's own if not given
    accumulate: int = 1  # gradient accumulation: parts in which each batch is computed, to save memory; the result is the same
    learning_rate: float | None = None  # peak learning rate; the model's own default if not given
    schedule: Schedule = "linear"  # learning rate after the warm-up; hold: constant until the last fifth, so that the run can be extended
    optimizer: OptimizerKind = "auto"  # adamw; or muon for the matrices in a Transformer's blocks, adamw for the rest; auto: muon with --budget
    muon_learning_rate: float = 0.02  # peak learning rate of muon's matrices
    skipgram_tokens: int = 0  # tokens from which skip-gram learns a Transformer's first embeddings; if not given, with --budget the recipe's
    stacking: float = 0.0  # share of the training in which a Transformer's blocks join it one by one; if not given, with --budget the recipe's
    warmup: float = 0.05  # share of the training in which the learning rate rises
    warmup_steps: int | None = None  # updates in which the learning rate rises; if not given, --warmup decides
    beta1: float = 0.9  # AdamW: decay of the mean of gradients
    beta2: float = 0.95  # AdamW: decay of the mean of squared gradients; 0.95 as in GPT-3
    adam_epsilon: float = 1e-8  # AdamW: added to the root of the mean of squared gradients
    embedding_lr_scale: float | None = None  # learning rate of the embeddings, as a multiple of --learning-rate; the model's own if not given
    weight_decay: float = 0.01  # AdamW: weight decay, on matrices only
    clip: float = 1.0  # maximum norm of the gradient; 0 for no limit
    patience: int = 5  # early stopping after this many evaluations without improvement; 0 for never
    evaluate_every: int | None = None  # updates between evaluations on validation data; if not given, a twelfth of --steps, or a share of --budget
    save_every: int | None = None  # updates between checkpoints; if not given, about 20 seconds
    keep: int = 3  # number of newest checkpoints to keep, besides the best
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # arithmetic; auto: bf16 where the processor has it and a probe finds it faster
    compile: bool = False  # use torch.compile; rarely worth it on a CPU
    device: str = "auto"  # cpu, cuda or cuda:1; auto: the first GPU, else the CPU
    threads: int | None = None  # CPU threads; if not given, one per core, or with --budget a single one if the first updates are faster with it
    tensorboard: bool = False  # write TensorBoard logs, too
    shard: bool = False  # under torchrun: shard the weights over the workers (FSDP2), for models that do not fit on one of them
    deterministic: bool = False  # cbow, skipgram and glove: the same bits with any number of threads; slower
    on_disk_full: Literal["go-on", "stop"] = "go-on"  # what to do when a checkpoint cannot be written
    init_from: str | None = None  # run whose weights this new run starts from; random weights if not given
    accept_new_corpus: bool = False  # resume although the text has changed
    seed: int = 0  # seed of everything random

    def check(self) -> None:
        """Refuse impossible values before any work is done."""
        if self.steps is not None and self.epochs is not None:
            raise BadInput("--steps and --epochs both say how long to train; give one of them")
        for name, low, high in (
            ("steps", 1, 10**9), ("batch_tokens", 1, 1 << 30), ("batch_examples", 1, 1 << 20), ("accumulate", 1, 1 << 20),
            ("evaluate_every", 1, 10**9), ("save_every", 1, 10**9), ("keep", 1, 1000), ("patience", 0, 10**6), ("threads", 1, 10**6),
            ("seed", 0, (1 << 63) - 1),
            ("epochs", 0, 1e6), ("learning_rate", 0, math.inf), ("warmup", 0, 1), ("weight_decay", 0, 100), ("clip", 0, 1e9),
            ("warmup_steps", 1, 10**9), ("beta1", 0, 0.999999), ("beta2", 0, 0.999999), ("adam_epsilon", 0, 1), ("embedding_lr_scale", 0, 1000),
            ("muon_learning_rate", 0, 10), ("skipgram_tokens", 0, 1 << 40), ("stacking", 0, 1),
        ):  # fmt: skip
            check_range(name, getattr(self, name), low, high)
        for name in ("epochs", "learning_rate"):
            if getattr(self, name) == 0:
                raise BadInput(f"{flag(name)} 0 would train nothing; give a number above 0")
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise BadInput(f"--device {self.device!r} is unknown; give auto, cpu, cuda or cuda:1")
        if self.optimizer != "muon" and self.muon_learning_rate != type(self).muon_learning_rate:
            raise BadInput("--muon-learning-rate is for --optimizer muon; give both")
        wanted = {"optimizer": self.optimizer == "muon", "skipgram_tokens": self.skipgram_tokens > 0, "stacking": self.stacking > 0}
        for name, others in INCOMPATIBLE.items():
            for other in (other for other in others if getattr(self, name) and wanted[other]):
                raise BadInput(f"{NEEDS[other]}, which does not go with {flag(name)}; leave one of them out")
        if self.budget is not None:
            parse_duration(self.budget)

    def validated(self, model: "Model | type[Model]") -> "TrainingOptions":
        """The options as `model` is trained with, its defaults filled in; an option that has no effect on it is refused."""
        self.check()
        if model.learns_by == "adoption":
            raise Unsupported(f"{model.name} are adopted, not trained; train cbow, skipgram or glove")
        if model.learns_by == "sweeping":
            return self._validated_for_sweeps(model)
        if self.optimizer == "muon" and not model.is_transformer:
            raise BadInput(f"--optimizer muon is for the blocks of a Transformer, and {model.name} has none; leave it out")
        for name in ("skipgram_tokens", "stacking"):
            if getattr(self, name) and not model.is_transformer:
                raise BadInput(f"{flag(name)} is for Transformers, and {model.name} is none; leave it out")
        if self.deterministic:
            raise BadInput(f"--deterministic is for cbow, skipgram and glove; {model.name} needs only the same --threads for the same bits")
        return replace(self, budget=self.budget or DEFAULT_BUDGET) if self.is_timed else self

    def _validated_for_sweeps(self, model: "Model | type[Model]") -> "TrainingOptions":
        for field in fields(self):
            if field.name in GRADIENT_ONLY and getattr(self, field.name) != field.default:
                advice = "give --epochs or --budget" if field.name == "steps" else "leave it out"
                raise BadInput(f"{flag(field.name)} has no effect on {model.name}, which is not trained by gradient descent; {advice}")
        if self.device.startswith("cuda"):
            raise BadInput(f"--device {self.device}: {model.name} is trained on the CPU; leave it out")
        return replace(self, epochs=model.epochs) if self.epochs is None and self.budget is None else self

    def for_task(self, task: "Task") -> "TrainingOptions":
        """The options with the defaults of the task and its model; an option that has no effect on them is refused."""
        if task.training_defaults is None:
            return self.validated(task.model)
        self.check()
        for name in ("skipgram_tokens", "stacking"):
            if getattr(self, name):
                raise BadInput(f"{flag(name)} is for pretraining, and labels are learnt with all of a pretrained model; leave it out")
        return self if self.batch_examples is not None else replace(self, batch_examples=task.training_defaults["batch_examples"])

    def with_default_epochs(self, task: "Task", examples: "TrainingRows") -> "TrainingOptions":
        """With the task's default number of epochs for its labelled examples, if the options do not say how long to train."""
        if task.training_defaults is None or self.steps is not None or self.epochs is not None or self.budget is not None:
            return self
        from stairs.tasks.parts.fine_tuning import epochs_for_updates

        assert self.batch_examples is not None
        default, rows = task.training_defaults["epochs"], len(examples.lengths)
        updates = -(-rows // self.batch_examples)
        epochs = epochs_for_updates(updates, default, task.training_defaults["min_updates"])
        if epochs > default:
            count = "1 update" if updates == 1 else f"{updates} updates"
            say(f"{epochs:g} epochs instead of {default:g}, since an epoch of {rows} rows is {count}; change it with --epochs")
        return replace(self, epochs=epochs)

    @property
    def is_timed(self) -> bool:
        """Whether a time budget ends the training."""
        return self.budget is not None or (self.steps is None and self.epochs is None)

    @property
    def budget_seconds(self) -> float:
        return parse_duration(self.budget or DEFAULT_BUDGET)

    def requested_steps(self, steps_per_epoch: int) -> int | None:
        """The number of updates; None if only a time is given."""
        return self.steps if self.epochs is None else max(round(self.epochs * steps_per_epoch), 1)

    def frozen_fields(self) -> dict[str, object]:
        """The options that decide the weights: a run resumes only with the same. A switch that is off is left out, and so is a choice that is not
        made, so that new ones do not change the runs from before them."""
        unset = {name for name in CHOICES if getattr(self, name) == getattr(type(self), name)}
        return {name: value for name, value in asdict(self).items() if name not in {*RESUMABLE, *NOT_RECORDED, *unset} and value is not False}

    def resumable_fields(self) -> dict[str, object]:
        """The options that a resumed run may change."""
        return {name: getattr(self, name) for name in RESUMABLE}


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def check_range(name: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not (low <= value <= high and math.isfinite(value)):
        raise BadInput(f"{flag(name)} {value} is not between {low} and {high:g}")


def parse_duration(text: str, flag: str = "--budget") -> float:
    """'90s' -> 90.0, '20m' -> 1200.0"""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip())
    if not match or not 0 < float(match[1]) * UNITS[match[2] or "s"] < 1e9:
        raise BadInput(f"{flag} {text!r} is not a time; write it as 90s, 20m or 2h")
    return float(match[1]) * UNITS[match[2] or "s"]


def lr_factor_by_steps(step: int, steps: int, options: TrainingOptions) -> float:
    """Learning rate of the update number `step`, from 0, out of `steps`, as a share of its peak."""
    warmup = options.warmup_steps or max(round(options.warmup * steps), 1)
    if step < warmup:
        return (step + 1) / warmup
    if options.schedule == "hold":
        return min(1.0, (1 - step / steps) / DECAY_SHARE)
    return lr_factor_after_warmup(options.schedule, (step - warmup + 1) / max(steps - warmup + 1, 1), (step + 1) / warmup)


def lr_factor_by_time(step: int, progress: float, options: TrainingOptions) -> float:
    """Learning rate of the update number `step` when a share of the time, `progress`, is spent, as a share of its peak."""
    if options.warmup_steps:
        return lr_factor_by_steps(step, max(round(step / max(progress, 1e-9)), step + 1), options)
    warmup = options.warmup
    risen = min(progress / warmup if warmup else 1.0, (step + 1) / MIN_WARMUP_UPDATES)
    if risen < 1:
        return max(risen, 1 / MIN_WARMUP_UPDATES / 10)
    if options.schedule == "hold":
        return min(1.0, max(1 - progress, 0.0) / DECAY_SHARE)
    return lr_factor_after_warmup(options.schedule, (progress - warmup) / max(1 - warmup, 1e-9), progress / max(warmup, 1e-9))


def lr_factor_after_warmup(schedule: str, done: float, warmups: float) -> float:
    """`done` is the share of the part after the warm-up, `warmups` the training so far in lengths of the warm-up."""
    done = min(max(done, 0.0), 1.0)
    if schedule == "constant":
        return 1.0
    if schedule == "inverse-sqrt":
        return 1 / math.sqrt(max(warmups, 1.0))
    return 1 - done if schedule == "linear" else (1 + math.cos(math.pi * done)) / 2
