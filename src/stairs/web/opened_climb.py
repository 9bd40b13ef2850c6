"""A climb that was opened: its report.json, checked and read again for each request, since the climb rewrites it after every model."""

import json
from pathlib import Path
from typing import Any, cast

from stairs.comparison.messages import LANGUAGES, advice, describe_below_tfidf, describe_resolution, join_names, join_sentences, message
from stairs.comparison.schema import FORMAT, Recommendation
from stairs.files import os_error_reason
from stairs.web.opened_run import RUN_FILE, metric_title
from stairs.web.requests import RequestError

REPORT = "report.json"
MAX_REPORT_BYTES = 1 << 24
MAX_NAME, MAX_REASON, MAX_TEXT = 60, 400, 2000  # characters
MAX_NUMBER = 1e18  # larger than any count or cost
PICTURES = ("staircase", "frontier")


class OpenedClimb:
    """The folder of a climb; `summary` never fails."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def summary(self) -> dict[str, Any]:
        """What the page shows, or what is wrong: {"climb", "rows", "recommended", "names", "advice", "data", "problem"}."""
        nothing: dict[str, Any] = {"climb": self.name, "rows": [], "recommended": [], "names": None, "advice": None, "data": None}
        try:
            report = read_report(self.folder)
            if report.get("format") != FORMAT:
                other = f"{REPORT} has the format {shorten_name(str(report.get('format')))}, and this version reads {FORMAT}"
                return {**nothing, "problem": f"{other}; run stairs climb again with another --out"}
            return {**nothing, **check_report(report), "problem": None}
        except OSError as error:
            return {**nothing, "problem": f"{REPORT} cannot be read: {os_error_reason(error)}"}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return {**nothing, "problem": f"{REPORT} is damaged; run stairs climb again with the same --out"}

    def runs(self) -> list[Path]:
        """Its runs, those of its rows first."""
        inside = {path.parent.name: path.parent for path in sorted(self.folder.glob(f"*/{RUN_FILE}"))}
        of_rows = [name for row in self.summary()["rows"] for name in row["runs"]]
        return [inside[name] for name in dict.fromkeys([*of_rows, *inside]) if name in inside]

    def picture_data(self) -> dict[str, Any]:
        """What its pictures show."""
        summary = self.summary()
        rows = [row for row in summary["rows"] if row.get("score")]
        if summary["problem"] or not rows:
            raise RequestError(422, "no_score", summary["problem"] or f"no model of {self.name} has a score yet")
        return {"rows": rows, "metric": rows[0]["metric"], "recommended": summary["recommended"]}

    def chart(self, picture: str, data: dict[str, Any], language: str) -> Any:
        from stairs.pictures import climb

        metric = metric_title(data["metric"])[language]
        if picture == "staircase":
            return climb.staircase(data["rows"], metric, data["recommended"])
        return climb.frontier(data["rows"], metric, message("axis_seconds")[language])


def read_report(folder: Path) -> dict[str, Any]:
    with (folder / REPORT).open("rb") as file:
        content = file.read(MAX_REPORT_BYTES + 1)
    if len(content) > MAX_REPORT_BYTES:
        raise ValueError
    report = json.loads(content)
    if not isinstance(report, dict):
        raise ValueError
    return report


def check_report(report: dict[str, Any]) -> dict[str, Any]:
    """A report as the page shows it; an exception if it is not what a climb writes."""
    recommendation, example_kind = report["recommendation"], report["settings"]["task"]
    counts = report["examples"]
    return {
        "rows": [check_row(row) for row in report["rows"]],
        "recommended": [] if recommendation is None else [shorten_name(name) for name in recommendation["models"]],
        "names": None if recommendation is None else join_names([shorten_name(name) for name in recommendation["models"]]),
        "advice": check_texts(advice(recommendation, bool(example_kind))),
        "data": join_sentences([data_sentence(report, counts), *rule_sentences(recommendation, counts)]) if example_kind else None,
    }


def data_sentence(report: dict[str, Any], counts: dict[str, Any]) -> dict[str, str]:
    sizes = {name: check_number(counts[name]) for name in ("train", "dev", "test")}
    return message("data", **sizes, task=shorten_name(report["settings"]["task"]))


def rule_sentences(recommendation: dict[str, Any] | None, counts: dict[str, Any]) -> list[dict[str, str]]:
    """Which models are below tfidf, whether an encoder would pay, which differences the test can detect, and the rule of the recommendation."""
    if recommendation is None:
        return []
    smallest = recommendation["detectable_difference"]
    smallest = None if smallest is None else check_number(smallest)
    notes = [describe_below_tfidf(cast(Recommendation, recommendation)), recommendation.get("encoder_note")]
    resolution = describe_resolution(smallest, check_number(counts["test"]))
    return [*(check_texts(note) for note in notes if note), resolution, check_texts(recommendation["rule"])]


def check_texts(texts: dict[str, str]) -> dict[str, str]:
    """A text in every language, cut to a length that a page can show."""
    if not all(isinstance(texts[language], str) for language in LANGUAGES):
        raise TypeError
    return {language: texts[language][:MAX_TEXT] for language in LANGUAGES}


def check_row(row: dict[str, Any]) -> dict[str, Any]:
    runs = [str(row[name]) for name in ("run", "alone_run", "pretrained_run") if name in row]
    checked: dict[str, Any] = {"model": shorten_name(row["model"]), "runs": runs}
    if "run" not in row:
        reason = "not_tried" if "not_tried" in row else "failed"
        return {**checked, reason: str(row[reason])[:MAX_REASON]}
    checked |= {name: check_number(row[name]) for name in ("cpu_seconds", "seconds", "parameters", "megabytes")}
    checked |= {name: check_number(row[name]) for name in ("training_mb", "answering_mb") if row.get(name) is not None}
    checked["is_adopted"] = bool(row.get("is_adopted"))
    if "beside_words" in row:
        checked |= {"insert": "beside", "beside_words": check_texts(row["beside_words"])}
    if "bits_per_character" in row:
        checked["bits"] = check_number(row["bits_per_character"]["value"])
    if "score" in row:
        score = {name: check_number(row["score"][name], -MAX_NUMBER) for name in ("value", "low", "high")}
        checked |= {"score": score, "metric": shorten_name(row["metric"]), "ms_per_text": check_number(row["ms_per_text"])}
    return checked


def check_number(value: Any, minimum: float = 0) -> float:
    if isinstance(value, bool) or not minimum <= value <= MAX_NUMBER:  # which refuses NaN, too
        raise ValueError
    return value


def shorten_name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"
