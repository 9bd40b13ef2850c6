"""The part of report.html that has each model in detail: a fold for each, with its labels or types of spans, the labels that it confuses, and how
far its probabilities can be trusted. Names of labels are other people's text and stand here as text only."""

from collections.abc import Mapping, Sequence
from html import escape

from stairs.comparison.messages import MESSAGES, Value, message
from stairs.comparison.schema import LocalizedText, Row
from stairs.pictures.charts import Chart, render
from stairs.pictures.climb import reliability
from stairs.tasks.measurements import Calibration, ConfusedLabels, LabelDetails, ModelDetails, TagDetails

MAX_LABELS = 50  # rows of a table; of more labels, those with the lowest F1
MAX_NAME = 60  # characters of a label
TURNED_HEADS = 5  # labels from which the heads of a matrix are turned
PADDING = {"left": 5, "top": 5, "right": 30, "bottom": 5}  # names of models are wider in some fonts
DETAILS_STYLE = """
details { border-top: 1px solid var(--line); padding: .4rem 0 } summary { cursor: pointer } summary b { margin-right: .8rem }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem } .side { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start }
table.matrix td { text-align: center; min-width: 1.6rem; padding: .15rem .3rem; border: 1px solid var(--line) }
table.matrix th { font-weight: normal; text-align: right; white-space: nowrap; padding: .15rem .4rem }
table.matrix .turned { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 12rem; overflow: hidden; text-overflow: ellipsis }
tr.baseline td { color: var(--faint) }
table.matrix td.corner { border: 0; text-align: right; color: var(--faint) }
"""


def bilingual(name: str, **values: Value) -> str:
    return language_spans(message(name, **values))


def language_spans(text: LocalizedText) -> str:
    """A text in both languages; CSS shows one."""
    return "".join(f'<span lang="{language}">{escape(own)}</span>' for language, own in text.items())


def drawing(chart: Chart) -> str:
    return render(chart.properties(padding=PADDING), ".svg").decode()


def model_folds(rows: Sequence[Row], recommended: Sequence[str]) -> str:
    """A fold for each model that has details; that of the recommended model is open."""
    folds = []
    for row in rows:
        if details := row.get("details"):
            is_open = " open" if recommended and row["model"] == recommended[0] else ""
            score = f"{row['score']['value']:.4f}" if "score" in row else ""
            heading = f"<summary><b>{escape(row['model'])}</b>{bilingual(row['metric'])} {score}{calibration_note(details)}</summary>"
            folds.append(f"<details{is_open}>{heading}{model_fold(details)}</details>")
    return "".join(folds)


def calibration_note(details: ModelDetails) -> str:
    return f", {bilingual('calibration_error')} {details['calibration']['error']:.3f}" if "calibration" in details else ""


def model_fold(details: ModelDetails) -> str:
    parts = []
    if "labels" in details:
        parts.append(f"<h3>{bilingual('by_label')}</h3>{label_table(details['labels'], 'texts')}")
    if "tags" in details:
        parts.append(f"<h3>{bilingual('by_tag')}</h3>{label_table(details['tags'], 'gold')}")
    if "confusion" in details:
        parts.append(f"<h3>{bilingual('confusion')}</h3>{matrix(list(details['labels']), details['confusion'])}")
    elif details.get("confused"):
        parts.append(f"<h3>{bilingual('confused')}</h3>{confused_table(details['confused'])}")
    if "calibration" in details:
        heading = f"<h3>{bilingual('calibration')}</h3><p class='see'>{bilingual('calibration_see')}</p>"
        parts.append(heading + calibration_part(details["calibration"]))
    return "".join(parts)


def label_table(labels: Mapping[str, LabelDetails] | Mapping[str, TagDetails], count: str) -> str:
    """Precision, recall, F1 and the number of examples."""
    heads = "".join(f"<th>{bilingual(name)}</th>" for name in ("label", "precision", "recall", "f1", f"count_{count}"))
    shown = sorted(labels, key=lambda label: labels[label]["f1"])[:MAX_LABELS] if len(labels) > MAX_LABELS else list(labels)
    rows = []
    for label in shown:
        own = labels[label]
        figures = "".join(f"<td>{own[name]:.3f}</td>" for name in ("precision", "recall", "f1"))
        rows.append(f"<tr><td>{escape(shorten(label))}</td>{figures}<td>{own[count]:,}</td></tr>")  # type: ignore[literal-required]
    note = f"<p class='see'>{bilingual('worst_labels', shown=len(shown), count=len(labels))}</p>" if len(shown) < len(labels) else ""
    return f'{note}<div class="wide"><table class="details"><tr>{heads}</tr>{"".join(rows)}</table></div>'


def matrix(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> str:
    """A row for each gold label and a column for each predicted one; the darker, the larger its share of the row. Errors have another colour."""
    turned = ' class="turned"' if len(labels) >= TURNED_HEADS else ""
    heads = "".join(f"<th><div{turned}>{escape(shorten(label))}</div></th>" for label in labels)
    rows = [f'<tr><td class="corner">{bilingual("gold")} ↓ {bilingual("predicted")} →</td>{heads}</tr>']
    for i, (label, counts) in enumerate(zip(labels, confusion, strict=True)):
        total = max(sum(counts), 1)
        cells = "".join(matrix_cell(count, count / total, i == j) for j, count in enumerate(counts))
        rows.append(f"<tr><th>{escape(shorten(label))}</th>{cells}</tr>")
    return f'<div class="wide"><table class="matrix">{"".join(rows)}</table></div>'


def matrix_cell(count: int, share: float, is_correct: bool) -> str:
    if not count:
        return "<td></td>"
    colour = "76,120,168" if is_correct else "245,133,24"
    return f'<td style="background:rgba({colour},{0.1 + 0.7 * share:.2f})" title="{share:.1%}">{count}</td>'


def confused_table(confused: Sequence[ConfusedLabels]) -> str:
    heads = "".join(f"<th>{bilingual(name)}</th>" for name in ("gold", "predicted", "count_texts"))
    rows = "".join(
        f"<tr><td>{escape(shorten(own['gold']))}</td><td>{escape(shorten(own['predicted']))}</td><td>{own['texts']:,}</td></tr>" for own in confused
    )
    return f'<div class="wide"><table class="details"><tr>{heads}</tr>{rows}</table></div>'


def calibration_part(calibration: Calibration) -> str:
    """The table of the bins, and beside it the curve."""
    heads = "".join(f"<th>{bilingual(name)}</th>" for name in ("confidence", "share_correct", "count_texts"))
    rows = "".join(
        f"<tr><td>{part['confidence']:.3f}</td><td>{part['accuracy']:.3f}</td><td>{part['texts']:,}</td></tr>" for part in calibration["bins"]
    )
    curves = "".join(
        f'<figure lang="{language}">{drawing(reliability(calibration["bins"], MESSAGES["confidence"][n], MESSAGES["share_correct"][n]))}</figure>'
        for n, language in enumerate(("en", "zh"))
    )
    return f'<div class="side"><table class="details"><tr>{heads}</tr>{rows}</table>{curves}</div>'


def shorten(name: str) -> str:
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"
