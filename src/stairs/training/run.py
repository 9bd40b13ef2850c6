"""A run folder: what was trained, how, and what came of it.

run.json        settings, seed, versions, threads and hashes of the data
metrics.jsonl   a line per measurement
run.lock        held by the one process that may write
tokenizer/      how its text is cut
step-NNNNNNNNN/ checkpoints of a training that goes by steps, see checkpoint.py
model/          the finished model: config.json, model.safetensors, tokenizer files, and a manifest written last
"""

import json
import os
import platform
import shutil
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from stairs.errors import BadInput, EnvironmentFault, preview
from stairs.files import NO_SUCH_PATH, new_folder, os_error_reason, os_errors_as_sentences, verified_manifest, write_json
from stairs.tasks import TASKS
from stairs.tasks.task import CONFIG, Task
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.options import parse_duration
from stairs.training.run_lock import LOCK_FILE, RUN_FILE, TEMPORARY_PREFIXES, check_run, write_lock
from stairs.version import __version__

METRICS_FILE, MODEL_FOLDER, TOKENIZER_FOLDER = "metrics.jsonl", "model", "tokenizer"
EXTENDABLE = ("training.steps", "training.epochs")  # a run may be made longer; by the clock, only one whose rate is held
FORMAT = 1
UNCHECKED = {"versions", "created", "format", "environment", "machine", "resumable", "probed_plan", "recipe"}  # when a run is continued


