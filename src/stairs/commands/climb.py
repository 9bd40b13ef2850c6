"""stairs climb [CORPUS]: which step is worth it for this text and these labels?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from stairs.commands.options import Common, Cutting, Reading, check_seed, corpus_from, parse, refuse_inside, show, spec_from
from stairs.errors import BadInput, Unsupported
from stairs.training.folder import LOCK, RUN, check_writable, passing
from stairs.training.options import seconds

ABOUT = """Train the steps on the same text and labels within a budget, judge them on the same held-out data, and say which is the cheapest that
is good enough. Without a corpus it climbs on the prose of the Python installation itself, with the package a text documents as its
label. Nothing is downloaded."""
REPORT = "report.json"


@dataclass(frozen=True)
class Climb(Cutting, Reading, Common):
    corpus: Positional[tuple[str, ...]] = ()  # files or folders of text
    labels: str | None = None  # labelled examples: csv, tsv, jsonl, parquet
    task: str | None = None  # what the labels are for; found out if not given
    budget: str = "10m"  # time for all steps, such as 90s, 10m or 2h
    steps: str | None = None  # only these, separated by commas
    order: int = 3  # of the n-grams
    out: str | None = None  # folder of the report and the runs; runs/climb-CORPUS if not given
    seed: int = 0  # of everything random


def main(arguments: list[str]) -> int:
    options = parse(Climb, arguments, "climb", ABOUT)
    check_seed(options.seed)
    budget = seconds(options.budget)
    name = Path(options.corpus[0]).name.split(".")[0] if options.corpus else "python"
    out = Path(options.out) if options.out else Path("runs") / f"climb-{name}"
    check(out, options)
    labelled = examples(options)
    from stairs.text.samples import PythonProse
    from stairs.text.shards import build

    corpus = corpus_from(options.corpus, options) if options.corpus else PythonProse()
    from stairs.climb.ladder import climb

    steps = [step.strip() for step in options.steps.split(",")] if options.steps else None

    def shards_for(step: str) -> Any:
        return build(corpus, spec_from(options, step))

    report = climb(shards_for, labelled, out, budget=budget, steps=steps, order=options.order, seed=options.seed)
    if options.json:
        show(report)
    else:
        print(table(report))
        print(f"\nreport: {out / REPORT}")
    return 0


def check(out: Path, options: Climb) -> None:
    """What can be refused before anything is read."""
    refuse_inside(out, options.corpus)
    check_writable(out)
    inside = [path for path in out.iterdir() if not passing(path.name)] if out.is_dir() else []
    if inside and not any(path.name == REPORT or (path / RUN).exists() or (path / LOCK).exists() for path in inside):
        raise BadInput(f"{out} exists and is not the folder of a climb; choose another one with --out")
    from stairs.models.configs import NGramConfig

    NGramConfig(vocab_size=0, order=options.order)  # refuses an order it cannot have


def examples(options: Climb) -> list[Any] | None:
    """The labelled texts, or the embedded ones if there is no corpus either."""
    if options.labels is None:
        from stairs.text.samples import packages

        return None if options.corpus else packages()
    from stairs.text.labelled import guess_task, read

    task = options.task or guess_task(options.labels)
    if task != "classify":
        raise Unsupported(
            f"{options.labels} holds examples for {task}; climb judges classify so far: give a file with a text and a label per row"
        )
    return list(read(options.labels, task, encoding=options.encoding).examples)


def table(report: dict[str, Any]) -> str:
    """The report as lines for a terminal."""
    lines = [f"{'step':8} {'asks':11} {'bits/char':>10} {'accuracy':>24} {'macro-F1':>9} {'train s':>8} {'ms/text':>8} {'MB':>8}"]
    for row in report["rows"]:
        start = f"{row['step']:8} {row['asks']:11}"
        if "not_tried" in row or "failed" in row:
            lines.append(f"{start} {'not tried: ' + row['not_tried'] if 'not_tried' in row else 'failed: ' + row['failed']}")
            continue
        bits = f"{row['bits_per_character']['value']:.4f}" if "bits_per_character" in row else ""
        accuracy, f1, speed = "", "", ""
        if "accuracy" in row:
            score = row["accuracy"]
            accuracy = f"{score['value']:.4f} ({score['low']:.4f}-{score['high']:.4f})"
            f1, speed = f"{row['macro_f1']['value']:.4f}", f"{row['ms_per_text']:.3f}"
        lines.append(f"{start} {bits:>10} {accuracy:>24} {f1:>9} {row['seconds']:>8.2f} {speed:>8} {row['megabytes']:>8.1f}")
    if report["recommendation"]:
        lines += ["", f"Recommended: {report['recommendation']['step']}. {report['recommendation']['why']}."]
    return "\n".join(lines)
