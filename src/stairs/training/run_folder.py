"""The run that a path stands for: a run folder itself; of the folder of a climb, the run of the model that it recommends; of a .stairs file, the run
that it holds."""

import json
import os
from pathlib import Path
from typing import Any

from stairs.errors import BadInput
from stairs.progress import say
from stairs.training.run import RUN_FILE
from stairs.training.run_file import is_run_file, open_run_file

REPORT_FILE = "report.json"  # of a climb
MAX_REPORT_BYTES = 1 << 28


def run_folder(place: str | Path) -> Path:
    """The folder of the run that answers; a path that is neither a climb nor a file of a run stands for itself, whatever is there."""
    if is_run_file(place):
        return open_run_file(place)
    folder = Path(place)
    if os.path.exists(folder / RUN_FILE) or not os.path.isfile(folder / REPORT_FILE):  # whatever the path, which may be too long for a file
        return folder
    report = read_climb(folder)
    found, runs = recommended_model(report), runs_of(report)
    if found not in runs:
        others = f"; give the folder of one of its runs, such as {folder / next(iter(runs.values()))}" if runs else "; run stairs climb again"
        raise BadInput(f"{folder} is a climb that recommends no model{others}")
    say(f"{folder}: {found} answers, which this climb recommends")
    return folder / runs[found]


def read_climb(folder: Path) -> dict[str, Any]:
    """The report of a climb, as far as a run is chosen by it."""
    path = folder / REPORT_FILE
    try:
        if path.stat().st_size > MAX_REPORT_BYTES:
            raise ValueError
        report = json.loads(path.read_bytes())
        if not isinstance(report, dict) or not isinstance(report.get("rows"), list):
            raise ValueError
    except (OSError, ValueError, RecursionError):
        raise BadInput(f"{path} is not the report of a climb; give a run folder, or the folder of a climb") from None
    return report


def recommended_model(report: dict[str, Any]) -> str:
    """The name of the recommended model: by the test examples, or while the climb goes on by the validation examples; "" if there is none."""
    for name in ("recommendation", "first_recommendation"):
        found = report.get(name)
        if isinstance(found, dict) and isinstance(found.get("model"), str):
            return str(found["model"])
    return ""


def runs_of(report: dict[str, Any]) -> dict[str, str]:
    """The names of the folders of the models that were trained; one that leads out of the climb's folder does not count."""
    rows = [row for row in report["rows"] if isinstance(row, dict) and isinstance(row.get("model"), str) and isinstance(row.get("run"), str)]
    return {row["model"]: row["run"] for row in rows if Path(row["run"]).name == row["run"] != ".."}
