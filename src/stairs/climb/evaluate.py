"""What a run of a climb is worth on the test examples, and what it costs."""

import itertools
import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors import safe_open

from stairs.climb.experiment import SHOWN, Experiment, told
from stairs.progress import quiet
from stairs.tasks import Translate
from stairs.tasks.outcomes import all_metrics, outcomes, score_with_interval
from stairs.tasks.parts.supervised import Supervised
from stairs.training.peak_memory import PeakMemory
from stairs.training.run import MODEL_FOLDER, load

EVALUATION_SHARE = 0.05  # of a model's time, for the judgement on the test examples
EXAMPLES_TIMED, TIMES, LONG = 100, 40, 1.0  # texts that are answered at once, how often at most, and for how many seconds


def judged(experiment: Experiment, folder: Path, measured: dict[str, Any]) -> dict[str, Any]:
    """What a run says of the test part, and how fast; `measured` is the last line of its training."""
    with PeakMemory() as peak:
        task: Any = load(folder)
        with quiet():  # which texts are too long is said of all of them
            per_text = milliseconds(task, list(itertools.islice(itertools.cycle(experiment.test), EXAMPLES_TIMED)))
    predictions = task.predict(experiment.test)
    found = all_metrics(experiment.example_kind, experiment.test, predictions)
    found[experiment.metric] = score_with_interval(experiment.metric, experiment.example_kind, experiment.test, predictions)
    if isinstance(task, Translate):
        found |= task.likelihood_metrics(task.pairs(experiment.test), None)
    with quiet():
        said = [brief(task.answer(told(example).asked)) for example in experiment.test[:SHOWN]]
    return {
        "run": folder.name,
        "metric": experiment.metric,
        "score": found[experiment.metric],
        **{name: own for name, own in found.items() if isinstance(own, dict) and "value" in own},
        "outcomes": outcomes(experiment.metric, experiment.example_kind, experiment.test, predictions),
        "said": said,
        **time_taken(measured),
        "ms_per_text": per_text,
        "answering_mb": peak.megabytes,
        **cost(experiment, folder),
    }


def time_taken(measured: dict[str, Any]) -> dict[str, Any]:
    """Of a training: on the clock, and of the processor, which does not depend on what else the machine does."""
    return {"seconds": round(measured["seconds"], 3), "cpu_seconds": round(measured["cpu_seconds"], 3)}


def milliseconds(task: Any, examples: Sequence[Any]) -> float:
    """Per text, if many are given at once: the median of several times, after one to warm up, unless that alone takes long. A time is the process's
    own where that is less than the clock's: then something else kept the processor busy."""
    times: list[float] = []
    began = time.monotonic()
    while len(times) < TIMES and time.monotonic() - began < LONG:
        started, cpu_started = time.monotonic(), time.process_time()
        answered(task, list(examples))
        times.append(min(time.monotonic() - started, time.process_time() - cpu_started))
    return round(statistics.median(times[1:] or times) / len(examples) * 1000, 4)


def answered(task: Any, examples: list[Any]) -> None:
    """What is asked of it, all at once."""
    if isinstance(task, Translate):
        task.translate_texts([example.source for example in examples])
    elif isinstance(task, Supervised):
        task.logits(task.rows(examples))
    else:
        task.predict_labels([example.text for example in examples])


def brief(answer: dict[str, Any]) -> str:
    """An answer in a word or a few."""
    if "tags" in answer:
        return " ".join(answer["tags"])
    if "translation" in answer:
        return str(answer["translation"])
    if "label" in answer:
        return str(answer["label"])
    return f"{answer['score']:.2f}" if "score" in answer else str(answer.get("answer", ""))


def cost(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """How many numbers the model is made of, how large it is on the disk, and the memory that its training took."""
    files = list((folder / MODEL_FOLDER).iterdir())
    numbers = 0
    for path in files:
        if path.suffix == ".safetensors":
            with safe_open(path, "np") as held:
                shapes = [held.get_slice(name).get_shape() for name in held.keys()]  # noqa: SIM118
            numbers += sum(map(math.prod, shapes))
    size = round(sum(path.stat().st_size for path in files) / 1e6, 2)
    return {"parameters": numbers, "megabytes": size, "training_mb": experiment.peaks.get(folder.name)}
