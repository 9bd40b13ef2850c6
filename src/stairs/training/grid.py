"""The grid of fine-tuning settings that `stairs tune --sweep` tries, by the error on validation examples.

Devlin et al. 2018, appendix A.3: batch sizes 16 and 32, learning rates 5e-5, 3e-5 and 2e-5, and 2 to 4 epochs: 18 combinations, each from the same
pretrained weights. A setting that the user gives is not varied.

Within a budget, combinations are tried in the order of this list, the defaults first. One is left out if it would take longer than what is left, by
the time of an epoch so far, which the finished runs record: so a sweep that was killed and resumed leaves out the same ones.

Departures: the rates are those of the paper for an encoder as wide as the paper's, and larger for a narrower one, as `fine_tuning.py` has it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypedDict

from stairs.errors import BadInput, Unsupported
from stairs.models.base import Model
from stairs.models.transfer_options import TransferOptions
from stairs.tasks.parts.fine_tuning import FULL_RATE, default_learning_rate
from stairs.training.options import TrainingOptions

EPOCHS, BATCHES, RATES = (3.0, 2.0, 4.0), (32, 16), (5e-5, 3e-5, 2e-5)  # what is tried first comes first


class GridPoint(TypedDict):
    """One combination, as training options."""

    batch_examples: int
    learning_rate: float
    epochs: float


class GridResult(GridPoint):
    """A combination that was tried, as selection.json has it."""

    error: float  # on the validation examples
    seconds: float


def grid_points(options: TrainingOptions, model: Model, transfer: TransferOptions) -> list[GridPoint]:
    """All combinations for an encoder, without those that the options exclude."""
    rate = default_learning_rate(model, transfer)
    epochs = EPOCHS if options.epochs is None else (options.epochs,)
    batches = BATCHES if options.batch_examples is None else (options.batch_examples,)
    rates = [float(f"{rate * one / FULL_RATE:.4g}") for one in RATES] if options.learning_rate is None else [options.learning_rate]
    return [{"batch_examples": batch, "learning_rate": rate, "epochs": epoch} for epoch, batch, rate in product(epochs, batches, rates)]


def point_name(point: GridPoint) -> str:
    """Of its run: 'batch32-lr5e-05-epochs3'."""
    return f"batch{point['batch_examples']}-lr{point['learning_rate']:g}-epochs{point['epochs']:g}"


def check_sweep(options: TrainingOptions, transfer: TransferOptions) -> TransferOptions:
    """Refuse what a sweep cannot vary; how much of the encoder is trained is not varied: all of it, unless the user says otherwise."""
    if options.steps is not None:
        raise BadInput("--steps and --sweep, which varies the number of epochs, both say how long to train; give one of them")
    if transfer.transfer in ("features", "frozen"):
        raise BadInput(f"--sweep varies how an encoder is trained, and --transfer {transfer.transfer} trains none of it; use full or top")
    if options.budget is not None and os.environ.get("WORLD_SIZE", "1") != "1":
        raise Unsupported("--sweep within a --budget goes by the clock of one process; leave --budget out under torchrun")
    return replace(transfer, transfer="full") if transfer.transfer == "auto" else transfer


def has_time(point: GridPoint, tried: Sequence[GridResult], budget: float | None) -> bool:
    """Whether a combination fits into what is left of the budget; the first one is always tried."""
    if budget is None or not tried:
        return True
    spent = sum(result["seconds"] for result in tried)
    per_epoch = spent / sum(result["epochs"] for result in tried)
    return spent + per_epoch * point["epochs"] <= budget


def sweep_table(results: Mapping[str, GridResult], selected: str, untried: Sequence[str]) -> list[str]:
    """All combinations for a person, the best first."""
    rows = ["batch  learning rate  epochs   error  seconds"]
    for name, result in sorted(results.items(), key=lambda item: item[1]["error"]):
        settings = f"{result['batch_examples']:5d}  {result['learning_rate']:13.3g}  {result['epochs']:6g}"
        rows.append(f"{settings}  {result['error']:.4f}  {result['seconds']:7.1f}{'  kept' if name == selected else ''}")
    if untried:
        rows.append(f"no time was left for {len(untried)} of {len(untried) + len(results)} combinations; give a longer --budget")
    return rows
