"""Which model is worth its cost: of those that the test cannot tell from the best, the cheapest.

A model is as good as the best if the 95 % interval of their paired difference, on the same bootstrap samples of the same test examples, includes 0.
Of these, those stay that tie with the cheapest in CPU time of training, in factors of ten; then those that tie with the fastest in milliseconds per
text; then those that tie with the smallest on disk. Where several are left that the test cannot tell apart, the tie is real, and the report names
all of them, the better score first. One criterion can be put before the others.

CPU time is compared in bins, and the other costs within a factor of two, so that noise does not decide.
"""

import math
from collections.abc import Sequence

from stairs.comparison.encoder_advice import encoder_note
from stairs.comparison.experiment import Experiment
from stairs.comparison.messages import Value, approximate_count, describe_cost, join_names, join_sentences, message
from stairs.comparison.schema import CostCriterion, Difference, LocalizedText, Recommendation, Row
from stairs.tasks.paired_evaluation import PairedOutcomes

COST_ORDER: tuple[CostCriterion, ...] = ("train", "latency", "size")
CHEAPEST_BIN = 3.0  # CPU seconds; the next ends at 30, then 300, ...
TOLERANCE = 2.0  # within this factor two costs are equal
NEGLIGIBLE = {"latency": 0.25, "size": 1.0, "memory": 10.0}  # ms, MB and MB: below that, costs are equal
MAX_NAMES = 3  # of a tie


def recommend(tried: Sequence[Row], experiment: Experiment, first: CostCriterion = "train") -> Recommendation | None:
    """The cheapest of the models that are as good as the best, and why; None if no model that learnt something has a score."""
    scored = sorted((row for row in tried if "score" in row), key=lambda row: ("not_learnt" in row, -row["score"]["value"]))
    rows = [row for row in scored if "not_learnt" not in row]
    if not rows:
        return None
    paired = PairedOutcomes(experiment.metric, experiment.example_kind, experiment.test, [row["outcomes"] for row in scored])
    behind: list[Difference] = [{"model": row["model"], **paired.difference(0, number)} for number, row in enumerate(rows[1:], 1)]
    as_good = [0, *(number for number, own in enumerate(behind, 1) if not own["is_significant"])]
    cheap = cheapest([rows[number] for number in as_good], first)
    positions = [next(number for number, row in enumerate(rows) if row is own) for own in cheap]  # the better score first
    tie = [number for number in positions if number == positions[0] or not paired.difference(positions[0], number)["is_significant"]]
    names = [rows[number]["model"] for number in tie[:MAX_NAMES]]
    intervals = [(own["low"], own["high"]) for own in behind] or [(rows[0]["score"]["low"], rows[0]["score"]["high"])]
    detectable = paired.detectable_difference([high - low for low, high in intervals])
    found: Recommendation = {
        "model": names[0], "models": names, "names": join_names(names), "score": rows[tie[0]]["score"]["value"],
        "best": rows[0]["model"], "best_score": rows[0]["score"]["value"], "as_good": [rows[number]["model"] for number in as_good], "cost": first,
        "behind_best": behind, "below_tfidf": differences_below("tfidf", scored, paired), "detectable_difference": detectable, "why": {},
        "rule": message(f"rule_{first}"),
    }  # fmt: skip
    if note := encoder_note(tried, experiment):
        found["encoder_note"] = note
    return {**found, "why": explain(found, rows)}


def differences_below(model: str, rows: Sequence[Row], paired: PairedOutcomes) -> list[Difference]:
    """How far each model with a lower score than this one is below it; those that did not learn are as well. `paired` has the outcomes of `rows`."""
    position = next((number for number, row in enumerate(rows) if row["model"] == model), None)
    if position is None:
        return []
    lower = [(number, row) for number, row in enumerate(rows) if row["score"]["value"] < rows[position]["score"]["value"]]
    return [{"model": row["model"], **paired.difference(position, number)} for number, row in lower]


def cheapest(rows: Sequence[Row], first: CostCriterion = "train") -> list[Row]:
    """Criterion by criterion, those that tie with the cheapest."""
    left = list(rows)
    for criterion in (first, *(other for other in COST_ORDER if other != first)):
        costs = [comparable_cost(row, criterion) for row in left]
        if None in costs:  # a system that does not know its memory
            continue
        least = min(cost for cost in costs if cost is not None)
        limit = least if criterion == "train" else TOLERANCE * least
        left = [row for row, cost in zip(left, costs, strict=True) if cost is not None and cost <= limit]
    return left


def comparable_cost(row: Row, criterion: CostCriterion) -> float | None:
    """The bin of CPU seconds, or the cost itself unless it is negligible."""
    cost = cost_of(row)[criterion]
    if criterion == "train" and cost is not None:
        return cost_bin(cost)
    return None if cost is None else max(cost, NEGLIGIBLE[criterion])


def cost_of(row: Row) -> dict[CostCriterion, float | None]:
    return {"train": row.get("cpu_seconds"), "latency": row.get("ms_per_text"), "size": row.get("megabytes"), "memory": row.get("answering_mb")}


def cost_bin(seconds: float) -> int:
    """0 below 3 CPU seconds, 1 below 30, 2 below 300, ..."""
    return 0 if seconds < CHEAPEST_BIN else 1 + int(math.log10(seconds / CHEAPEST_BIN) + 1e-9)


def explain(found: Recommendation, rows: Sequence[Row]) -> LocalizedText:
    """The reason for the recommendation."""
    by_name = {row["model"]: row for row in rows}
    names: dict[str, Value] = {"model": found["model"], "score": found["score"], "best": found["best"], "best_score": found["best_score"]}
    if len(rows) == 1:
        return message("alone", **names)
    leads = found["model"] == found["best"]
    compared = next(own for own in found["behind_best"] if leads or own["model"] == found["model"])
    figures: dict[str, Value] = {"difference": compared["difference"], "low": compared["low"], "high": compared["high"], "next": compared["model"]}
    sentences = [message("best" if leads else "as_good", **names, **figures)]
    if not leads:
        costs: dict[str, Value] = {"cost": describe_cost(by_name[found["model"]]), "best_cost": describe_cost(by_name[found["best"]])}
        sentences.append(message("costs", **names, **costs))
    if not compared["is_significant"]:
        sentences.append(message("would_separate", more=approximate_count(compared["more_examples"])))
    if len(found["models"]) > 1:
        sentences.append(message("tie", names=join_names(found["models"], "and")))
    return join_sentences(sentences)
