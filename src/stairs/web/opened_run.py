"""A run that was opened: its folder, read again for each page, and its model, loaded in the background."""

import fcntl
import json
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stairs.errors import StairsError
from stairs.files import LOCK_FILE, MANIFEST, os_error_reason
from stairs.tasks.metric_table import METRICS, primary_metric
from stairs.web.requests import RequestError, json_safe

if TYPE_CHECKING:
    from stairs.tasks import Task

# the same names as in training/run.py, which needs torch
RUN_FILE, METRICS_FILE, MODEL_FOLDER, WEIGHTS_FILE = "run.json", "metrics.jsonl", "model", "model.safetensors"
PATIENCE = 0.3  # seconds a request waits for a model to load before it is told to try again
MAX_WAIT = 60.0  # seconds a request waits for another one that uses the same model
MAX_HEADER_BYTES = 1 << 26  # of a safetensors file
MAX_NAME_LENGTH = 40
Lines = tuple[list[dict[str, Any]], str | None]  # of metrics.jsonl, and what is wrong with the file


class OpenedRun:
    """One run folder: `summary` never fails, `open_task` gives its task to one caller at a time."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.task: Task | None = None
        self.problem: str | None = None
        self.model_version: int | None = None  # when the model was written that was loaded, or could not be
        self.metrics_cache: tuple[tuple[int, int], Lines] = ((-1, -1), ([], None))  # size and time of the file, and its lines
        self.loading = threading.Lock()
        self.in_use = threading.Lock()

    def summary(self) -> dict[str, Any]:
        """The row of the list of runs, with what is wrong."""
        settings, settings_problem = self.settings()
        lines, metrics_problem = self.metrics()
        is_finished, version = (self.folder / MODEL_FOLDER).is_dir(), self.current_version()
        model_problem = self.problem if is_finished and version == self.model_version else None
        is_damaged = bool(settings_problem or model_problem)
        state = "damaged" if is_damaged else "training" if self.is_training() else "finished" if is_finished else "unfinished"
        return json_safe({
            "name": self.name,
            "state": state,
            "problem": settings_problem or model_problem or metrics_problem,
            "is_loaded": self.task is not None and version == self.model_version,
            "can_answer": is_finished and not is_damaged,
            "model": short_text(settings.get("model") or getattr(self.task, "model_name", None)),  # a baseline writes no settings of its own
            "task": short_text(settings.get("task") or getattr(self.task, "name", None)),
            "step": next((line["step"] for line in reversed(lines) if isinstance(line.get("step"), int)), None),
            "score": latest_score(lines, monitored_metric(settings)),
            **self.size(),
        })  # fmt: skip

    def chosen_metric(self) -> str:
        """The metric that chose its weights; "" if its settings name none."""
        return monitored_metric(self.settings()[0])

    def settings(self) -> tuple[dict[str, Any], str | None]:
        try:
            settings = json.loads((self.folder / RUN_FILE).read_text("utf-8"))
            return (settings, None) if isinstance(settings, dict) else ({}, f"{RUN_FILE} holds no settings")
        except OSError as error:
            return {}, f"{RUN_FILE} cannot be read: {os_error_reason(error)}"
        except (ValueError, RecursionError):
            return {}, f"{RUN_FILE} is damaged; train the run again into another folder"

    def metrics(self) -> Lines:
        """The measurements, and what is wrong with the file; read again when it has changed."""
        path = self.folder / METRICS_FILE
        try:
            status = path.stat()
            if (status.st_size, status.st_mtime_ns) != self.metrics_cache[0]:
                self.metrics_cache = (status.st_size, status.st_mtime_ns), parse_metrics(path.read_text("utf-8", errors="replace"))
        except OSError:
            return [], None
        return self.metrics_cache[1]

    def size(self) -> dict[str, Any]:
        """Bytes of the weights and the number of parameters, from the header of the file."""
        path = self.folder / MODEL_FOLDER / WEIGHTS_FILE
        try:
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(length)) if length <= MAX_HEADER_BYTES else {}
            parameters = sum(math.prod(map(int, entry["shape"])) for name, entry in header.items() if name != "__metadata__")
            return {"bytes": path.stat().st_size, "parameters": parameters}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {"bytes": None, "parameters": None}

    def is_training(self) -> bool:
        """Whether a process holds the lock of the folder."""
        try:
            with (self.folder / LOCK_FILE).open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def current_version(self) -> int | None:
        """When the model was written."""
        with suppress(OSError):
            return (self.folder / MODEL_FOLDER / MANIFEST).stat().st_mtime_ns
        return None

    def load(self) -> None:
        """Load the model, unless this version was loaded or has failed already."""
        with self.loading:
            version = self.current_version()
            if version is not None and version == self.model_version:
                return
            from stairs.training.run import load

            self.task, self.problem = None, None
            try:
                self.task = load(self.folder)
            except StairsError as error:
                self.problem = str(error).replace(str(self.folder), self.name)
            except MemoryError:
                self.problem = "this machine has too little memory for its model"
            except Exception as error:  # a folder that was tampered with must not take the page down
                self.problem = f"its model cannot be opened: {type(error).__name__}"
            self.model_version = version

    @contextmanager
    def open_task(self) -> "Iterator[Task]":
        """The task, for one caller at a time. A RequestError while the model loads, if it cannot be loaded, or if it is in use for too long."""
        if self.task is None or self.current_version() != self.model_version:
            loader = threading.Thread(target=self.load, daemon=True)
            loader.start()
            loader.join(PATIENCE)
            if loader.is_alive():
                raise RequestError(503, "loading", f"the model of {self.name} is being loaded; try again in a second")
        if self.task is None:
            raise RequestError(422, "no_model", self.problem or f"{self.name} has no model", "run")
        if not self.in_use.acquire(timeout=MAX_WAIT):
            raise RequestError(503, "busy", f"{self.name} is still busy with another request; try again later")
        try:
            yield self.task
        finally:
            self.in_use.release()


def parse_metrics(content: str) -> Lines:
    """The objects of a JSONL file, and what is wrong with it; a last line that is still being written does not count."""
    lines = []
    for number, line in enumerate(content.split("\n")[:-1], 1):
        try:
            lines.append(dict(json.loads(line)))
        except (ValueError, TypeError, RecursionError):
            return lines, f"{METRICS_FILE}:{number} is not JSON"
    return lines, None


def monitored_metric(settings: dict[str, Any]) -> str:
    """The metric that chose the weights of a run, if it names one."""
    inner = settings.get("settings")
    return str((inner.get("metric") if isinstance(inner, dict) else None) or settings.get("metric") or "")


def latest_score(lines: Sequence[dict[str, Any]], metric: str = "") -> dict[str, Any] | None:
    """The monitored or most important metric, as measured last: {"name", "title", "value", "low", "high"}."""
    for line in reversed(lines):
        name = primary_metric(line, metric)
        if name is not None:
            return {"name": name, "title": metric_title(name), **{key: line[name].get(key) for key in ("value", "low", "high")}}
    return None


def metric_title(name: str) -> dict[str, str]:
    """By language."""
    metric = METRICS.get(name)
    plain = name.replace("_", " ")
    return {"en": metric.english, "zh": metric.chinese} if metric else {"en": plain, "zh": plain}


def short_text(value: object) -> str:
    return as_utf8(str(value)[:MAX_NAME_LENGTH]) if value is not None else ""


def as_utf8(name: str) -> str:
    """A name as UTF-8, whatever bytes the file system holds."""
    return name.encode("utf-8", "backslashreplace").decode()
