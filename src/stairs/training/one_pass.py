"""Training without steps: it is done at once, there is nothing to resume, and a run that is finished is not made again."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stairs.tasks.task import Task
from stairs.training.run import FORMAT, Run, versions


def learn_at_once(folder: Path, settings: dict[str, Any], learn: Callable[[], Task], judge: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Keep what `learn` gives as a run, with what `judge` says of it: that measurement, and the seconds."""
    run = Run(folder)
    with run.writing({"format": FORMAT, **settings, "versions": versions()}):
        if not run.finished or run.damage():
            run.forget()
            started, cpu_started = time.monotonic(), time.process_time()
            task = learn()
            seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu_started
            run.log(step=1, seconds=round(seconds, 3), cpu_seconds=round(cpu_seconds, 3), **judge(task))
            run.keep(task)
    return run.metrics()[-1]
