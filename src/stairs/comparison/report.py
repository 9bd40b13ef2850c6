"""report.html: a climb on one page, in English and Chinese, that needs nothing else: the pictures are SVG, the language switch is CSS."""

import json
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from stairs.comparison.messages import (
    MESSAGES,
    advice,
    curve_sentence,
    describe_below_tfidf,
    describe_first,
    describe_resolution,
    format_count,
)
from stairs.comparison.report_details import DETAILS_STYLE, bilingual, drawing, language_spans, model_folds
from stairs.comparison.schema import Report, ReportBaseline, Row
from stairs.files import write_atomically
from stairs.pictures.charts import Chart
from stairs.pictures.climb import SeriesLevel, SeriesPoint, curves, frontier, label_curves, staircase
from stairs.training.run import Run

SHOWN_DISAGREEMENTS = 12
MAX_CHARACTERS = 200  # of an example
STYLE = """
:root { color-scheme: light dark; --ink: #1b2a41; --paper: #ffffff; --faint: #667085; --line: #d0d5dd; --mark: #f7e3e1; --good: #e7f3ea }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --paper: #14181f; --faint: #9aa4b2; --line: #343b46; --mark: #4a2a28; --good: #22392a }
}
body { font: 16px/1.5 system-ui, "Noto Sans CJK SC", sans-serif; color: var(--ink); background: var(--paper) }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem } p { max-width: 48rem } .see { color: var(--faint) }
table { border-collapse: collapse; font-size: .92rem } th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line) }
th:first-child, td:first-child, .words td { text-align: left } tr.remarked td { border-bottom: 0 } tr.remark td { padding-top: 0; font-size: .82rem }
tr.chosen { background: var(--good) } td.wrong { background: var(--mark) }
table:not(.words):not(.matrix) td:nth-child(3) { white-space: nowrap }
figure { margin: 1rem 0; background: #ffffff; padding: .5rem; border-radius: .4rem; overflow-x: auto }
figure svg { max-width: 100%; height: auto } .wide { overflow-x: auto }
.box { border-left: 4px solid #2f6f4f; padding: .4rem 1rem } pre { overflow-x: auto; font-size: .8rem; color: var(--faint) }
input[name=language] { position: absolute; opacity: 0 } label { border: 1px solid var(--line); padding: .1rem .6rem; cursor: pointer }
input:focus-visible + label { outline: 2px solid #2f6f4f } [lang=zh] { display: none }
#chinese:checked ~ main [lang=zh] { display: revert } #chinese:checked ~ main [lang=en] { display: none }
#chinese:checked + label, #english:checked + label { background: var(--ink); color: var(--paper) }
"""


def write_report(report: Report, out: Path) -> Path:
    """report.html beside the runs, and its first picture as a file of its own, staircase.svg."""
    path = out / "report.html"
    write_atomically(path, page(report, out).encode())
    scored, metric, recommended = staircase_of(report)
    if scored:
        write_atomically(out / "staircase.svg", drawing(staircase(scored, MESSAGES[metric][0], recommended)).encode())
    return path


def page(report: Report, out: Path) -> str:
    scored = [row for row in report["rows"] if "score" in row]
    drawn, metric, recommended = staircase_of(report)
    parts = [f"<h1>{bilingual('title')}</h1>", summary(report)]
    if scored:
        parts.append(section("staircase", pictures(lambda text: staircase(drawn, text(metric), recommended))))
    parts.append(section("table", table(report, recommended)))
    if scored:
        parts.append(section("frontier", pictures(lambda text: frontier(drawn, text(metric), text("axis_seconds")))))
    points, levels = pretraining_curves(report["rows"], out)
    if points or levels:
        parts.append(section("curves", pictures(lambda text: curves(points, levels, text("bits"), axis_title=text("axis_minutes")))))
    if finetuning := finetuning_curves(scored, out):
        parts.append(section("finetuning", pictures(lambda text: curves(finetuning, (), text(metric), axis_title=text("axis_minutes")))))
    if advice_on_labels := label_part(report):
        parts.append(section("labels_more", advice_on_labels))
    if folds := model_folds(report["rows"], recommended):
        parts.append(section("details", folds))
    if scored:
        parts.append(section("disagree", disagreements(report, scored)))
    facts = {name: report.get(name) for name in ("settings", "budget", "seconds_used", "examples", "versions", "plans")}
    command = f"<pre><b>{escape(report['command'])}</b></pre>" if report["command"] else ""
    parts.append(section("again", f"{command}<pre>{escape(json.dumps(facts, indent=1, ensure_ascii=False))}</pre>"))
    return (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(MESSAGES['title'][0])}</title><style>{STYLE}{DETAILS_STYLE}</style></head><body>\n"
        '<input type="radio" name="language" id="english" checked><label for="english">English</label>\n'
        '<input type="radio" name="language" id="chinese"><label for="chinese">中文</label>\n'
        f"<main>\n{chr(10).join(parts)}\n</main></body></html>\n"
    )


