"""Why this label? How much its chance falls when a word is left out, and which labels are taken for which.

    reason(word) = P(label | text) - P(label | text without the word)

Occlusion (Zeiler & Fergus 2014; Li, Monroe & Jurafsky 2016) asks the classifier itself and looks at nothing inside it, so it is exact, and the same
for every step from word counts to BERT. It sees one word at a time: of two that say the same, either can be left out at no loss.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

from stairs.errors import BadInput, Unsupported, preview
from stairs.inspection.tokens import Data, group_bounds
from stairs.text.chinese import HAN_RUN, chinese_word_spans

MAX_SPANS = 96  # that are left out one by one; of a longer text several words at a time
BATCH_SIZE = 64
MIN_PROBABILITY = 1e-12
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|_+")


def reasons(task: Any, text: str) -> Data:
    """The label of a text, its chance, and what each word does for it."""
    spans = spans_of_words(text)
    if len(spans) < 2:
        raise BadInput(f"{preview(text)} has {len(spans)} words, and leaving one out must leave something; give a longer text")
    pieces = [(spans[start][0], spans[stop - 1][1]) for start, stop in group_bounds(len(spans), MAX_SPANS)]
    asked = [text, *(remove_span(text, start, end) for start, end in pieces)]
    probabilities = [row for at in range(0, len(asked), BATCH_SIZE) for row in task.probabilities(asked[at : at + BATCH_SIZE]).tolist()]
    whole, *others = probabilities
    best = whole.index(max(whole))
    odds = log_odds(whole, best)
    found = [
        {"word": text[start:end], "start": start, "end": end, "probability_drop": whole[best] - other[best], "log_odds_drop": odds - log_odds(other,
            best)}
        for (start, end), other in zip(pieces, others, strict=True)
    ]
    return {"text": text, "label": task.labels[best], "probability": whole[best], "words": found}


def log_odds(probabilities: list[float], best: int) -> float:
    """ln of the chance of one label to that of all others, which still moves where the chance itself is as good as 1."""
    others = sum(probability for number, probability in enumerate(probabilities) if number != best)
    return math.log(max(probabilities[best], MIN_PROBABILITY) / max(others, MIN_PROBABILITY))


def spans_of_words(text: str) -> list[tuple[int, int]]:
    """Where each word and each sign starts and ends; Chinese as the dictionary cuts it."""
    chinese = chinese_word_spans(text)
    hidden = HAN_RUN.sub(lambda run: " " * len(run[0]), text)
    return sorted([*chinese, *(found.span() for found in WORD.finditer(hidden))])


def remove_span(text: str, start: int, end: int) -> str:
    """The text with a piece left out, and with it the space before it."""
    return text[:start].rstrip(" ") + text[end:] if text[end : end + 1] in ("", " ") else text[:start] + text[end:]


def confusion(task: Any, text: str = "", *, run: str = "") -> Data:
    """From the report that tuning left in the run's folder: a row for each true label, a column for each that was said."""
    path = Path(run) / "report.json"
    try:
        report = json.loads(path.read_text("utf-8"))
        split = "test" if "test" in report else "dev"
        found = {"split": split, "labels": list(report[split]["labels"]), "counts": report[split]["confusion"]}
    except OSError:
        raise Unsupported(f"{run or 'this run'} has no report.json, in which who was taken for whom would stand; stairs tune writes one") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{path} tells no confusion of labels; tune the run again") from None
    return found
