"""Training by counting: it happens in one pass, there is nothing to resume, and a finished run is not trained again."""

import time
from typing import cast

import numpy as np

from stairs.errors import BadInput
from stairs.models.ngram import NGram
from stairs.progress import format_count, say, track
from stairs.tasks.measurements import interval
from stairs.tasks.task import Task
from stairs.text.shards import Shards
from stairs.training.records import OnePassRow, run_settings
from stairs.training.run import Run


def count_into(task: Task, shards: Shards, run: Run, seed: int) -> dict[str, object]:
    """`fit` for models that learn by counting."""
    with run.open_for_writing(run_settings(task, shards, seed)):
        if run.is_finished:
            damage = run.damage()
            if damage is None:
                say(f"{run.folder} is finished; nothing to do")
                return run.metrics()[-1]
            say(f"{damage}: it is trained again")
            run.drop_metrics()
        measurements = count(task, shards)
        run.log(measurements)  # the measurement before the model: a finished run has both
        run.save_model(task)
    return measurements


def count(task: Task, shards: Shards) -> dict[str, object]:
    """One pass over the train split, no gradient."""
    ids = shards.ids("train")
    if not len(ids):
        raise BadInput(f"the train split of {shards.folder} has no tokens; give a longer text")
    model = cast(NGram, task.model)
    started, cpu_started = time.monotonic(), time.process_time()
    with track("counting", total=len(ids), unit="tokens") as advance:
        assumed_orders = model.count(ids, advance=advance)
    if assumed_orders:
        say(f"too little text to estimate the discounts of the {', '.join(f'{n}-grams' for n in assumed_orders)}; using 0.5, 1 and 1.5")
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu_started
    tokens = shards.info("train")["tokens"]
    sizes = ", ".join(f"{format_count(size)} {order}-grams" for order, size in enumerate(np.asarray(model.sizes), 1))
    say(f"counted {format_count(tokens)} tokens in {seconds:.1f} s ({format_count(tokens / seconds)} tokens/s): {sizes}")
    validation = {task.monitor: interval(task.evaluate_split(shards, "validation"), task.monitor)}
    measurements = task.evaluate_split(shards, shards.final_split)
    row: OnePassRow = {
        "step": 1, "trained_tokens": tokens, "seconds": round(seconds, 3), "cpu_seconds": round(cpu_seconds, 3), "validation": validation,
    }  # fmt: skip
    return {**row, **measurements}
