"""What is measured of a trained run, in two parts: at once what it costs and its score on the validation examples; on the test examples, which
stay closed until every model is trained or the climb is stopped, its score, predictions and speed."""

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from safetensors import safe_open

from stairs.comparison.experiment import LABEL_ANSWERS, SHOWN_EXAMPLES, Experiment, example_text
from stairs.comparison.messages import message
from stairs.comparison.schema import FirstRecommendation, LastLine, LocalizedText, ReportBaseline, Row
from stairs.peak_memory import PeakMemory
from stairs.tasks.baselines import simple_baseline
from stairs.tasks.measurements import Interval
from stairs.tasks.multilabel_metrics import frequent_labels, multilabel_metrics
from stairs.tasks.outcomes import score_with_interval
from stairs.tasks.paired_evaluation import evaluate_task, milliseconds_per_text
from stairs.text.examples import MultiLabelText, MultipleChoice
from stairs.training.run import MODEL_FOLDER, load

LIKE_GUESSING = {"choose": "like_guessing", "multilabel": "like_frequent_labels", "regress": "like_mean"}  # messages, by the kind of examples
MIN_UPDATES = 50  # a model that made fewer has not been trained


def validate_run(experiment: Experiment, folder: Path, last_line: LastLine) -> Row:
    """Its score on the validation examples, and its costs; `last_line` is the last of its metrics.jsonl. What learns by gradients has that score
    there; a classifier that needs one pass is asked."""
    metric = experiment.metric
    row: Row = {"run": folder.name, "metric": metric, **costs(experiment, folder, last_line)}
    score = cast(Interval | None, last_line.get(metric))
    if score is None and experiment.dev and "seconds_by_phase" not in last_line:
        score = evaluate_task(load(folder), experiment.example_kind, metric, experiment.dev, ()).metrics[metric]
    return row if score is None else {**row, "validation": score}


def evaluate_run(experiment: Experiment, folder: Path) -> Row:
    """Its score, predictions and speed on the test examples."""
    metric, test = experiment.metric, experiment.test
    with PeakMemory() as peak:
        task = load(folder)
        per_text = milliseconds_per_text(task, test)
    questions = [example_text(example).question for example in test[:SHOWN_EXAMPLES]]
    evaluation = evaluate_task(task, experiment.example_kind, metric, test, questions)
    row: Row = {
        "score": evaluation.metrics[metric],
        "outcomes": evaluation.outcomes,
        "predictions": [""] * len(questions) if experiment.no_texts and experiment.example_kind not in LABEL_ANSWERS else evaluation.answers,
        "details": evaluation.details,
        "ms_per_text": per_text,
        "answering_mb": peak.megabytes,
    }
    return {**evaluation.metrics, **row}  # type: ignore[typeddict-item]


def costs(experiment: Experiment, folder: Path, last_line: LastLine) -> Row:
    """The time of training, on the clock and of the processor, which does not depend on what else the machine does; the number of parameters, the
    size on disk, and the memory that the training took."""
    files = list((folder / MODEL_FOLDER).iterdir())
    parameters = 0
    for path in files:
        if path.suffix == ".safetensors":
            with safe_open(path, "np") as tensors:
                shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys()]  # noqa: SIM118
            parameters += sum(map(math.prod, shapes))
    return {
        "seconds": round(last_line["seconds"], 3),
        "cpu_seconds": round(last_line["cpu_seconds"], 3),
        "parameters": parameters,
        "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 2),
        "training_mb": experiment.peak_memory_mb.get(folder.name),
    }


def recommend_first(rows: Iterable[Row], experiment: Experiment, seconds: float) -> FirstRecommendation | None:
    """Of the models trained so far, the one with the best score on the validation examples, and of equal ones the cheapest; None if none has one."""
    validated = [row for row in rows if "validation" in row and "not_learnt" not in row]
    if not validated:
        return None
    best = max(validated, key=lambda row: (row["validation"]["value"], -row["cpu_seconds"]))
    return {
        "model": best["model"], "metric": experiment.metric, "examples": len(experiment.dev), "seconds": round(seconds, 3),
        "scores": {row["model"]: row["validation"]["value"] for row in validated},
    }  # fmt: skip


def baseline_of(experiment: Experiment) -> ReportBaseline | None:
    """The prediction that needs no learning, on the test examples; None where the task has none."""
    found = simple_baseline(experiment.train) if experiment.train and experiment.test else None
    if found is None:
        return None
    name, predict = found
    score = score_with_interval(experiment.metric, experiment.example_kind, experiment.test, predict(experiment.test))
    return {"name": name, "metric": experiment.metric, "score": score}


def why_not_learnt(row: Row, experiment: Experiment) -> LocalizedText | None:
    """Why a model cannot be recommended although it was trained."""
    made = [row[name] for name in ("updates", "finetuning_updates") if name in row and not row.get("is_adopted")]
    if made and min(made) < MIN_UPDATES:
        return message("few_updates", updates=min(made))
    level = constant_score(experiment) if row.get("metric") in ("accuracy", "micro_f1") else 0.0
    if "score" in row and row["score"]["value"] <= level:
        predicts_numbers = row["metric"] in ("spearman", "pearson")
        return message("like_mean" if predicts_numbers else LIKE_GUESSING.get(experiment.example_kind, "like_majority"), level=level)
    bits = row["bits_per_character"]["value"] if "bits_per_character" in row else 0.0
    if "metric" not in row and row.get("unigram_bits", math.inf) <= bits:
        return message("like_unigram", level=row["unigram_bits"])
    return None


def constant_score(experiment: Experiment) -> float:
    """The accuracy of always predicting the most frequent label of the training examples; of guessing among several choices; the micro F1 of always
    predicting the most frequent labels."""
    if experiment.example_kind == "multilabel":
        splits = (experiment.train, experiment.test)
        learnt, gold = ([example.labels for example in split if isinstance(example, MultiLabelText)] for split in splits)
        return multilabel_metrics(gold, [frequent_labels(learnt)] * len(gold))["micro_f1"]["value"]
    choices = [len(example.choices) for example in experiment.test if isinstance(example, MultipleChoice)]
    if choices:
        return sum(1 / count for count in choices) / len(choices)
    if experiment.example_kind not in ("classify", "compare"):
        return 0.0
    train, test = ([getattr(example, "label", None) for example in split] for split in (experiment.train, experiment.test))
    majority = Counter(train).most_common(1)[0][0]
    return test.count(majority) / len(test)
