"""stairs plan MODEL CORPUS: what a training would take, from a short probe of the corpus itself."""

from stairs.commands.flags import print_plan
from stairs.commands.train_flags import parse_training

ABOUT = """The minutes, memory and disk that `stairs train` with the same arguments would take. A small part of the corpus is tokenized and trained
on, and what grows with the text is extrapolated. Models: {models}."""


def main(arguments: list[str]) -> int:
    job, as_json, _ = parse_training(arguments, "plan", ABOUT)
    return print_plan(job, as_json)
