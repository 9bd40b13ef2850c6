"""When a pretrained encoder would probably pay, although none took part in a climb.

The rule, from what docs/climb.md has measured: texts of a language for which there are weights, labels of single texts or scores of pairs, and a
best score below MAX_SCORE of what is possible. Labels of pairs are left out: on MRPC, a frozen sentence encoder was behind tfidf.
"""

import math
from collections.abc import Sequence

from stairs.comparison.experiment import Experiment
from stairs.comparison.messages import message
from stairs.comparison.schema import LocalizedText, Row
from stairs.formats.weight_packages import WEIGHT_PACKAGES
from stairs.tasks import TEXT_KINDS
from stairs.tasks.metric_table import METRICS
from stairs.text.language import examples_language

MAX_SCORE = 0.9  # of the metric's maximum: from there on, the others leave little to gain


def encoder_note(rows: Sequence[Row], experiment: Experiment) -> LocalizedText | None:
    """A sentence that names `stairs weights`; None where an encoder took part, or would hardly pay."""
    best = max((row["score"]["value"] for row in rows if "score" in row), default=math.inf)
    is_pair_score = experiment.example_kind == "compare" and experiment.metric in ("spearman", "pearson")
    if not (experiment.example_kind in TEXT_KINDS or is_pair_score) or any(map(is_encoder, rows)):
        return None
    language = examples_language(experiment.train)
    if language is None or best >= MAX_SCORE * METRICS[experiment.metric].maximum:
        return None
    return message("encoder_pays", language=message(f"language_{language}"), best=best)


def is_encoder(row: Row) -> bool:
    """Whether a row is that of an adopted encoder, even if there was no time for it."""
    package = WEIGHT_PACKAGES.get(row["model"])
    return package.kind == "encoder" if package is not None else bool(row.get("is_adopted") and "transfer" in row)
