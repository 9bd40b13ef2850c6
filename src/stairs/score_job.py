"""What `stairs score` is asked for: a run evaluated on a file, by whatever the file holds."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stairs.errors import BadInput
from stairs.text.input_options import CorpusOptions
from stairs.tune_job import TABLES

if TYPE_CHECKING:
    from stairs.tasks import Task
    from stairs.tasks.measurements import Measurements
    from stairs.tasks.parts.similarity_columns import Similarities
    from stairs.tasks.word_benchmarks import Analogies
    from stairs.text.labelled.column_names import Columns

MAX_BENCHMARK_BYTES = 1 << 26  # of a file of analogies or word similarities


def score_file(
    task: "Task", file: str, second: Sequence[str] = (), *, columns: "Columns" = None, beam_size: int | None = None, reading: CorpusOptions
) -> "Measurements":
    """The metrics of a task on text, labelled examples, pairs of sentences, analogies or word similarities."""
    from stairs.tasks import Translate, WordVectors

    if not task.translates and (second or beam_size is not None):
        raise BadInput("this run does not translate, so it takes one file and no --beam-size")
    if isinstance(task, Translate):
        from stairs.text.labelled.translation_splits import read_translations

        pairs = read_translations((file, *second), columns, reading.encoding)
        return task.evaluate_examples(pairs) if beam_size is None else task.evaluate_examples(pairs, beam_size)
    if isinstance(task, WordVectors) and (benchmark := read_benchmark(file, word_columns(columns), reading.encoding)) is not None:
        from stairs.tasks.word_benchmarks import evaluate_benchmark

        return evaluate_benchmark(task, benchmark)
    from stairs.text.labelled import read_examples

    if task.example_kind:
        labelled = read_examples(file, task.example_kind, columns=columns, encoding=reading.encoding, trees=task.needs_trees)
        return task.evaluate_examples(labelled.examples)
    if not task.monitor or is_scored_pairs(file, columns, reading.encoding):
        from stairs.tasks import Similar

        return Similar(task).evaluate_examples(read_examples(file, "compare", columns=columns, encoding=reading.encoding).examples)
    from stairs.text.corpus.corpus import open_corpus

    return task.evaluate_texts(open_corpus([file], reading).documents())


def word_columns(columns: "Columns") -> "Columns":
    """Those of a file of word similarities; the column of a text says that it is none."""
    return None if columns is not None and set(columns) == {"text"} else columns


def is_scored_pairs(file: str, columns: "Columns", encoding: str | None) -> bool:
    """Whether the file is a table of pairs of texts with a score."""
    if os.path.splitext(file)[1].lower() not in TABLES:
        return False
    from stairs.text.labelled import guess_task

    try:
        return guess_task(file, encoding, columns) == "compare"
    except BadInput:
        return False


def read_benchmark(file: str, columns: "Columns", encoding: str | None) -> "Analogies | Similarities | None":
    """Analogies or word similarities; None if the file holds something else."""
    if file == "-" or not os.path.isfile(file) or os.path.getsize(file) > MAX_BENCHMARK_BYTES:
        return None
    from stairs.tasks import word_benchmarks
    from stairs.text.input_files import decode_stream
    from stairs.text.input_lines import open_regular_file

    with open_regular_file(file, "give a text file") as raw:
        return word_benchmarks.read_benchmark("".join(decode_stream(raw, encoding, file)).split("\n"), file, columns)
