"""Training without steps: it is done at once, there is nothing to resume, and a run that is finished is not made again."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stairs.tasks.task import Task
from stairs.training.run import FORMAT, Run, versions


def fit_once(folder: Path, settings: dict[str, Any], train: Callable[[], Task], evaluate: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Keep what `learn` gives as a run, with what `judge` says of it: that measurement, and the seconds."""
    run = Run(folder)
    with run.open_for_writing({"format": FORMAT, **settings, "versions": versions()}):
        if not run.is_finished or run.damage():
            run.drop_metrics()
            started, cpu_started = time.monotonic(), time.process_time()
            task = train()
            seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu_started
            run.log(step=1, seconds=round(seconds, 3), cpu_seconds=round(cpu_seconds, 3), **evaluate(task))
            run.save_model(task)
    return run.metrics()[-1]