def label_part(report: Report) -> str:
    """How many more labels would help: a sentence for each curve, and their picture."""
    found = report.get("label_curves") or []
    lines = [language_spans(curve_sentence(own)) for own in found] + ([language_spans(report["label_note"])] if "label_note" in report else [])
    drawn = pictures(lambda text: label_curves(found, text("accuracy"), text("axis_labels"))) if found else ""
    return "".join(f"<p>{line}</p>" for line in lines) + drawn


def staircase_of(report: Report) -> tuple[list[Row], str, list[str]]:
    """The rows with a score, the metric, and the recommended models."""
    scored = [row for row in report["rows"] if "score" in row]
    recommended = report["recommendation"]["models"] if report["recommendation"] else []
    return scored, scored[0]["metric"] if scored else "", recommended


def section(name: str, content: str) -> str:
    return f'<section><h2>{bilingual(name)}</h2><p class="see">{bilingual(name + "_see")}</p>{content}</section>'


def pictures(chart: Callable[[Callable[[str], str]], Chart]) -> str:
    """One in each language; `chart` is given the function that finds a message."""
    texts = [{name: own[number] for name, own in MESSAGES.items()} for number in (0, 1)]
    drawings = [drawing(chart(own.__getitem__)) for own in texts]
    return "".join(f'<figure lang="{language}">{svg}</figure>' for language, svg in zip(("en", "zh"), drawings, strict=True))


def summary(report: Report) -> str:
    found, task = report["recommendation"], report["settings"]["task"]
    lines = [bilingual("data", **report["examples"], task=task)] if task and report["examples"]["test"] else []
    if found is not None:
        lines.append(f"{language_spans(describe_resolution(found['detectable_difference'], report['examples']['test']))} "
                     f"{language_spans(found['rule'])}")  # fmt: skip
        lines += [language_spans(note) for note in (describe_below_tfidf(found), found.get("encoder_note")) if note]
    removed = report.get("removed_text") or {}
    if removed.get("documents"):
        lines.append(bilingual("removed_text", **removed))
    if adopted := [row["model"] for row in report["rows"] if row.get("is_adopted")]:
        lines.append(bilingual("adopted", models=", ".join(adopted)))
    facts = "".join(f"<p class='see'>{line}</p>" for line in lines)
    first = report.get("first_recommendation")
    if found is None and first is not None and not any("score" in row for row in report["rows"]):  # the climb goes on
        return f'<p class="box">{language_spans(describe_first(first))}</p>{facts}'
    reason = language_spans(advice(found, bool(task)))
    if found is None:
        return f"<p>{reason}</p>{facts}"
    return f'<p class="box"><b>{bilingual("recommended_models", models=found["names"])}</b> {reason}</p>{facts}'


def table(report: Report, recommended: Sequence[str]) -> str:
    names = ("model", "score", "interval", "bits", "cpu", "seconds", "per_text", "training_mb", "answering_mb", "parameters", "megabytes", "share")
    rows = [f"<tr>{''.join(f'<th>{bilingual(name)}</th>' for name in names)}</tr>"]
    for row in report["rows"]:
        mark, remark = "chosen" * (row["model"] in recommended), "<br>".join(remarks(row))
        rows.append(table_row("".join(cells(row, len(names))), mark, "remarked" * bool(remark)))
        rows += [table_row(f'<td colspan="{len(names)}">{remark}</td>', mark, "remark")] if remark else []
    if baseline := report.get("baseline"):
        rows.append(baseline_row(baseline, len(names)))
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def table_row(content: str, *classes: str) -> str:
    return f'<tr class="{" ".join(filter(None, classes))}">{content}</tr>'


def baseline_row(baseline: ReportBaseline, columns: int) -> str:
    """What every model has to beat."""
    score = baseline["score"]
    figures = f"<td>{score['value']:.4f}</td><td>{score['low']:.4f} - {score['high']:.4f}</td>"
    return f'<tr class="baseline"><td>{bilingual("baseline_" + baseline["name"])}</td>{figures}<td colspan="{columns - 3}"></td></tr>'


def remarks(row: Row) -> list[str]:
    """What stands below the figures of a row."""
    found = [f"{bilingual('not_learnt')}: {language_spans(row['not_learnt'])}"] if "not_learnt" in row else []
    found += [language_spans(row["beside_words"])] if "beside_words" in row else []
    return found + ([bilingual("training_examples", count=row["training_examples"])] if "training_examples" in row else [])


