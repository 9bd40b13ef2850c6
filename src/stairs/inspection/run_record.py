"""What a run folder records of its training, as far as a picture needs it: the seed and the learning rate."""

import json
from pathlib import Path
from typing import NamedTuple

RUN_FILE = "run.json"


class Training(NamedTuple):
    seed: int = 0
    learning_rate: float | None = None  # None: the default of the model


def recorded_training(run: str) -> Training:
    """The defaults where no folder is given, or where it says nothing, as that of an adopted model."""
    try:
        settings = json.loads((Path(run) / RUN_FILE).read_text("utf-8")) if run else {}
        rate = settings.get("training", {}).get("learning_rate")
        return Training(int(settings.get("seed", 0)), None if rate is None else float(rate))
    except (OSError, ValueError, TypeError, AttributeError):
        return Training()