class Run:
    """One folder, one writer, any number of readers."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @property
    def settings(self) -> dict[str, Any]:
        path = self.folder / RUN_FILE
        try:
            settings = json.loads(path.read_text("utf-8"))
            made_by, version = int(settings["format"]), settings.get("versions", {}).get("stairs", "unknown")
        except OSError as error:
            if error.errno in NO_SUCH_PATH:
                raise BadInput(f"{self.folder} is not a run: it is {self.describe_path()}; make one with stairs train") from None
            raise EnvironmentFault(f"cannot read {path}: {os_error_reason(error)}; check the folder") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise BadInput(f"{path} is damaged; train the run again into another folder") from None
        if made_by > FORMAT:
            raise BadInput(f"{path} was made by version {preview(version)} of stairs, newer than this {__version__}; update stairs")
        return settings

    def describe_path(self) -> str:
        """What stands where a run should be."""
        if not os.path.isdir(self.folder):
            return "a file" if os.path.exists(self.folder) else "not there"
        return "a folder without run.json" if any(self.folder.iterdir()) else "an empty folder"

    @property
    def is_finished(self) -> bool:
        return (self.folder / MODEL_FOLDER).is_dir()

    def damage(self) -> str | None:
        """What is wrong with a finished run, in a sentence, if anything."""
        try:
            verified_manifest(self.folder / MODEL_FOLDER)
        except BadInput as error:
            return str(error)
        return None if self.metrics() else f"{self.folder / METRICS_FILE} is empty"

    @contextmanager
    def open_for_writing(self, settings: dict[str, Any], allowed: Collection[str] = ()) -> Iterator[None]:
        """Hold the run for writing: a new one, or the same one again; anything else is refused before a byte is written.

        `allowed` are settings that may differ this time, such as "data.corpus"."""
        settings = json.loads(json.dumps(settings))  # as it will be read back: a tuple becomes a list
        check_run(self.folder)
        self.refuse_changes(settings, allowed)
        with ExitStack() as self.lock_stack:
            self.lock_stack.enter_context(write_lock(self.folder))
            self.refuse_changes(settings, allowed)  # another process may have begun it in between
            self.remove_leftovers()
            if not (self.folder / RUN_FILE).exists():
                write_json(self.folder / RUN_FILE, settings)
            self.recorded_settings = self.settings
            yield

    def update_settings(self, **settings: Any) -> None:
        """Put settings into run.json in place of those that are there."""
        changed = {**self.recorded_settings, **json.loads(json.dumps(settings))}
        if changed != self.recorded_settings:
            write_json(self.folder / RUN_FILE, changed)
            self.recorded_settings = changed

    def ensure_exists(self) -> bool:
        """Whether the folder is what it was; one that was deleted is made again, and held again."""
        if (self.folder / RUN_FILE).exists():
            return True
        self.lock_stack.enter_context(write_lock(self.folder))
        write_json(self.folder / RUN_FILE, self.recorded_settings)
        return False

    def refuse_changes(self, now: dict[str, Any], allowed: Collection[str] = ()) -> None:
        if (self.folder / RUN_FILE).exists():
            refuse_changes(self.settings, now, self.folder, allowed)

    def remove_leftovers(self) -> None:
        """Remove what a killed process left: half a model, and measurements of a model that was never kept."""
        with os_errors_as_sentences(self.folder):
            for path in self.folder.iterdir():
                if path.name.startswith(TEMPORARY_PREFIXES):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not self.is_finished and not any(self.folder.glob("step-*")):
            self.drop_metrics()

    def discard(self) -> None:
        """Take back a run that was only just begun; its folder too, unless something else is in it."""
        with os_errors_as_sentences(self.folder):
            for name in (RUN_FILE, LOCK_FILE):
                (self.folder / name).unlink(missing_ok=True)
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def drop_metrics(self) -> None:
        """Drop the measurements, which will be made again."""
        with os_errors_as_sentences(self.folder):
            (self.folder / METRICS_FILE).unlink(missing_ok=True)

    def log(self, *, durably: bool = True, **measured: Any) -> None:
        """Add a line to metrics.jsonl, on the disk at once if it must be."""
        with os_errors_as_sentences(self.folder), (self.folder / METRICS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(measured, ensure_ascii=False) + "\n")
            file.flush()
            if durably:
                os.fsync(file.fileno())

    def rewind(self, step: int, judged: int) -> None:
        """Drop the measurements made after a checkpoint, which will be made again."""
        lines = [line for line in self.metrics() if line["step"] <= (step if "loss_hex" in line else judged) and "finished" not in line]
        path = self.folder / METRICS_FILE
        aside = path.with_name(f".tmp-{os.getpid()}-{METRICS_FILE}")
        with os_errors_as_sentences(path):
            aside.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
            aside.replace(path)

    def metrics(self) -> list[dict[str, Any]]:
        """What was measured; a last line that was cut short does not count."""
        path = self.folder / METRICS_FILE
        found = []
        for number, line in enumerate(path.read_text("utf-8", errors="replace").split("\n")[:-1] if path.exists() else [], 1):
            try:
                found.append(json.loads(line))
            except ValueError:
                raise BadInput(f"{path}:{number}: is not JSON but {preview(line)}; train the run again into another folder") from None
        return found

    def save_model(self, task: Task, **about: Any) -> None:
        """Write the finished model, whole or not at all; `about` goes into its manifest."""
        with new_folder(self.folder / MODEL_FOLDER, about) as folder:
            try:
                task.save(folder)
            except SafetensorError as error:  # its writer has no OSError
                raise EnvironmentFault(f"cannot write {self.folder / MODEL_FOLDER}: {error}; free some space or choose another place") from None

    def load_task(self) -> Task:
        """The finished model, checked and ready to answer."""
        self.settings  # noqa: B018  a folder that is no run says so first
        if not self.is_finished:
            raise BadInput(f"{self.folder} has no finished model yet; run the same stairs train command again to finish it")
        folder = self.folder / MODEL_FOLDER
        verified_manifest(folder)
        try:
            described = json.loads((folder / CONFIG).read_text("utf-8"))
            kind = TASKS.get(described["task"])
            if kind is None:
                came = preview(described["task"])
                raise BadInput(f"{folder / CONFIG} names the task {came}, which this version does not have; it has {', '.join(TASKS)}")
            return kind.open(folder, described)
        except BadInput as error:
            raise error if str(folder) in str(error) else BadInput(f"{folder}: {error}") from None
        except OSError as error:
            raise BadInput(f"cannot read {error.filename or folder}: {os_error_reason(error)}; train the run again") from None
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            why = f"{type(error).__name__}: {preview(str(error))}"
            raise BadInput(f"{folder / CONFIG} does not fit the model beside it ({why}); train the run again") from error


def load(folder: str | Path) -> Task:
    """The task a run holds, whatever its step: `stairs.load("runs/wiki").answer("the cat")`."""
    return Run(folder).load_task()


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """How a run cuts its text, finished or not: what --init-from and --accept-new-corpus go on with."""
    run = Run(folder)
    run.settings  # noqa: B018  a folder that is no run says so
    found = [place for place in (run.folder / TOKENIZER_FOLDER, run.folder / MODEL_FOLDER) if place.is_dir()]
    if not found:
        raise BadInput(f"{folder} has no tokenizer yet; begin it anew")
    verified_manifest(found[0])
    return Tokenizer.load(found[0])


def versions() -> dict[str, str]:
    """What a result depends on besides the settings."""
    import numpy
    import torch

    return {
        "stairs": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(),
    }


def refuse_changes(old: dict[str, Any], new: dict[str, Any], folder: Path, allowed: Collection[str] = ()) -> None:
    """A run goes on only with the settings it began with; other data is named first, since settings follow from it."""
    before, now = flatten(old), flatten(new)
    for key in sorted(before.keys() | now.keys(), key=lambda key: (not key.startswith("data"), key)):
        was, came = before.get(key), now.get(key)
        if was == came or key in allowed or (key in EXTENDABLE and was is not None and came is not None and came > was):
            continue
        if key == "training.budget" and was and came and parse_duration(came) > parse_duration(was):
            if before.get("training.schedule") == "hold":
                continue
            raise BadInput(
                f"{folder} was trained for {was} with --schedule {before.get('training.schedule')}, whose rate has fallen by then; a run can be made "
                f"longer if it was begun with --schedule hold; choose another --out, with --init-from {folder} if it shall begin with these weights"
            )
        change = f"{key} = {preview(was)} and now {preview(came)} came"
        advice = "choose another --out for a new run"
        if "training" in old:
            advice += f", with --init-from {folder} if it shall begin with these weights"
            advice += ", or add --accept-new-corpus" if key == "data.corpus" else ""
        raise BadInput(f"{folder} was begun with {change}; {advice}")


def flatten(settings: dict[str, Any]) -> dict[str, Any]:
    """{"config": {"order": 3}} -> {"config.order": 3}, without what may change."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if key not in UNCHECKED:
            found |= {f"{key}.{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {key: value}
    return found
