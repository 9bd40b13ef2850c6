"""The climbs that are shown: their report.json, read anew for each request, since a climb writes it again after every step."""

import json
from pathlib import Path
from typing import Any

from stairs.climb.messages import FORMAT, LANGUAGES, METRIC_NAMES, advice, describe_resolution, join_names, join_sentences, message
from stairs.files import os_error_reason
from stairs.training.run import RUN_FILE
from stairs.web.requests import RequestError

REPORT = "report.json"
MAX_REPORT_BYTES = 1 << 24  # bytes of a report that are read
LONGEST_NAME, LONGEST_REASON, LONGEST_TEXT = 60, 400, 2000  # letters
MAX_NUMBER = 1e18  # no count and no cost is larger
PICTURES = ("staircase", "frontier")


class OpenedClimb:
    """The folder of a climb; `bars_enabled` never fails."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def shown(self) -> dict[str, Any]:
        """What the page says of it, or what is wrong with it: {"climb", "rows", "chosen", "names", "recommended", "data", "problem"}."""
        nothing: dict[str, Any] = {"climb": self.name, "rows": [], "chosen": [], "names": None, "recommended": None, "data": None}
        try:
            report = read_report(self.folder)
            if report.get("format") != FORMAT:
                other = f"{REPORT} has the format {shorten_name(str(report.get('format')))}, and this version shows {FORMAT}"
                return {**nothing, "problem": f"{other}; stairs climb with another --out makes a new one"}
            return {**nothing, **check_report(report), "problem": None}
        except OSError as error:
            return {**nothing, "problem": f"{REPORT} cannot be read: {os_error_reason(error)}"}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return {**nothing, "problem": f"{REPORT} is damaged; stairs climb with the same --out writes it anew"}

    def runs(self) -> list[Path]:
        """Its runs, those first that stand in its rows."""
        inside = {path.parent.name: path.parent for path in sorted(self.folder.glob(f"*/{RUN_FILE}"))}
        named = [name for row in self.shown()["rows"] for name in row["runs"]]
        return [inside[name] for name in dict.fromkeys([*named, *inside]) if name in inside]

    def picture_data(self) -> dict[str, Any]:
        """What its pictures show."""
        found = self.shown()
        rows = [row for row in found["rows"] if row.get("score")]
        if found["problem"] or not rows:
            raise RequestError(422, "no_score", found["problem"] or f"no step of {self.name} has a score yet")
        return {"rows": rows, "quality": rows[0]["metric"], "best": found["chosen"]}

    def chart(self, picture: str, data: dict[str, Any], language: str) -> Any:
        from stairs.pictures import climb

        quality = message(data["quality"])[language] if data["quality"] in METRIC_NAMES else data["quality"].replace("_", " ")
        if picture == "staircase":
            return climb.staircase(data["rows"], quality, data["best"])
        return climb.frontier(data["rows"], quality, message("axis_seconds")[language])


def read_report(folder: Path) -> dict[str, Any]:
    with (folder / REPORT).open("rb") as file:
        content = file.read(MAX_REPORT_BYTES + 1)
    if len(content) > MAX_REPORT_BYTES:
        raise ValueError
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError
    return found


def check_report(report: dict[str, Any]) -> dict[str, Any]:
    """A report as the page shows it; whatever is not as a climb writes it raises."""
    told, example_kind = report["recommendation"], report["settings"]["task"]
    counts = report["examples"]
    return {
        "rows": [check_row(row) for row in report["rows"]],
        "chosen": [] if told is None else [shorten_name(name) for name in told["models"]],
        "names": None if told is None else join_names([shorten_name(name) for name in told["models"]]),
        "recommended": check_texts(advice(told, example_kind)),
        "data": join_sentences([data_sentence(report, counts), *rule_sentences(told, counts)]) if example_kind else None,
    }


def data_sentence(report: dict[str, Any], counts: dict[str, Any]) -> dict[str, str]:
    return message("data", **{name: check_number(counts[name]) for name in ("train", "dev", "test")},
        example_kind=shorten_name(report["settings"]["task"]))


def rule_sentences(told: dict[str, Any] | None, counts: dict[str, Any]) -> list[dict[str, str]]:
    """What the test separates, and the rule of the recommendation."""
    if told is None:
        return []
    least = told["separates"] if told["separates"] is None else check_number(told["separates"])
    return [describe_resolution({"separates": least}, check_number(counts["test"])), check_texts(told["rule"])]


def check_texts(found: dict[str, str]) -> dict[str, str]:
    """A text in every language, none of them longer than a page can bear."""
    if not all(isinstance(found[language], str) for language in LANGUAGES):
        raise TypeError
    return {language: found[language][:LONGEST_TEXT] for language in LANGUAGES}


def check_row(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"model": shorten_name(row["model"]), "runs": [str(row[name]) for name in ("run", "read_by") if name in row]}
    if "run" not in row:
        reason = "not_tried" if "not_tried" in row else "failed"
        return {**found, reason: str(row[reason])[:LONGEST_REASON]}
    found |= {name: check_number(row[name]) for name in ("cpu_seconds", "seconds", "parameters", "megabytes")}
    found |= {name: check_number(row[name]) for name in ("training_mb", "answering_mb") if row.get(name) is not None}
    found["adopted"] = bool(row.get("adopted"))
    if "bits_per_character" in row:
        found["bits"] = check_number(row["bits_per_character"]["value"])
    if "score" in row:
        score = {name: check_number(row["score"][name], -MAX_NUMBER) for name in ("value", "low", "high")}
        found |= {"score": score, "metric": shorten_name(row["metric"]), "ms_per_text": check_number(row["ms_per_text"])}
    return found


def check_number(value: Any, least: float = 0) -> float:
    if isinstance(value, bool) or not least <= value <= MAX_NUMBER:  # neither is NaN
        raise ValueError
    return value


def shorten_name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
