"""The runs that are shown: what stands in their folders, read anew for each page, and their models, loaded behind it one after another."""

import fcntl
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from stairs.errors import StairsError
from stairs.files import LOCK_FILE, MANIFEST, os_error_reason
from stairs.training.run import RUN_FILE
from stairs.web.requests import RequestError, json_safe

METRICS, MODEL, WEIGHTS = "metrics.jsonl", "model", "model.safetensors"
PATIENCE = 0.3  # seconds a request waits for a model before it is told to come again
MAX_WAIT = 60.0  # seconds a request waits for another one that asks the same model
# the first measured, if no metric was chosen
QUALITIES = ("bleu", "spearman", "f1", "accuracy", "exact_match", "bits_per_character", "loss", "perplexity")
MAX_HEADER_BYTES = 1 << 26  # bytes of a safetensors header that are believed
Measured = tuple[list[dict[str, Any]], str | None]


class OpenedRun:
    """One run folder: `summary` never fails, `model` gives its task to one caller at a time."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.task: Any = None
        self.problem: str | None = None
        self.seen: int | None = None  # when the model that was loaded, or could not be, was written
        self.measured: tuple[tuple[int, int], Measured] = ((-1, -1), ([], None))  # size and time of the file, and what stood in it
        self.loading = threading.Lock()
        self.in_use = threading.Lock()

    def summary(self) -> dict[str, Any]:
        """What the list of runs says of it, with what is wrong."""
        settings, wrong = self.settings()
        lines, damaged = self.metrics()
        finished, written = (self.folder / MODEL).is_dir(), self.written()
        broken = self.problem if finished and written == self.seen else None
        problem = wrong or broken or damaged
        state = "damaged" if wrong or broken else "training" if self.is_training() else "finished" if finished else "unfinished"
        return json_safe({
            "name": self.name,
            "state": state,
            "problem": problem,
            "is_loaded": self.task is not None and written == self.seen,
            "can_answer": finished and not wrong and not broken,
            # what is learnt at once writes no settings of its own
            "step": short_text(settings.get("model") or getattr(self.task, "model_name", None)),
            "task": short_text(settings.get("task") or getattr(self.task, "name", None)),
            "at": next((line["step"] for line in reversed(lines) if isinstance(line.get("step"), int)), None),
            "quality": latest_score(lines, monitored_metric(settings)),
            **self.size(),
        })  # fmt: skip

    def settings(self) -> tuple[dict[str, Any], str | None]:
        try:
            found = json.loads((self.folder / RUN_FILE).read_text("utf-8"))
            return (found, None) if isinstance(found, dict) else ({}, f"{RUN_FILE} holds no settings")
        except OSError as error:
            return {}, f"{RUN_FILE} cannot be read: {os_error_reason(error)}"
        except (ValueError, RecursionError):
            return {}, f"{RUN_FILE} is damaged; train the run again into another folder"

    def metrics(self) -> Measured:
        """What was measured, and what is wrong with it; read again when there is more."""
        path = self.folder / METRICS
        try:
            status = path.stat()
            if (status.st_size, status.st_mtime_ns) != self.measured[0]:
                self.measured = (status.st_size, status.st_mtime_ns), parse_metrics(path.read_text("utf-8", errors="replace"))
        except OSError:
            return [], None
        return self.measured[1]

    def size(self) -> dict[str, Any]:
        """Bytes of the weights and how many numbers they are, from the file's header."""
        path = self.folder / MODEL / WEIGHTS
        try:
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(length)) if length <= MAX_HEADER_BYTES else {}
            numbers = sum(product(entry["shape"]) for name, entry in header.items() if name != "__metadata__")
            return {"bytes": path.stat().st_size, "parameters": numbers}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {"bytes": None, "parameters": None}

    def is_training(self) -> bool:
        """Whether a process is writing it now."""
        try:
            with (self.folder / LOCK_FILE).open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def written(self) -> int | None:
        with suppress(OSError):
            return (self.folder / MODEL / MANIFEST).stat().st_mtime_ns
        return None

    def load(self) -> None:
        """Read the model, unless that was done or tried already and it has not changed since."""
        with self.loading:
            written = self.written()
            if written is not None and written == self.seen:
                return
            from stairs.training.run import load

            self.task, self.problem = None, None
            try:
                self.task = load(self.folder)
            except StairsError as error:
                self.problem = str(error).replace(str(self.folder), self.name)
            except MemoryError:
                self.problem = "the memory of this machine is not enough for its model"
            except Exception as error:  # a folder that was tampered with must not take the page down
                self.problem = f"its model cannot be opened: {type(error).__name__}"
            self.seen = written

    @contextmanager
    def model(self) -> Iterator[Any]:
        """Its task, for one caller at a time; refused while it loads, if it cannot be loaded, or if others take too long."""
        if self.task is None or self.written() != self.seen:
            loader = threading.Thread(target=self.load, daemon=True)
            loader.start()
            loader.join(PATIENCE)
            if loader.is_alive():
                raise RequestError(503, "loading", f"the model of {self.name} is being loaded; ask again in a second")
        if self.task is None:
            raise RequestError(422, "no_model", self.problem or f"{self.name} has no model", "run")
        if not self.in_use.acquire(timeout=MAX_WAIT):
            raise RequestError(503, "busy", f"{self.name} is still at work on another question; ask again later")
        try:
            yield self.task
        finally:
            self.in_use.release()


def parse_metrics(written: str) -> Measured:
    """The objects of a file of them, and what is wrong with it; a last line that is still being written does not count."""
    found = []
    for number, line in enumerate(written.split("\n")[:-1], 1):
        try:
            found.append(dict(json.loads(line)))
        except (ValueError, TypeError, RecursionError):
            return found, f"{METRICS}:{number} is not JSON"
    return found, None


def monitored_metric(settings: dict[str, Any]) -> str:
    """The one that chose the weights of a run, if it was begun with one."""
    inner = settings.get("settings")
    return str((inner.get("metric") if isinstance(inner, dict) else None) or settings.get("metric") or "")


def latest_score(lines: Sequence[dict[str, Any]], metric: str = "") -> dict[str, Any] | None:
    """The measurement that says most, the last time one was made: {"name", "value", "low", "high"}."""
    for line in reversed(lines):
        for name in (metric, *QUALITIES):
            if isinstance(measured := line.get(name), dict) and isinstance(measured.get("value"), int | float):
                return {"name": name, **{key: measured.get(key) for key in ("value", "low", "high")}}
    return None


def product(shape: Sequence[int]) -> int:
    total = 1
    for side in shape:
        total *= int(side)
    return total


def short_text(value: object) -> str:
    return as_utf8(str(value)[:40]) if value is not None else ""


def as_utf8(name: str) -> str:
    """A name as UTF-8, whatever the file system holds."""
    return name.encode("utf-8", "backslashreplace").decode()
