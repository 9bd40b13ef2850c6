"""stairs train MODEL CORPUS: from a text file to a model that can be asked."""

from stairs.commands.flags import print_plan, print_result
from stairs.commands.train_flags import parse_training

ABOUT = """Train a model on text. The corpus is txt, jsonl, csv, tsv or parquet, plain or compressed as gz, xz or zst, a folder of those, or - for
stdin; `python` is the prose of the Python installation itself. Models that translate learn from --pairs instead. Models: {models}."""


def main(arguments: list[str]) -> int:
    job, as_json, dry_run = parse_training(arguments, "train", ABOUT)
    if dry_run:
        return print_plan(job, as_json)
    trained = job.train()
    print_result({"run": str(trained.folder), **trained.metrics}, trained.summary, as_json)
    return 0
