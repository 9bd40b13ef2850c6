"""report.html: one file that shows a climb, in English and Chinese, and needs nothing else: pictures are SVG, the switch of language is CSS."""

import json
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any

from stairs.climb.messages import MESSAGES, advice, describe_resolution, message
from stairs.files import write_atomically
from stairs.pictures.charts import render
from stairs.pictures.climb import curves, frontier, staircase
from stairs.training.run import Run

PADDING = {"left": 5, "top": 5, "right": 30, "bottom": 5}  # names of steps are wider in some fonts
SHOWN = 12  # examples on which the steps disagree
LONGEST = 200  # letters of one
STYLE = """
:root { color-scheme: light dark; --ink: #1b2a41; --paper: #ffffff; --faint: #667085; --line: #d0d5dd; --mark: #f7e3e1; --good: #e7f3ea }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --paper: #14181f; --faint: #9aa4b2; --line: #343b46; --mark: #4a2a28; --good: #22392a }
}
body { font: 16px/1.5 system-ui, "Noto Sans CJK SC", sans-serif; color: var(--ink); background: var(--paper) }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem } p { max-width: 48rem } .see { color: var(--faint) }
table { border-collapse: collapse; font-size: .92rem } th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line) }
th:first-child, td:first-child, .words td { text-align: left } tr.chosen { background: var(--good) } td.wrong { background: var(--mark) }
table:not(.words) td:nth-child(3) { white-space: nowrap }
figure { margin: 1rem 0; background: #ffffff; padding: .5rem; border-radius: .4rem; overflow-x: auto }
figure svg { max-width: 100%; height: auto } .wide { overflow-x: auto }
.box { border-left: 4px solid #2f6f4f; padding: .4rem 1rem } pre { overflow-x: auto; font-size: .8rem; color: var(--faint) }
input[name=language] { position: absolute; opacity: 0 } label { border: 1px solid var(--line); padding: .1rem .6rem; cursor: pointer }
input:focus-visible + label { outline: 2px solid #2f6f4f } [lang=zh] { display: none }
#chinese:checked ~ main [lang=zh] { display: revert } #chinese:checked ~ main [lang=en] { display: none }
#chinese:checked + label, #english:checked + label { background: var(--ink); color: var(--paper) }
"""


def write(report: dict[str, Any], out: Path) -> Path:
    """report.html beside the runs."""
    path = out / "report.html"
    write_atomically(path, page(report, out).encode())
    return path


def page(report: dict[str, Any], out: Path) -> str:
    scored = [row for row in report["rows"] if "score" in row]
    parts = [f"<h1>{both('title')}</h1>", summary(report)]
    if scored:
        chosen = (report["recommendation"] or {}).get("models", ())
        parts += [section("staircase", pictures(lambda words: staircase(scored, words(quality_of(scored)), chosen)), see=True)]
    parts += [section("table", table(report), see=True)]
    if scored:
        parts += [section("frontier", pictures(lambda words: frontier(scored, words(quality_of(scored)), words("axis_seconds"))), see=True)]
    points, levels = learnt(report["rows"], out)
    if points or levels:
        parts += [section("curves", pictures(lambda words: curves(points, levels, words("bits"), axis_title=words("axis_minutes"))), see=True)]
    teaching = taught(scored, out)
    if teaching:
        shown = pictures(lambda words: curves(teaching, (), words(quality_of(scored)), axis_title=words("axis_minutes")))
        parts += [section("taught", shown, see=True)]
    if scored:
        parts += [section("disagree", disagreements(report, scored), see=True)]
    told = {name: report[name] for name in ("settings", "budget", "used", "examples", "versions", "plans")}
    command = f"<pre><b>{escape(report['command'])}</b></pre>" if report["command"] else ""
    parts += [section("again", f"{command}<pre>{escape(json.dumps(told, indent=1, ensure_ascii=False))}</pre>", see=True)]
    return (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(MESSAGES['title'][0])}</title><style>{STYLE}</style></head><body>\n"
        '<input type="radio" name="language" id="english" checked><label for="english">English</label>\n'
        '<input type="radio" name="language" id="chinese"><label for="chinese">中文</label>\n'
        f"<main>\n{chr(10).join(parts)}\n</main></body></html>\n"
    )


def quality_of(rows: list[dict[str, Any]]) -> str:
    return rows[0]["metric"]


def both(name: str, **values: Any) -> str:
    return marked(message(name, **values))


def marked(texts: dict[str, str]) -> str:
    """A text in both languages; CSS shows one."""
    return "".join(f'<span lang="{language}">{escape(text)}</span>' for language, text in texts.items())


def section(name: str, inside: str, see: bool = False) -> str:
    said = f'<p class="see">{both(name + "_see")}</p>' if see else ""
    return f"<section><h2>{both(name)}</h2>{said}{inside}</section>"


def pictures(chart: Callable[[Callable[[str], str]], Any]) -> str:
    """One in each language; `chart` is given what finds its words."""
    words = [{name: texts[number] for name, texts in MESSAGES.items()} for number in (0, 1)]
    drawings = [render(chart(own.__getitem__).properties(padding=PADDING), ".svg").decode() for own in words]
    return "".join(f'<figure lang="{language}">{one}</figure>' for language, one in zip(("en", "zh"), drawings, strict=True))