def cells(row: Row, columns: int) -> Iterable[str]:
    yield f"<td>{escape(row['model'])}</td>"
    if "run" not in row:
        reason, sentence = ("not_tried", row["not_tried"]) if "not_tried" in row else ("failed", row["failed"])
        yield f'<td colspan="{columns - 1}">{bilingual(reason)}: {escape(sentence)}</td>'
        return
    score, bits = row.get("score"), row.get("bits_per_character")
    validation = f"{row['validation']['value']:.4f}<br><small>{bilingual('validation')}</small>" if "validation" in row else ""
    yield f"<td>{score['value']:.4f}</td><td>{score['low']:.4f} - {score['high']:.4f}</td>" if score else f"<td>{validation}</td><td></td>"
    yield f"<td>{bits['value']:.4f}</td>" if bits else "<td></td>"
    speed = f"{row['ms_per_text']:.2f}" if score else ""
    elsewhere = f"<br><small>{bilingual('elsewhere')}</small>" if row.get("is_adopted") else ""
    yield f"<td>{row['cpu_seconds']:.1f}{elsewhere}</td><td>{row['seconds']:.1f}</td><td>{speed}</td>"
    yield from (f"<td>{peak:.0f}</td>" if peak is not None else "<td></td>" for peak in (row.get("training_mb"), row.get("answering_mb")))
    yield f"<td>{language_spans(format_count(row['parameters']))}</td><td>{row['megabytes']:.1f}</td>"
    times = row.get("time")
    share = (times["updates"] + times["encoding"]) / max(times["used"], 1e-9) if times else 0.0
    yield f"<td>{times['given']:.0f} s, {times['used']:.0f} s ({share:.0%})</td>" if times else "<td></td>"


def pretraining_curves(rows: Sequence[Row], out: Path) -> tuple[list[SeriesPoint], list[SeriesLevel]]:
    """Curves of the models that predict text, on one axis, and the levels of those that count."""
    points: list[SeriesPoint] = []
    levels: list[SeriesLevel] = []
    for row in rows:
        if "bits_per_character" in row:
            own = learning_curve(out / row.get("pretrained_run", row["run"]), row["model"], "bits_per_character")
            points += own if len(own) > 1 else []
            levels += [] if len(own) > 1 else [{"series": row["model"], "value": row["bits_per_character"]["value"]}]
    return points, levels


def finetuning_curves(rows: Sequence[Row], out: Path) -> list[SeriesPoint]:
    """Curves of the models that learn from the labels by gradients."""
    found = (learning_curve(out / row.get("alone_run", row["run"]), row["model"], row["metric"]) for row in rows)
    return [point for own in found if len(own) > 1 for point in own]


def learning_curve(folder: Path, model: str, metric: str) -> list[SeriesPoint]:
    """What a run measured during its training."""
    lines = Run(folder).metrics() if folder.is_dir() else []
    lines = [line for line in lines if metric in line and "seconds" in line]
    unfinished = [line for line in lines if "trained_steps" not in line]  # the last one is of other weights, or of more text
    lines = unfinished if len(unfinished) > 1 else lines
    return [{"series": model, "minutes": line["seconds"] / 60, "value": line[metric]["value"]} for line in lines]


def disagreements(report: Report, scored: Sequence[Row]) -> str:
    """The examples for which the predictions differ, those with the most different predictions first."""
    pairs = [(example, [row["predictions"][number] for row in scored]) for number, example in enumerate(report["test"])]
    pairs = sorted((pair for pair in pairs if len(set(pair[1])) > 1), key=lambda pair: -len(set(pair[1])))[:SHOWN_DISAGREEMENTS]
    if not pairs:
        return f"<p>{bilingual('agree')}</p>"
    models = "".join(f"<th>{escape(row['model'])}</th>" for row in scored)
    rows = [f"<tr><th>{bilingual('text')}</th><th>{bilingual('gold')}</th>{models}</tr>"]
    for example, predictions in pairs:
        text, gold = escape(example["text"][:MAX_CHARACTERS]), escape(example["gold"][:MAX_CHARACTERS])
        wrong = [" class=wrong" if own != example["gold"] else "" for own in predictions]
        given = "".join(f"<td{mark}>{escape(own[:MAX_CHARACTERS])}</td>" for mark, own in zip(wrong, predictions, strict=True))
        rows.append(f"<tr><td>{text}</td><td>{gold}</td>{given}</tr>")
    return f'<div class="wide"><table class="words">{"".join(rows)}</table></div>'
