"""climb: the steps on the same text and the same labels, judged on the same held-out data, and the cheapest one that is good enough.

`report.json` is written after every step, and whenever it is decided how a run is trained. A climb that was stopped and begun again takes the rows
and the plans it has from there, and its runs go on where they stand.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stairs.climb.experiment import SHOWN, Ground, Plans, digest, told
from stairs.climb.messages import FORMAT, worded
from stairs.climb.models import Step, steps_for
from stairs.climb.recommendation import recommend
from stairs.climb.time_shares import SWEEPING_SHARE, allot, choose_within, time_of
from stairs.errors import BadInput, StairsError
from stairs.files import write_json
from stairs.progress import say
from stairs.tasks.metrics import choose_metric
from stairs.training.run import refuse_changes, versions
from stairs.training.run_lock import check_writable

REPORT = "report.json"
LONGEST = 300  # letters of an example that is shown
FEWEST_UPDATES = 50  # a model that made fewer has not been trained


class Onlooker:
    """Hears how a climb goes."""

    def sees(self, steps: list[str]) -> None:
        """What there is to climb."""

    def begins(self, step: str) -> None: ...

    def done(self, row: dict[str, Any]) -> None: ...


def climb(
    ground: Ground, *, budget: float, steps: Sequence[str] | None = None, adopted: Sequence[str] = (), command: str = "",
    onlooker: Onlooker | None = None, began: float | None = None, cost: str = "train",
) -> dict[str, Any]:  # fmt: skip
    """Train and judge each model within `budget` seconds, counted from `began`; one that fails is listed with the reason and never stops the rest.
    `cost` is what is compared first among those that are as good as the best: "train", "latency", "size" or "memory"."""
    check_writable(ground.out)
    began = time.monotonic() if began is None else began
    if ground.example_kind and not ground.metric:
        ground = replace(ground, metric=choose_metric(ground.example_kind, ground.train))
    found = steps_for(ground.example_kind, adopted)
    strangers = [step for step in steps or [] if step not in [own.name for own in found]]
    if strangers:
        more = "" if ground.example_kind else "; with labels there are more"
        raise BadInput(f"there is no step {strangers[0]!r} to climb; there are {', '.join(own.name for own in found)}{more}")
    found = [own for own in found if not steps or own.name in steps or own.name in map(name_of, adopted)]
    report = {"command": command, **begun(ground, budget)}
    rows = {row["step"]: row for row in report["rows"] if "run" in row}
    fitting, left_out = choose_within(found, budget, ground.megabytes) if not rows else (found, "")
    if left_out:
        say(left_out)
        rows |= {step.name: {"step": step.name, "not_tried": left_out} for step in found if step not in fitting}
    used, compared = report["used"], set[str]()
    onlooker = onlooker or Onlooker()
    onlooker.sees([step.name for step in found])

    def keep() -> None:
        report["rows"] = [rows[step.name] for step in found if step.name in rows]
        if rows.keys() - compared:  # a comparison of many models on many examples takes seconds
            report["recommendation"] = recommend(report["rows"], ground, cost)
            compared.update(rows)
        report["used"] = round(used + time.monotonic() - began, 3)
        write_json(ground.out / REPORT, report)

    ground = replace(ground, plans=Plans(report["plans"], keep), peaks=report["peaks"])
    for step in fitting:
        if step.name not in rows:
            if step.learns_by == "gradient" and not report["shares"]:
                prepare_text(ground, fitting)  # all of it now: whoever came first would pay for the others
                report["shares"] = allot([own for own in fitting if own.name not in rows], budget - used - (time.monotonic() - began))
            onlooker.begins(step.name)
            rows[step.name] = row_of(step, ground, report["shares"].get(step.name) or SWEEPING_SHARE * budget)
        keep()
        onlooker.done(rows[step.name])
    return report


def prepare_text(ground: Ground, steps: Sequence[Step]) -> None:
    """Cut the text in all the ways the models want it."""
    for step in steps:
        if step.reads and step.learns_by == "gradient":  # the others have cut it for themselves, by now
            ground.shards_for(step.name)


def plans_in(folder: Path) -> Plans:
    """How the runs of another climb were trained."""
    path = folder / REPORT if folder.is_dir() else folder
    try:
        plans = json.loads(path.read_text("utf-8"))["plans"]
        return Plans({run: dict(plan) for run, plan in plans.items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{folder} holds no report.json of a climb whose plans could be followed; name the folder of one") from None


def name_of(run: str) -> str:
    return Path(run).name


def begun(ground: Ground, budget: float) -> dict[str, Any]:
    """The report as it stands, if it is of a climb on the same ground; else one without rows."""
    shown = [{"text": own.asked.replace("\t", " | ")[:LONGEST], "right": own.right} for own in map(told, ground.test[:SHOWN])]
    labelled = digest((*ground.train, *ground.dev, *ground.test))
    settings = {
        "seed": ground.seed, "order": ground.order, "text": ground.text, "asks": ground.example_kind, "labelled": labelled, "metric": ground.metric,
    }  # fmt: skip
    fresh = {
        "format": FORMAT, "settings": settings, "rows": [], "recommendation": None, "budget": budget, "used": 0.0, "shares": {}, "peaks": {},
        "test": shown, "plans": dict(ground.plans.known), "removed_text": dict(ground.removed_text),
        "examples": {name: len(getattr(ground, name)) for name in ("train", "dev", "test")}, "versions": versions(),
    }  # fmt: skip
    try:
        before = json.loads((ground.out / REPORT).read_text("utf-8"))
        came = before.get("format")
        begun_with, kept = before["settings"], {name: before[name] for name in ("rows", "used", "plans", "shares", "peaks")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return fresh
    if came != FORMAT:
        raise BadInput(f"{ground.out / REPORT} has the format {came}, and this version writes {FORMAT}; choose another folder with --out")
    refuse_changes(begun_with, settings, ground.out)
    return {**fresh, **kept}


def row_of(step: Step, ground: Ground, share: float) -> dict[str, Any]:
    """The row of one model: what it measured, or why it did not, and what became of its share of the time."""
    row: dict[str, Any] = {"step": step.name}
    began = time.monotonic()
    try:
        row |= step.climb(ground, share)
    except StairsError as error:
        return row | {"failed": str(error)}
    except Exception as error:  # a bug in one model is not to cost the others
        return row | {"failed": f"a bug: {type(error).__name__}: {error}; train it by itself with --debug and report it", "bug": True}
    training = row.pop("training", [])
    if step.learns_by == "gradient":
        row["time"] = time_of(share, time.monotonic() - began, training)
    reason = why_not_learnt(row, ground)
    return row | ({"not_learnt": reason} if reason else {})


def why_not_learnt(row: dict[str, Any], ground: Ground) -> dict[str, str] | None:
    """Why a model cannot be recommended although it was trained, in every language."""
    made = [row[name] for name in ("updates", "finetuning_updates") if name in row and not row.get("adopted")]  # what was learnt elsewhere is learnt
    if made and min(made) < FEWEST_UPDATES:
        return worded("few_updates", updates=min(made))
    level = majority(ground) if row.get("metric") == "accuracy" else 0.0
    if "score" in row and row["score"]["value"] <= level:
        return worded("like_majority", level=level)
    if "score" not in row and row.get("unigram_bits", math.inf) <= row.get("bits_per_character", {"value": 0.0})["value"]:
        return worded("like_unigram", level=row["unigram_bits"])
    return None


def majority(ground: Ground) -> float:
    """What one scores who always gives the commonest answer of the training examples."""
    if ground.example_kind not in ("classify", "compare"):
        return 0.0
    commonest = Counter(example.label for example in ground.train).most_common(1)[0][0]
    return sum(example.label == commonest for example in ground.test) / len(ground.test)