def summary(report: dict[str, Any]) -> str:
    told, asked = report["recommendation"], report["settings"]["task"]
    data = f"<p class='see'>{both('data', **report['examples'], example_kind=asked)}</p>" if asked and report["examples"]["test"] else ""
    others = [row["model"] for row in report["rows"] if row.get("adopted")]
    if told is not None:
        data += f"<p class='see'>{marked(describe_resolution(told, report['examples']['test']))} {marked(told['rule'])}</p>"
    left_out = report.get("removed_text") or {}
    data += f"<p class='see'>{both('removed_text', **left_out)}</p>" if left_out.get("documents") else ""
    data += f"<p class='see'>{both('adopted', models=', '.join(others))}</p>" if others else ""
    if told is None:
        return f"<p>{marked(advice(told, asked))}</p>{data}"
    return f'<p class="box"><b>{both("recommended")}: {marked(told["names"])}.</b> {marked(advice(told, asked))}</p>{data}'


def table(report: dict[str, Any]) -> str:
    names = ("model", "score", "interval", "bits", "cpu", "seconds", "per_text", "training_mb", "answering_mb", "parameters", "megabytes", "share")
    chosen = (report["recommendation"] or {}).get("models", ())
    rows = [f"<tr>{''.join(f'<th>{both(name)}</th>' for name in names)}</tr>"]
    for row in report["rows"]:
        mark = ' class="chosen"' if row["model"] in chosen else ""
        rows.append(f"<tr{mark}>{''.join(cells(row, len(names)))}</tr>")
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def cells(row: dict[str, Any], count: int) -> Iterable[str]:
    unlearnt = f"<br><small>{both('unlearnt')}: {marked(row['not_learnt'])}</small>" if "not_learnt" in row else ""
    few = f"<br><small>{both('learnt_from', count=row['learnt_from'])}</small>" if "learnt_from" in row else ""
    yield f"<td>{escape(row['step'])}{unlearnt}{few}</td>"
    if "run" not in row:
        reason = next(name for name in ("not_tried", "failed") if name in row)
        yield f'<td colspan="{count - 1}">{both(reason)}: {escape(row[reason])}</td>'
        return
    score, bits = row.get("score"), row.get("bits_per_character")
    yield f"<td>{score['value']:.4f}</td><td>{score['low']:.4f} - {score['high']:.4f}</td>" if score else "<td></td><td></td>"
    yield f"<td>{bits['value']:.4f}</td>" if bits else "<td></td>"
    speed = f"{row['ms_per_text']:.2f}" if score else ""
    elsewhere = f"<br><small>{both('elsewhere')}</small>" if row.get("adopted") else ""
    yield f"<td>{row['cpu_seconds']:.1f}{elsewhere}</td><td>{row['seconds']:.1f}</td><td>{speed}</td>"
    yield from (f"<td>{row[name]:.0f}</td>" if row.get(name) is not None else "<td></td>" for name in ("training_mb", "answering_mb"))
    yield f"<td>{row['parameters']:,}</td><td>{row['megabytes']:.1f}</td>"
    told = row.get("time")
    share = (told["updates"] + told["encoding"]) / max(told["used"], 1e-9) if told else 0.0
    yield f"<td>{told['given']:.0f} s, {told['used']:.0f} s ({share:.0%})</td>" if told else "<td></td>"


def learnt(rows: list[dict[str, Any]], out: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Curves of the steps that predict text, on one axis, and the levels of those that count."""
    points: list[dict[str, Any]] = []
    levels: list[dict[str, Any]] = []
    for row in rows:
        if "bits_per_character" not in row:
            continue
        own = curve(out / row.get("read_by", row["run"]), row["model"], "bits_per_character")
        points += own if len(own) > 1 else []
        levels += [] if len(own) > 1 else [{"series": row["model"], "value": row["bits_per_character"]["value"]}]
    return points, levels


def taught(rows: list[dict[str, Any]], out: Path) -> list[dict[str, Any]]:
    """Curves of the steps that learn the labels by gradients."""
    found = (curve(out / row["run"], row["model"], row["metric"]) for row in rows)
    return [point for own in found if len(own) > 1 for point in own]


def curve(folder: Path, model: str, metric: str) -> list[dict[str, Any]]:
    """What a run measured on its way."""
    measured = Run(folder).metrics() if folder.is_dir() else []
    entries = [entry for entry in measured if metric in entry and "seconds" in entry]
    on_the_way = [entry for entry in entries if "trained_steps" not in entry]  # the last one is of other weights, or of more text
    entries = on_the_way if len(on_the_way) > 1 else entries
    return [{"series": model, "minutes": entry["seconds"] / 60, "value": entry[metric]["value"]} for entry in entries]


def disagreements(report: dict[str, Any], scored: list[dict[str, Any]]) -> str:
    """The examples of which not all say the same, those first on which the steps are most divided."""
    found = [(example, [row["said"][number] for row in scored]) for number, example in enumerate(report["test"])]
    divided = sorted((pair for pair in found if len(set(pair[1])) > 1), key=lambda pair: -len(set(pair[1])))[:SHOWN]
    if not divided:
        return f"<p>{both('agree')}</p>"
    models = "".join(f"<th>{escape(row['step'])}</th>" for row in scored)
    head = f"<tr><th>{both('text')}</th><th>{both('right')}</th>{models}</tr>"
    rows = []
    for example, answers in divided:
        said = "".join(f"<td{'' if answer == example['right'] else ' class=wrong'}>{escape(answer[:LONGEST])}</td>" for answer in answers)
        rows.append(f"<tr><td>{escape(example['text'][:LONGEST])}</td><td>{escape(example['right'][:LONGEST])}</td>{said}</tr>")
    return f'<div class="wide"><table class="words">{head}{"".join(rows)}</table></div>'
