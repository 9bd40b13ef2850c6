"""Which model is worth its cost: of those that the test cannot tell from the best, the cheapest.

A model is as good as the best if the 95 % interval of the difference between the two, on the same draws of the same test examples, includes 0. Of
these, those stay that tie with the cheapest in CPU time of training, by factors of ten; then those that tie with the fastest in milliseconds per
text; then those that tie with the smallest on disk. Where several are left that the test cannot tell apart, the tie is real, and the report names
all of them, the better score first. One criterion can be put before the others.

CPU time is compared in bins, and the others within a factor of two, so that noise does not decide.
"""

import math
from collections.abc import Sequence
from typing import Any

from stairs.climb.experiment import Experiment
from stairs.climb.messages import amount, cost_in_words, join_names, join_sentences, message
from stairs.tasks.bootstrap import PairedBootstrap, examples_to_separate
from stairs.tasks.outcomes import groups_of, statistic

FIELDS = {"train": "cpu_seconds", "latency": "ms_per_text", "size": "megabytes", "memory": "answering_mb"}
ORDER = ("train", "latency", "size")
CHEAPEST_BIN = 3.0  # CPU seconds; the next ends at 30, then 300, ...
TOLERANCE = 2.0  # within this factor two costs are equal
NEGLIGIBLE = {"latency": 0.25, "size": 1.0, "memory": 10.0}  # ms, MB and MB: below that, costs are equal
MOST_NAMES = 3  # of a tie
FEWEST_DIFFERING = 6  # examples on which two models differ: of fewer, all may speak for one of them by chance (2 / 2^5 is above 5 %)
HIGHEST = {"bleu": 100.0, "chrf": 100.0}  # what a metric can reach; others 1
Row = dict[str, Any]


class Comparison:
    """Models on the same test examples."""

    def __init__(self, rows: Sequence[Row], experiment: Experiment) -> None:
        self.rows, self.examples, self.groups = rows, len(experiment.test), groups_of(experiment.test)
        self.highest = HIGHEST.get(experiment.metric, 1.0)
        self.paired = PairedBootstrap([statistic(experiment.metric, experiment.example_kind, experiment.test, row["outcomes"]) for row in rows],
            self.groups)

    def difference(self, first: int, second: int) -> dict[str, Any]:
        """How much better one is than another, whether that is more than chance, and if not how many more examples would tell."""
        found, differing = self.paired.difference(first, second), self.differing(first, second)
        separated = found["low"] > 0 and differing >= FEWEST_DIFFERING
        more = examples_to_separate(found["difference"], found.pop("standard_error"), self.examples)
        more = max(more, self.examples * (FEWEST_DIFFERING / max(differing, 1) - 1))
        return {**found, "differing": differing, "separated": separated, "more_examples": None if math.isinf(more) else math.ceil(more)}

    def differing(self, first: int, second: int) -> int:
        """Examples, or groups of them, that the two do not answer equally well."""
        pairs = zip(self.groups or range(self.examples), self.rows[first]["outcomes"], self.rows[second]["outcomes"], strict=True)
        return len({unit for unit, one, other in pairs if one != other})

    def resolution(self, behind: Sequence[dict[str, Any]]) -> float | None:
        """The least difference that this test separates, about: half the width of the paired intervals, or of the score's own if there is but one.
        None if it is too small to separate anything."""
        widths = sorted((own["high"] - own["low"]) / 2 for own in behind)
        score = self.rows[0]["score"]
        usual = widths[len(widths) // 2] if widths else (score["high"] - score["low"]) / 2
        units = len(set(self.groups)) if self.groups else self.examples
        least = max(usual, self.highest * FEWEST_DIFFERING / units)
        return least if least < self.highest else None


def recommend(rows: Sequence[Row], experiment: Experiment, first: str = "train") -> dict[str, Any] | None:
    """The cheapest of the models that are as good as the best, and why; None if no model that learnt something has a score."""
    rows = [row for row in rows if "score" in row and "not_learnt" not in row]
    if not rows:
        return None
    rows = sorted(rows, key=lambda row: -row["score"]["value"])
    comparison = Comparison(rows, experiment)
    behind = [{"model": row["model"], **comparison.difference(0, number)} for number, row in enumerate(rows) if number]
    as_good = [0, *(number for number, own in enumerate(behind, 1) if not own["separated"])]
    left = cheapest([rows[number] for number in as_good], first)
    places = [next(number for number, row in enumerate(rows) if row is own) for own in left]  # the better score first
    tied = [number for number in places if number == places[0] or not comparison.difference(places[0], number)["separated"]]
    names = [rows[number]["model"] for number in tied[:MOST_NAMES]]
    chosen = rows[tied[0]]
    found: dict[str, Any] = {
        "model": names[0], "models": names, "score": chosen["score"]["value"], "best": rows[0]["model"], "best_score": rows[0]["score"]["value"],
        "as_good": [rows[number]["model"] for number in as_good], "cost": first, "behind_best": behind, "separates": comparison.resolution(behind),
    }  # fmt: skip
    return {**found, "names": join_names(names), "why": why(found, rows), "rule": message(f"rule_{first}")}


def cheapest(rows: Sequence[Row], first: str = "train") -> list[Row]:
    """Criterion by criterion, those that tie with the cheapest."""
    left = list(rows)
    for criterion in (first, *(other for other in ORDER if other != first)):
        costs = [level(row, criterion) for row in left]
        if None in costs:  # a system that cannot tell its memory
            continue
        least = min(cost for cost in costs if cost is not None)
        most = least if criterion == "train" else TOLERANCE * least
        left = [row for row, cost in zip(left, costs, strict=True) if cost is not None and cost <= most]
    return left


def level(row: Row, criterion: str) -> float | None:
    """What is compared: the bin of CPU seconds, or the cost itself unless it is negligible."""
    cost = row.get(FIELDS[criterion])
    if criterion == "train" and cost is not None:
        return cost_bin(cost)
    return None if cost is None else max(cost, NEGLIGIBLE[criterion])


def cost_bin(seconds: float) -> int:
    """0 below 3 CPU seconds, 1 below 30, 2 below 300, ..."""
    return 0 if seconds < CHEAPEST_BIN else 1 + int(math.log10(seconds / CHEAPEST_BIN) + 1e-9)


def why(found: dict[str, Any], rows: Sequence[Row]) -> dict[str, str]:
    """The recommendation's reason, in every language."""
    by_name = {row["model"]: row for row in rows}
    names = {"model": found["model"], "score": found["score"], "best": found["best"], "best_score": found["best_score"]}
    if len(rows) == 1:
        return message("alone", **names)
    leads = found["model"] == found["best"]
    compared = next(own for own in found["behind_best"] if leads or own["model"] == found["model"])
    apart = {name: compared[name] for name in ("difference", "low", "high")}
    parts = [message("best" if leads else "as_good", **names, **apart, next=compared["model"])]
    if not leads:
        costs = {name: cost_in_words(by_name[found[model]]) for name, model in (("cost", "model"), ("best_cost", "best"))}
        parts.append(message("costs", **names, **costs))
    if not compared["separated"]:
        parts.append(message("would_separate", more=amount(compared["more_examples"])))
    if len(found["models"]) > 1:
        parts.append(message("tie", names=join_names(found["models"], "and")))
    return join_sentences(parts)
