"""What run.json holds, and which of it a resumed run may change."""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from stairs import machine
from stairs.data import TrainingData
from stairs.errors import BadInput, preview
from stairs.files import write_json
from stairs.models.settings import CONFIGS
from stairs.training.options import parse_duration
from stairs.training.run import FORMAT, RUN_FILE, Run

if TYPE_CHECKING:
    from stairs.tasks.measurements import Interval
    from stairs.tasks.task import Task
    from stairs.training.updater import ProbedPlan

EXTENDABLE = ("training.steps", "training.epochs")  # a run may be extended; under a time budget only with --schedule hold
UNCHECKED = {"versions", "created", "format", "environment", "machine", "resumable", "probed_plan", "recipe", "columns"}  # when a run is resumed


class DataSettings(TypedDict, total=False):
    corpus: str  # fingerprint of the data
    tokenizer: str  # hash
    split_format: int  # version of the rule that splits a corpus


class RunSettings(TypedDict):
    """run.json."""

    format: int
    task: str
    model: str
    config: dict[str, object]  # of the model
    seed: NotRequired[int]
    data: NotRequired[DataSettings]
    versions: NotRequired[dict[str, str]]
    training: NotRequired[dict[str, object]]  # options that decide the weights
    resumable: NotRequired[dict[str, object]]  # options that a resumed run may change
    environment: NotRequired[dict[str, object]]  # what bit-exactness depends on besides
    machine: NotRequired[dict[str, object]]
    probed_plan: "NotRequired[ProbedPlan]"
    columns: NotRequired[dict[str, str]]  # of the labelled file, by the names of their flags: text, label, second_column
    recipe: NotRequired[dict[str, object]]  # size, batch and vocabulary, where the time chose them


class UpdateRow(TypedDict):
    """A row of metrics.jsonl for an update."""

    step: int  # updates made
    loss: float  # nats per target
    loss_hex: str  # the same number, exactly
    targets: int
    words: NotRequired[int]  # of a training by sweeps
    words_per_second: NotRequired[float]


class SweepSpeed(TypedDict, total=False):
    """What an update by a sweep adds to its row."""

    words: int
    words_per_second: float


class EvaluationRow(TypedDict):
    """A row of metrics.jsonl for an evaluation on the way, with its measurements."""

    step: int
    seconds: float  # of training so far


class OnePassRow(TypedDict):
    """The only row of a training in one pass, with the measurements of the final split."""

    step: int
    trained_tokens: NotRequired[int]
    seconds: float
    cpu_seconds: float
    validation: "NotRequired[dict[str, Interval]]"


class FinalRow(TypedDict):
    """The last row of metrics.jsonl, with the measurements of the final split."""

    step: int
    trained_steps: int  # of a training by gradients or sweeps, and in the manifest of the model
    best_step: int | None
    budget: NotRequired[float]  # seconds
    seconds: float
    cpu_seconds: float
    seconds_by_phase: dict[str, float]  # encoding, updates, evaluation, saving
    validation: "dict[str, Interval]"  # the measurement that the weights were chosen by


def run_settings(task: "Task", data: TrainingData, seed: int) -> dict[str, object]:
    """The settings of a new run, without those of its training."""
    sources = {"corpus": data.fingerprint, "tokenizer": task.tokenizer.hash}
    split_format = {} if data.split_format is None else {"split_format": data.split_format}  # a corpus that is split in another way is other data
    return {"format": FORMAT, **task.describe(), "seed": seed, "data": {**sources, **split_format}, "versions": machine.versions()}


def refuse_changes(old: Mapping[str, object], new: Mapping[str, object], folder: Path, allowed: Collection[str] = ()) -> None:
    """A run resumes only with the settings it was started with; a change of the data is named first, since other settings follow from it."""
    before, now = flatten(with_default_config(old)), flatten(new)
    for key in sorted(before.keys() | now.keys(), key=lambda key: (not key.startswith("data"), key)):
        old_value, new_value = before.get(key), now.get(key)
        if old_value == new_value or key in allowed:
            continue
        if key in EXTENDABLE and isinstance(old_value, int | float) and isinstance(new_value, int | float) and new_value > old_value:
            continue
        has_budgets = key == "training.budget" and bool(old_value and new_value)
        if has_budgets and parse_duration(str(new_value)) > parse_duration(str(old_value)):
            if before.get("training.schedule") == "hold":
                continue
            raise BadInput(
                f"{folder} was trained for {old_value} with --schedule {before.get('training.schedule')}, whose learning rate has fallen by then; "
                f"only a run started with --schedule hold can be extended; choose another --out, with --init-from {folder} for these weights"
            )
        advice = "choose another --out for a new run"
        if "training" in old:
            advice += f", with --init-from {folder} to start from these weights"
            advice += ", or add --accept-new-corpus" if key == "data.corpus" else ""
        raise BadInput(f"{folder} was started with {key} = {preview(old_value)}, now it is {preview(new_value)}; {advice}")


def keep_columns(folder: Path, columns: Mapping[str, str]) -> None:
    """Note in run.json which columns a finished run learnt from, so that a new file is read in the same way."""
    settings = Run(folder).settings
    if columns and settings.get("columns") != columns:
        write_json(folder / RUN_FILE, {**settings, "columns": dict(columns)})


def with_default_config(settings: Mapping[str, object]) -> Mapping[str, object]:
    """A run from before an option existed has what is now its default."""
    config, kind = settings.get("config"), CONFIGS.get(str(settings.get("model")))
    if kind is None or not isinstance(config, dict):
        return settings
    defaults = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    return {**settings, "config": {**defaults, **config}}


def flatten(settings: Mapping[str, object]) -> dict[str, object]:
    """{"config": {"order": 3}} -> {"config.order": 3}, without what may change."""
    flat: dict[str, object] = {}
    for key, value in settings.items():
        if key not in UNCHECKED:
            flat |= {f"{key}.{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {key: value}
    return flat


def describe_differences(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """'not bit-exact: threads 2 -> 1', or nothing."""
    changes = [f"{name} {before[name]} -> {now[name]}" for name in now if name in before and before[name] != now[name]]
    if not changes:
        return ""
    if [change.split()[0] for change in changes] == ["workers"]:
        return f"same data order, not bit-exact (world size {before['workers']} -> {now['workers']})"
    return "not bit-exact: " + ", ".join(changes)
