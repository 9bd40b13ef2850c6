"""python .ci/check_climb.py REPORT: whether a climb taught every model. None was left out, none failed, and those that learn by gradients
made enough updates to have learnt something. Prints a line for each that did not, and ends with exit code 1 if there is one."""

import json
import sys
from pathlib import Path

from stairs.models import MODELS
from stairs.models.settings import DEFAULT_TOKENIZER, TRANSLATION_MODELS

FEWEST = 20  # updates


def faults(report: dict) -> list[str]:
    rows = {row["model"]: row for row in report["rows"]}
    learners = [name for name in DEFAULT_TOKENIZER if MODELS[name].learns_by == "gradient" and name not in TRANSLATION_MODELS]
    found = [f"{name} has no row" for name in learners if name not in rows]
    for name, row in rows.items():
        if why := row.get("failed") or row.get("not_tried"):
            found.append(f"{name}: {why}")
        elif (name in learners or "updates" in row) and row.get("updates", 0) < FEWEST:
            found.append(f"{name} made {row.get('updates', 'an unknown number of')} updates; {FEWEST} are the fewest that count as learning")
    return found


if __name__ == "__main__":
    report = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    found = faults(report)
    print("\n".join(found) or f"{len(report['rows'])} rows, {FEWEST} or more updates in each that learns by gradients")
    sys.exit(bool(found))
