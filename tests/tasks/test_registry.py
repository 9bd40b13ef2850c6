"""Every task is found by its name, says what it can do, and can be shown; one table orders the metrics."""

from typing import get_args

import pytest

from stairs.tasks import PATHS, TASKS, TUNED_TASKS, TunedTask
from stairs.tasks.metric_table import METRICS, primary_metric
from stairs.tasks.metrics import metric_names
from stairs.tasks.task import Task
from tests.support.gallery import runs

LOWER_IS_BETTER = ["rmse", "mae", "bits_per_character", "loss", "perplexity", "error"]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("text"))


def test_a_task_has_the_name_that_it_is_found_by():
    assert all(TASKS[name].name == name for name in PATHS) and set(TASKS) == set(PATHS)
    assert get_args(TunedTask) == tuple(TUNED_TASKS) and set(TUNED_TASKS.values()) <= set(TASKS)


def test_the_base_class_has_no_answer_of_its_own():
    with pytest.raises(TypeError, match="abstract"):
        Task(None, None)


def test_claims_are_kept(tasks):
    for task in tasks.values():
        assert ("second" in task.answer_options()) == task.takes_pairs
        assert task.gives_labels == (hasattr(task, "probabilities") and not task.takes_pairs)
        assert task.has_model == hasattr(task, "model")


def test_every_task_can_be_shown(tasks):
    for task in tasks.values():
        assert repr(task).startswith(f"<{type(task).__name__} task: {task.name}, model: {task.model_name}")
        assert task._repr_html_().startswith("<table><tr><th>task</th><td>")


def test_the_first_metric_of_the_table_that_was_measured_is_the_one_a_run_is_known_by():
    tagged = {"accuracy": {"value": 0.9}, "f1": {"value": 0.7}, "words": 30}
    assert primary_metric(tagged) == "f1" == metric_names("tag")[0]
    assert primary_metric(tagged, "accuracy") == "accuracy" and primary_metric(tagged, "bleu") == "f1"
    assert primary_metric({"words": 30, "loss": 2.0}) is None
    assert [name for name, metric in METRICS.items() if not metric.higher_is_better] == LOWER_IS_BETTER
