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

from stairs.climb.ground import Ground
from stairs.climb.words import amount, cost_in_words, joined, listed, worded
from stairs.tasks.bootstrap import Paired, more_examples
from stairs.tasks.outcomes import groups_of, statistic

FIELDS = {"train": "cpu_seconds", "latency": "ms_per_text", "size": "megabytes", "memory": "answering_mb"}
ORDER = ("train", "latency", "size")
CHEAPEST_BIN = 3.0  # CPU seconds; the next ends at 30, then 300, ...
TOLERANCE = 2.0  # within this factor two costs are equal
NEGLIGIBLE = {"latency": 0.25, "size": 1.0, "memory": 10.0}  # ms, MB and MB: below that, costs are equal
MOST_NAMES = 3  # of a tie
Row = dict[str, Any]


def recommend(rows: Sequence[Row], ground: Ground, first: str = "train") -> dict[str, Any] | None:
    """The cheapest of the models that are as good as the best, and why; None if no model that learnt something has a score."""
    rows = [row for row in rows if "score" in row and "not_learnt" not in row]
    if not rows:
        return None
    rows = sorted(rows, key=lambda row: -row["score"]["value"])
    paired = Paired([statistic(ground.metric, ground.asks, ground.test, row["outcomes"]) for row in rows], groups_of(ground.test))
    behind = [{"step": row["step"], **difference(paired, 0, number, len(ground.test))} for number, row in enumerate(rows) if number]
    as_good = [0, *(number for number, own in enumerate(behind, 1) if own["low"] <= 0)]
    left = cheapest([rows[number] for number in as_good], first)
    places = [next(number for number, row in enumerate(rows) if row is own) for own in left]  # the better score first
    tied = [number for number in places if number == places[0] or paired.difference(places[0], number)["low"] <= 0]
    names = [rows[number]["step"] for number in tied[:MOST_NAMES]]
    chosen = rows[tied[0]]
    found: dict[str, Any] = {
        "step": names[0], "steps": names, "score": chosen["score"]["value"], "best": rows[0]["step"], "best_score": rows[0]["score"]["value"],
        "as_good": [rows[number]["step"] for number in as_good], "cost": first, "behind_best": behind, "separates": resolution(behind, rows),
    }  # fmt: skip
    return {**found, "names": listed(names), "why": why(found, rows), "rule": worded(f"rule_{first}")}


def difference(paired: Paired, first: int, second: int, examples: int) -> dict[str, Any]:
    found = paired.difference(first, second)
    more = more_examples(found["difference"], found.pop("error"), examples)
    return {**found, "more_examples": None if math.isinf(more) else round(more)}


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


def resolution(behind: Sequence[dict[str, Any]], rows: Sequence[Row]) -> float:
    """The least difference that this test separates, about: half the width of the paired intervals, or of the score's own if there is but one."""
    widths = sorted((own["high"] - own["low"]) / 2 for own in behind)
    score = rows[0]["score"]
    return widths[len(widths) // 2] if widths else (score["high"] - score["low"]) / 2


def why(found: dict[str, Any], rows: Sequence[Row]) -> dict[str, str]:
    """The recommendation's reason, in every language."""
    by_name = {row["step"]: row for row in rows}
    names = {"step": found["step"], "score": found["score"], "best": found["best"], "best_score": found["best_score"]}
    if len(rows) == 1:
        return worded("alone", **names)
    leads = found["step"] == found["best"]
    compared = next(own for own in found["behind_best"] if leads or own["step"] == found["step"])
    apart = {name: compared[name] for name in ("difference", "low", "high")}
    parts = [worded("best" if leads else "as_good", **names, **apart, next=compared["step"])]
    if not leads:
        costs = {name: cost_in_words(by_name[found[step]]) for name, step in (("cost", "step"), ("best_cost", "best"))}
        parts.append(worded("costs", **names, **costs))
    if compared["low"] <= 0:
        parts.append(worded("would_separate", more=amount(compared["more_examples"])))
    if len(found["steps"]) > 1:
        parts.append(worded("tie", names=listed(found["steps"], "and")))
    return joined(parts)
