"""stairs train MODEL CORPUS: from a text file to a model that can be asked."""

from typing import Any

from stairs.commands.flags import print_plan, show
from stairs.commands.train_flags import parse_training

ABOUT = """Train a model on text. The corpus is txt, jsonl, csv, tsv or parquet, plain or compressed as gz, xz or zst, a folder of those, or - for
stdin; `python` is the prose of the Python installation itself. Models that translate learn from --pairs instead. Models: {models}."""


def main(arguments: list[str]) -> int:
    job, as_json, dry_run = parse_training(arguments, "train", ABOUT)
    if dry_run:
        from stairs.plan_job import plan_training

        print_plan(plan_training(job), as_json)
        return 0
    folder, task, metrics = job.train()
    if as_json and metrics:
        show({"run": str(folder), **metrics})
    elif metrics:
        print(f"{folder}: {summary(metrics, task.monitor)}")
    return 0


def summary(metrics: dict[str, Any], monitor: str) -> str:
    """The measurements on the test split, for a person."""
    found = metrics[monitor]
    more = f", perplexity {metrics['perplexity']['value']:.2f}" if "perplexity" in metrics else ""
    more += f", backwards {metrics['backward_perplexity']['value']:.2f}" if "backward_perplexity" in metrics else ""
    more += f", BLEU {metrics['bleu']['value']:.2f}, {metrics['exact_match']['value']:.1%} exact match" if "bleu" in metrics else ""
    return f"{found['value']:.4f} {monitor.replace('_', ' ')} on test text ({found['low']:.4f} to {found['high']:.4f}){more}"
