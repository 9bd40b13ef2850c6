"""What a run of a climb is worth on the test examples, and what it costs."""

import itertools
import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors import safe_open

from stairs.comparison.experiment import SHOWN_EXAMPLES, Experiment, example_text
from stairs.comparison.schema import Row
from stairs.peak_memory import PeakMemory
from stairs.progress import quiet
from stairs.tasks import Task, Translate
from stairs.tasks.baselines import Classifier
from stairs.tasks.outcomes import all_metrics, outcomes, score_with_interval
from stairs.tasks.parts.supervised import Supervised
from stairs.text.examples import Example
from stairs.training.run import MODEL_FOLDER, load

EVALUATION_SHARE = 0.05  # of a model's time, for the evaluation on the test examples
TIMED_EXAMPLES, MAX_TIMINGS, MAX_TIMING_SECONDS = 100, 40, 1.0  # texts that are answered at once, how often, and for how long


def evaluate_run(experiment: Experiment, folder: Path, last_line: dict[str, Any]) -> Row:
    """The row of a run: its score, predictions and speed on the test split; `last_line` is the last of its metrics.jsonl."""
    kind, metric, test = experiment.example_kind, experiment.metric, experiment.test
    with PeakMemory() as peak:
        task: Any = load(folder)
        with quiet():  # which texts are too long is said of all of them
            per_text = milliseconds_per_text(task, list(itertools.islice(itertools.cycle(test), TIMED_EXAMPLES)))
    predictions = task.predict_examples(test)
    metrics = dict(all_metrics(kind, test, predictions))
    metrics[metric] = score_with_interval(metric, kind, test, predictions)
    if isinstance(task, Translate):
        metrics |= task.likelihood_metrics(task.rows(test), None)
    with quiet():
        shown = [short_answer(task.answer(example_text(example).question)) for example in test[:SHOWN_EXAMPLES]]
    row: Row = {
        "run": folder.name,
        "metric": metric,
        "score": metrics[metric],
        "outcomes": outcomes(metric, kind, test, predictions),
        "predictions": shown,
        "ms_per_text": per_text,
        "answering_mb": peak.megabytes,
    }
    measured = {name: own for name, own in metrics.items() if isinstance(own, dict) and "value" in own}
    return {**measured, **row, **training_time(last_line), **model_cost(experiment, folder)}  # type: ignore[typeddict-item]


def training_time(last_line: dict[str, Any]) -> Row:
    """On the clock, and of the processor, which does not depend on what else the machine does."""
    return {"seconds": round(last_line["seconds"], 3), "cpu_seconds": round(last_line["cpu_seconds"], 3)}


def milliseconds_per_text(task: Task, examples: Sequence[Example]) -> float:
    """Many texts given at once: the median of several passes, after one to warm up, unless that alone takes long. A pass counts the process's own
    time where that is less than the clock's: then something else kept the processor busy."""
    times: list[float] = []
    began = time.monotonic()
    while len(times) < MAX_TIMINGS and time.monotonic() - began < MAX_TIMING_SECONDS:
        started, cpu_started = time.monotonic(), time.process_time()
        answer_all(task, list(examples))
        times.append(min(time.monotonic() - started, time.process_time() - cpu_started))
    return round(statistics.median(times[1:] or times) / len(examples) * 1000, 4)


def answer_all(task: Task, examples: list[Any]) -> None:
    """What is asked of it, all at once."""
    if isinstance(task, Translate):
        task.translate_texts([example.source for example in examples])
    elif isinstance(task, Supervised):
        task.logits(task.rows(examples))
    elif isinstance(task, Classifier):
        task.predict_labels([example.text for example in examples])


def short_answer(answer: dict[str, Any]) -> str:
    """An answer in a word or a few."""
    if "tags" in answer:
        return " ".join(answer["tags"])
    if "translation" in answer:
        return str(answer["translation"])
    if "label" in answer:
        return str(answer["label"])
    return f"{answer['score']:.2f}" if "score" in answer else str(answer.get("answer", ""))


def model_cost(experiment: Experiment, folder: Path) -> Row:
    """The number of parameters, the size on disk, and the memory that the training took."""
    files = list((folder / MODEL_FOLDER).iterdir())
    parameters = 0
    for path in files:
        if path.suffix == ".safetensors":
            with safe_open(path, "np") as tensors:
                shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys()]  # noqa: SIM118
            parameters += sum(map(math.prod, shapes))
    size = round(sum(path.stat().st_size for path in files) / 1e6, 2)
    return {"parameters": parameters, "megabytes": size, "training_mb": experiment.peak_memory_mb.get(folder.name)}
