"""What nobody said of a training, filled in: by the task, by its model, and by the number of labelled examples."""

import dataclasses
from typing import Any

from stairs.progress import say
from stairs.tasks.parts.epochs import epochs_for_updates
from stairs.tasks.task import Task
from stairs.training.options import TrainingOptions
from stairs.training.sweeps import validated


def validated_for(task: Task, options: TrainingOptions) -> TrainingOptions:
    """The options as the task and its step understand them."""
    if task.training_defaults is None:
        return validated(task.model, options)
    options.check()
    if options.batch_examples is None:
        options = dataclasses.replace(options, batch_examples=task.training_defaults["batch_examples"])
    return options


def default_epochs(task: Task, rows: Any, options: TrainingOptions) -> TrainingOptions:
    """As many as are usual for so many labelled rows, if nobody says how long."""
    if task.training_defaults is None or options.steps is not None or options.epochs is not None or options.budget is not None:
        return options
    assert options.batch_examples is not None
    usual, updates = task.training_defaults["epochs"], -(-len(rows.lengths) // options.batch_examples)
    epochs = epochs_for_updates(updates, usual, task.training_defaults.get("min_updates", 0))
    if epochs > usual:
        counted = "1 update" if updates == 1 else f"{updates} updates"
        say(f"{epochs:g} epochs instead of {usual:g}, since an epoch of {len(rows.lengths)} rows is {counted}; --epochs N makes it N")
    return dataclasses.replace(options, epochs=epochs)
