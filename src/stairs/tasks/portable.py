"""A task as an object of Python: what it shows of itself, and how it is copied, pickled and sent to another process.

What is pickled is the files that `save` writes, bytes of safetensors and JSON, and a task is opened from them as from a run folder. Stairs itself
reads no pickle.
"""

import copy
import html
import json
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from stairs.tasks.config_file import CONFIG
from stairs.tasks.measurements import EVALUATION_FILE
from stairs.tasks.metric_table import METRICS, primary_metric

if TYPE_CHECKING:
    from stairs.tasks.task import Task

METRICS_FILE = "metrics.jsonl"
MAX_LABELS = 8  # that are shown


class Portable:
    """What every task inherits."""

    folder: Path | None = None  # of the run that it was loaded from; None for a task that is no run yet

    def facts(self) -> dict[str, str]:
        """What it is and how good, in words."""
        task = cast("Task", self)
        facts = {"task": task.name, "model": task.model_name}
        if task.has_model and (parameters := sum(weight.numel() for weight in task.model.parameters())):  # n-grams have counts instead
            facts["parameters"] = f"{parameters:,}"
        facts["tokenizer"] = f"{task.tokenizer.kind}, {task.tokenizer.vocab_size:,} tokens"
        if labels := getattr(self, "labels", None):
            facts["labels"] = ", ".join(labels[:MAX_LABELS]) + (", ..." if len(labels) > MAX_LABELS else "")
        if self.folder is not None:
            facts |= quality(self.folder)
            facts["run"] = str(self.folder)
        return facts

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(f'{name}: {value}' for name, value in self.facts().items())}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in self.facts().items())
        return f"<table>{rows}</table>"

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memory: dict[int, object]) -> Self:
        twin = type(self).__new__(type(self))
        memory[id(self)] = twin
        made_again = {name for kind in type(self).__mro__ for name, own in vars(kind).items() if isinstance(own, cached_property)}
        twin.__dict__.update(copy.deepcopy({name: own for name, own in self.__dict__.items() if name not in made_again}, memory))
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory(prefix="stairs-") as name:
            cast("Task", self).save(Path(name))
            files = {path.name: path.read_bytes() for path in sorted(Path(name).iterdir())}
        return restore_task, (files, str(self.folder) if self.folder else None)


def restore_task(files: dict[str, bytes], folder: str | None) -> "Task":
    """The task whose files these are; `folder` is its run, which may be elsewhere by now."""
    from stairs.tasks import TASKS

    with tempfile.TemporaryDirectory(prefix="stairs-") as name:
        for file, content in files.items():
            (Path(name) / Path(file).name).write_bytes(content)
        config = json.loads(files[CONFIG])
        task = TASKS[config["task"]].open(Path(name), config)
    task.folder = None if folder is None else Path(folder)
    return task


def quality(folder: Path) -> dict[str, str]:
    """The metric that a run is known by, as it was measured last: on the test examples, or on the test split of its text."""
    measured: dict[str, Any] = {}
    try:
        if (folder / EVALUATION_FILE).exists():
            evaluation = json.loads((folder / EVALUATION_FILE).read_text("utf-8"))
            measured = evaluation.get("test") or evaluation.get("dev") or {}
        elif (folder / METRICS_FILE).exists():
            measured = json.loads((folder / METRICS_FILE).read_text("utf-8").rstrip().rpartition("\n")[2] or "{}")
    except (OSError, ValueError):
        return {}  # it was deleted or is being written
    metric = primary_metric(measured)
    if metric is None:
        return {}
    value = measured[metric]
    interval = f" ({value['low']:.4f} to {value['high']:.4f})" if "low" in value else ""
    return {METRICS[metric].english: f"{value['value']:.4f}{interval}"}
