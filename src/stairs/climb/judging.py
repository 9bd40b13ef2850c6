"""What a run of a climb is worth on the held-out examples, and what it costs."""

import math
import time
from pathlib import Path
from typing import Any

from safetensors import safe_open

from stairs.climb.ground import SHOWN, Ground, told
from stairs.progress import quiet
from stairs.tasks import Translate
from stairs.tasks.supervised import Supervised
from stairs.training.run import MODEL, load

JUDGING_SHARE = 0.05  # of a model's time, for the judgement on the test examples
EXAMPLES_TIMED = 100


def judged(ground: Ground, folder: Path, seconds: float) -> dict[str, Any]:
    """What a run says of the test part, and how fast."""
    task: Any = load(folder)
    measured = task.evaluate(ground.test)
    timed = list(ground.test[:EXAMPLES_TIMED])
    with quiet():  # which texts are too long was said of all of them
        started = time.monotonic()
        answered(task, timed)
        per_text = (time.monotonic() - started) / len(timed) * 1000
        said = [brief(task.answer(told(example).asked)) for example in ground.test[:SHOWN]]
    intervals = {name: found for name, found in measured.items() if isinstance(found, dict) and "value" in found and name != "error"}
    return {
        "run": folder.name,
        "metric": ground.metric,
        "score": measured[ground.metric],
        **intervals,
        "said": said,
        "seconds": round(seconds, 3),
        "ms_per_text": round(per_text, 3),
        **cost(folder),
    }


def answered(task: Any, examples: list[Any]) -> None:
    """What is asked of it, all at once."""
    if isinstance(task, Translate):
        task.translated([example.source for example in examples])
    elif isinstance(task, Supervised):
        task.said(task.rows(examples))
    else:
        task.guesses([example.text for example in examples])


def brief(answer: dict[str, Any]) -> str:
    """An answer in a word or a few."""
    if "tags" in answer:
        return " ".join(answer["tags"])
    if "translation" in answer:
        return str(answer["translation"])
    if "label" in answer:
        return str(answer["label"])
    return f"{answer['score']:.2f}" if "score" in answer else str(answer.get("answer", ""))


def cost(folder: Path) -> dict[str, Any]:
    """How many numbers the model is made of, and how large it is on the disk."""
    files = list((folder / MODEL).iterdir())
    numbers = 0
    for path in files:
        if path.suffix == ".safetensors":
            with safe_open(path, "np") as held:
                shapes = [held.get_slice(name).get_shape() for name in held.keys()]  # noqa: SIM118
            numbers += sum(map(math.prod, shapes))
    return {"parameters": numbers, "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 2)}
