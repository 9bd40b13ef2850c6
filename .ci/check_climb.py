"""python .ci/check_climb.py REPORT: whether a climb trained every model. None was left out, none failed, and those trained by gradients made enough
updates to learn something. Prints a line for each that did not, and exits with 1 if there is one."""

import json
import sys
from pathlib import Path

from stairs.models import MODELS
from stairs.models.settings import DEFAULT_TOKENIZER, LABEL_MODELS, SETTINGS, TRANSLATION_MODELS

MIN_UPDATES = 20  # that count as training


def find_faults(report: dict) -> list[str]:
    rows = {row["model"]: row for row in report["rows"]}
    climbed = [name for name in DEFAULT_TOKENIZER if SETTINGS[name].is_climbed_by_default and name not in TRANSLATION_MODELS]
    trained_by_gradients = [name for name in climbed if MODELS[name].learns_by == "gradient"]
    messages = [f"{name} has no row" for name in (*trained_by_gradients, *LABEL_MODELS) if name not in rows]
    for name, row in rows.items():
        if why := row.get("failed") or row.get("not_tried"):
            messages.append(f"{name}: {why}")
        elif (name in trained_by_gradients or "updates" in row) and row.get("updates", 0) < MIN_UPDATES:
            messages.append(f"{name} made {row.get('updates', 'an unknown number of')} updates; at least {MIN_UPDATES} are needed")
        elif name in LABEL_MODELS and row.get("finetuning_updates", 0) < MIN_UPDATES:
            messages.append(f"{name} made {row.get('finetuning_updates', 'an unknown number of')} updates; at least {MIN_UPDATES} are needed")
    return messages


if __name__ == "__main__":
    report = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    messages = find_faults(report)
    print("\n".join(messages) or f"{len(report['rows'])} rows, {MIN_UPDATES} or more updates for each model that is trained by gradients")
    sys.exit(bool(messages))
