"""stairs score RUN FILE: how good is it on this file?"""

import os
from dataclasses import dataclass
from typing import Any

from tyro.conf import Positional

from stairs.commands.flags import TABLES, Common, Guessing, Reading, open_corpus, opened, parse, show
from stairs.errors import BadInput

ABOUT = """Judge a run on a file: bits per character and perplexity of a text, the loss and accuracy of a bert on words left out of it, BLEU
of translations, or what a task that was learnt is worth on a labelled file (accuracy and macro-F1, F1 of spans, exact match and F1 of answers,
correlation), each with a 95 % interval. Word vectors are judged on analogies (accuracy by section), on word similarities (Spearman's correlation), or
on text (their loss). A table of pairs of texts with scores tells how well cosines follow the scores."""

LARGEST = 1 << 26  # bytes of a file of questions


@dataclass(frozen=True)
class Score(Guessing, Reading, Common):
    run: Positional[str]  # a run folder
    file: Positional[str]  # text, labelled examples, analogies or word similarities; - for stdin
    second: Positional[tuple[str, ...]] = ()  # of pairs in two files, the other one
    beam_size: int | None = None  # of runs that translate: how many beginnings are followed at once; 4 if not given
    columns: str | None = None  # which are meant, by name or number: text=review,label=stars; of word similarities first=1,second=2,score=mean


def main(arguments: list[str]) -> int:
    options = parse(Score, arguments, "score", ABOUT)
    from stairs.training.run import load

    task: Any = load(options.run)
    if task.example_kind != "translate" and (options.second or options.beam_size is not None):
        raise BadInput(f"{options.run} does not translate, so it takes one file and no --beam-size")
    asked = questions(options) if task.name == "word-vectors" else None
    if asked is not None:
        from stairs.tasks.word_benchmarks import evaluate_benchmark

        measured = evaluate_benchmark(task, asked)
    elif task.example_kind == "translate":
        from stairs.commands.pairs import read_pairs

        how = {} if options.beam_size is None else {"beam_size": options.beam_size}
        measured = task.evaluate(read_pairs((options.file, *options.second), options.columns, options.encoding), **how)
    elif task.example_kind:
        from stairs.text.labelled import read_examples

        measured = task.evaluate(read_examples(options.file, task.example_kind, columns=options.columns, encoding=options.encoding).examples)
    elif task.name == "encode" or is_pairs(options):
        from stairs.tasks import Similar
        from stairs.text.labelled import read_examples

        measured = Similar(task).evaluate(read_examples(options.file, "compare", columns=options.columns, encoding=options.encoding).examples)
    else:
        measured = task.evaluate_texts(open_corpus([options.file], options).documents())
    if options.json:
        show(measured)
        return 0
    sections = measured.pop("sections", {})
    width = max(map(len, sections), default=0)
    for name, part in sections.items():
        print(row(f"{name:{width}}", part["accuracy"], f"{part['covered']} of {part['total']} covered"))
    for name, value in measured.items():
        print(row(f"{name.replace('_', ' '):{width}}", value))
    return 0


def is_pairs(options: Score) -> bool:
    """Whether the file is a table of pairs of texts with a score."""
    if os.path.splitext(options.file)[1].lower() not in TABLES:
        return False
    from stairs.text.labelled import guess_task

    try:
        return guess_task(options.file, options.encoding, options.columns) == "compare"
    except BadInput:
        return False


def row(name: str, value: Any, also: str = "") -> str:
    if isinstance(value, dict) and "value" in value:
        value = f"{value['value']:.4f}   ({value['low']:.4f} to {value['high']:.4f})"
    return f"{name:20} {'-' if value is None else value}   {also}".rstrip()


def questions(options: Score) -> Any:
    """Analogies or word similarities, if the file holds such."""
    if options.file == "-" or not os.path.isfile(options.file):
        return None
    from stairs.tasks.word_benchmarks import read_benchmark
    from stairs.text.encoding import decode_stream

    with opened(options.file, "give a text file") as file:
        if os.path.getsize(options.file) > LARGEST:
            return None
        return read_benchmark("".join(decode_stream(file, options.encoding, options.file)).split("\n"), options.file, options.columns)
