"""What a climb is given: labelled examples, text, or one file that may be either.

    stairs climb reviews.csv                        a table with a column of labels: its rows are the examples, and the texts to train on the corpus
    stairs climb reviews.csv --corpus notes.txt     the same with other text to pretrain on
    stairs climb notes.txt --labels reviews.csv     text and labels apart
    stairs climb notes.txt                          text alone: also a table without a column of labels, and several files
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stairs.errors import BadInput
from stairs.progress import say
from stairs.text.comparison_data import NUMBER_NAMES, embedded_examples, read_labels
from stairs.text.examples import Example
from stairs.text.input_options import EMBEDDED, CorpusOptions

if TYPE_CHECKING:
    from stairs.text.labelled.column_names import Columns


class ClimbInputs(NamedTuple):
    """The files, told apart."""

    name: str  # of the data, for the folder of the climb
    corpus: tuple[str, ...]  # files of text
    labels: str | None  # the file of the labelled examples
    example_kind: str = "classify"  # what the labels are for
    examples: Sequence[Example] = ()
    text: str | None = None  # the column of the corpus that holds the text, if the user named one


def read_inputs(
    files: Sequence[str], corpus: Sequence[str], labels: str | None, known: Collection[str], *, task: str | None, columns: "Columns",
    group: str | None, reading: CorpusOptions,
) -> ClimbInputs:  # fmt: skip
    """The labelled examples and the files of text; `known` are the tasks that can be climbed. Without anything, the embedded examples."""
    from stairs.text.corpus.text_column import choose_text_column
    from stairs.text.labelled.column_choice import NoLabels
    from stairs.text.labelled.labels_inside import are_labels_inside
    from stairs.text.labelled.unlearnable import refuse_unlearnable

    def read(path: str) -> tuple[str, list[Example]]:
        kind, examples = read_labels(path, task, known, columns=columns, encoding=reading.encoding, group=group)
        refuse_unlearnable(kind, examples, path, ", or give the file with --corpus if it is text alone")
        return kind, examples

    asked = named_flag(task, columns, group)
    if labels is None and len(files) == 1 and (asked or are_labels_inside(files[0], reading.encoding)):
        try:
            return ClimbInputs(short_name(files[0]), tuple(corpus), files[0], *read(files[0]))
        except NoLabels as error:
            if asked:
                raise
            choose_text_column(error.table.columns, reading.text, f"{error.table.name}:{error.table.line}")  # or it is not even text
            say(f"{files[0]}: no column of labels, so it is text to pretrain on, and models are compared by bits per character; labels: --label NAME")
    text = (*files, *corpus)
    if labels is not None:
        return ClimbInputs(short_name((*files, labels)[0]), text, labels, *read(labels), text=reading.text)
    if asked and (text or asked not in (f"--task {task}",)):
        raise BadInput(f"{asked} is about labels; give a file with labels by itself, or with --labels")
    if text:
        return ClimbInputs(short_name(text[0]), text, None, text=reading.text)
    kind = task or "classify"
    return ClimbInputs(NUMBER_NAMES if kind == "translate" else EMBEDDED[0], (), None, kind, embedded_examples(kind))


def named_flag(task: str | None, columns: "Columns", group: str | None) -> str:
    """A flag that only labelled examples have; "" if none is given."""
    named = columns if isinstance(columns, dict) else {}
    flags = [f"--{name.replace('_', '-')} {column}" for name, column in named.items() if name != "text"]
    return (flags + ([f"--group {group}"] if group is not None else []) + ([f"--task {task}"] if task else []) + [""])[0]


def short_name(path: str) -> str:
    return (Path(path).name or Path(path).resolve().name).split(".")[0]
