"""A run folder: what was trained, how, and with what result.

run.json        settings, seed, versions, machine and hashes of the data, see records.py
metrics.jsonl   a row for each measurement
run.lock        held by the one process that may write
tokenizer/      the tokenizer
step-NNNNNNNNN/ checkpoints, see checkpoint.py
model/          the finished model: config.json, model.safetensors, tokenizer files, and a manifest written last

It imports torch only where a model is loaded, so that a folder that cannot be written to is refused at once.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from stairs import machine
from stairs.errors import BadInput, EnvironmentFault, preview
from stairs.files import (
    LOCK_FILE,
    NO_SUCH_PATH,
    TEMPORARY_PREFIXES,
    check_unlocked,
    check_writable,
    is_leftover,
    new_folder,
    os_error_reason,
    os_errors_as_sentences,
    verified_manifest,
    write_json,
    write_lock,
)  # fmt: skip
from stairs.version import __version__

if TYPE_CHECKING:
    from stairs.tasks.measurements import Measurements
    from stairs.tasks.task import Task
    from stairs.text.tokenizers.tokenizer import Tokenizer
    from stairs.training.records import OnePassRow, RunSettings

FORMAT = 2
RUN_FILE, METRICS_FILE = "run.json", "metrics.jsonl"
MODEL_FOLDER, TOKENIZER_FOLDER = "model", "tokenizer"


class Run:
    """One folder, one writer, any number of readers."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @property
    def settings(self) -> "RunSettings":
        path = self.folder / RUN_FILE
        try:
            settings: RunSettings = json.loads(path.read_text("utf-8"))
            number, version = int(settings["format"]), settings.get("versions", {}).get("stairs", "unknown")
        except OSError as error:
            if error.errno in NO_SUCH_PATH:
                raise BadInput(f"{self.folder} is not a run: it is {self.describe_path()}; make one with stairs train") from None
            raise EnvironmentFault(f"cannot read {path}: {os_error_reason(error)}; check the folder") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise BadInput(f"{path} is damaged; train the run again into another folder") from None
        if number > FORMAT:
            raise BadInput(f"{path} was written by stairs {preview(version)}, newer than this {__version__}; update stairs")
        if number < FORMAT:
            raise BadInput(f"{path} has format {number}, and this version of stairs reads format {FORMAT}; train the run again into another folder")
        return settings

    def describe_path(self) -> str:
        """What there is instead of a run."""
        if not os.path.isdir(self.folder):
            return "a file" if os.path.exists(self.folder) else "not there"
        return "a folder without run.json" if any(self.folder.iterdir()) else "an empty folder"

    @property
    def is_finished(self) -> bool:
        return (self.folder / MODEL_FOLDER).is_dir()

    def damage(self) -> str | None:
        """What is wrong with a finished run, in a sentence; None if nothing is."""
        try:
            verified_manifest(self.folder / MODEL_FOLDER)
        except BadInput as error:
            return str(error)
        return None if self.metrics() else f"{self.folder / METRICS_FILE} is empty"

    @contextmanager
    def open_for_writing(self, settings: dict[str, object], allowed: Collection[str] = ()) -> Iterator[None]:
        """Lock the run: a new one, or the same one again; anything else is refused before a byte is written.

        `allowed` are settings that may differ this time, such as "data.corpus"."""
        settings = json.loads(json.dumps(settings))  # as it will be read back: a tuple becomes a list
        check_run(self.folder)
        self.refuse_changes(settings, allowed)
        with ExitStack() as self.lock_stack:
            self.lock_stack.enter_context(write_lock(self.folder))
            self.refuse_changes(settings, allowed)  # another process may have started it in between
            self.remove_leftovers()
            if not (self.folder / RUN_FILE).exists():
                write_json(self.folder / RUN_FILE, settings)
            self.recorded_settings = self.settings
            yield

    def update_settings(self, **settings: object) -> None:
        """Replace settings in run.json."""
        new_settings: RunSettings = {**self.recorded_settings, **json.loads(json.dumps(settings))}
        if new_settings != self.recorded_settings:
            write_json(self.folder / RUN_FILE, new_settings)
            self.recorded_settings = new_settings

    def ensure_exists(self) -> bool:
        """Whether the folder still exists; one that was deleted is created and locked again."""
        if (self.folder / RUN_FILE).exists():
            return True
        self.lock_stack.enter_context(write_lock(self.folder))
        write_json(self.folder / RUN_FILE, self.recorded_settings)
        return False

    def refuse_changes(self, now: dict[str, object], allowed: Collection[str] = ()) -> None:
        if (self.folder / RUN_FILE).exists():
            from stairs.training.records import refuse_changes

            refuse_changes(self.settings, now, self.folder, allowed)

    def remove_leftovers(self) -> None:
        """Delete what a killed process left: half a model, and measurements of a model that was never saved."""
        with os_errors_as_sentences(self.folder):
            for path in self.folder.iterdir():
                if path.name.startswith(TEMPORARY_PREFIXES):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not self.is_finished and not any(self.folder.glob("step-*")):
            self.drop_metrics()

    def discard(self) -> None:
        """Delete a run that was only just started, and its folder unless something else is in it."""
        with os_errors_as_sentences(self.folder):
            for name in (RUN_FILE, LOCK_FILE):
                (self.folder / name).unlink(missing_ok=True)
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def drop_metrics(self) -> None:
        """Delete the measurements, which will be made again."""
        with os_errors_as_sentences(self.folder):
            (self.folder / METRICS_FILE).unlink(missing_ok=True)

    def log(self, row: Mapping[str, object], *, durably: bool = True) -> None:
        """Append a row to metrics.jsonl, flushed to the disk if it must be durable."""
        with os_errors_as_sentences(self.folder), (self.folder / METRICS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            if durably:
                os.fsync(file.fileno())

    def rewind(self, step: int, evaluated_step: int) -> None:
        """Delete the measurements made after a checkpoint, which will be made again."""
        rows = [row for row in self.metrics() if row["step"] <= (step if "loss_hex" in row else evaluated_step) and "trained_steps" not in row]
        path = self.folder / METRICS_FILE
        temporary = path.with_name(f".tmp-{os.getpid()}-{METRICS_FILE}")
        with os_errors_as_sentences(path):
            temporary.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
            temporary.replace(path)

    def metrics(self) -> list[dict[str, Any]]:
        """The rows of metrics.jsonl; a last line that was cut short does not count."""
        path = self.folder / METRICS_FILE
        rows = []
        for number, line in enumerate(path.read_text("utf-8", errors="replace").split("\n")[:-1] if path.exists() else [], 1):
            try:
                rows.append(json.loads(line))
            except ValueError:
                raise BadInput(f"{path}:{number}: not JSON but {preview(line)}; train the run again into another folder") from None
        return rows

    def save_model(self, task: "Task", **metadata: object) -> None:
        """Write the finished model, completely or not at all; `metadata` goes into its manifest."""
        with new_folder(self.folder / MODEL_FOLDER, metadata) as folder:
            try:
                task.save(folder)
            except SafetensorError as error:  # its writer raises no OSError
                raise EnvironmentFault(f"cannot write {self.folder / MODEL_FOLDER}: {error}; free some space or choose another folder") from None

    def load_task(self) -> "Task":
        """The finished model, verified and ready to answer."""
        from stairs.tasks import TASKS
        from stairs.tasks.config_file import CONFIG

        self.settings  # noqa: B018  a folder that is no run is refused first
        if not self.is_finished:
            raise BadInput(f"{self.folder} has no finished model yet; run the same stairs train command again to finish it")
        folder = self.folder / MODEL_FOLDER
        verified_manifest(folder)
        try:
            config = json.loads((folder / CONFIG).read_text("utf-8"))
            task_class = TASKS.get(config["task"])
            if task_class is None:
                raise BadInput(f"{folder / CONFIG} names the unknown task {preview(config['task'])}; it may come from another version")
            return task_class.open(folder, config)
        except BadInput as error:
            raise error if str(folder) in str(error) else BadInput(f"{folder}: {error}") from None
        except OSError as error:
            raise BadInput(f"cannot read {error.filename or folder}: {os_error_reason(error)}; train the run again") from None
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            reason = f"{type(error).__name__}: {preview(str(error))}"
            raise BadInput(f"{folder / CONFIG} does not fit the model beside it ({reason}); train the run again") from error


def fit_once(
    folder: Path, settings: Mapping[str, object], train: Callable[[], "Task"], evaluate: "Callable[[Task], Measurements]"
) -> dict[str, object]:
    """Save the task that `train` returns as a run, and the measurement that `evaluate` returns of it, with the seconds."""
    run = Run(folder)
    with run.open_for_writing({"format": FORMAT, **settings, "versions": machine.versions()}):
        if not run.is_finished or run.damage():
            run.drop_metrics()
            started, cpu_started = time.monotonic(), time.process_time()
            task = train()
            seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu_started
            row: OnePassRow = {"step": 1, "seconds": round(seconds, 3), "cpu_seconds": round(cpu_seconds, 3)}
            run.log({**row, **evaluate(task)})
            run.save_model(task)
    return run.metrics()[-1]


def load(folder: str | Path) -> "Task":
    """The task of a run, whatever its model, or of the model that a climb recommends: `stairs.load("runs/wiki").answer("the cat")`."""
    from stairs.training.run_folder import run_folder

    return Run(run_folder(folder)).load_task()


def load_tokenizer(folder: str | Path) -> "Tokenizer":
    """The tokenizer of a run, finished or not: what --init-from and --accept-new-corpus continue with."""
    from stairs.text.tokenizers.tokenizer import Tokenizer

    run = Run(folder)
    run.settings  # noqa: B018  a folder that is no run is refused
    folders = [folder for folder in (run.folder / TOKENIZER_FOLDER, run.folder / MODEL_FOLDER) if folder.is_dir()]
    if not folders:
        raise BadInput(f"{folder} has no tokenizer yet; start it anew")
    verified_manifest(folders[0])
    return Tokenizer.load(folders[0])


def check_run(folder: Path) -> None:
    """A new run, or one that can be resumed: anything else is refused before a byte is written."""
    check_writable(folder)
    if folder.is_dir() and not (folder / RUN_FILE).exists() and any(not is_leftover(path.name) for path in folder.iterdir()):
        raise BadInput(f"{folder} exists and is not a run; choose another folder with --out")
    check_unlocked(folder)
