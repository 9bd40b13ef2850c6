"""Labelled data of every task and format: `read_examples(path, task)` gives the examples, each with its file and line, and `read_splits` those to
train on, to validate with and to test on.

classify   CSV, TSV, JSONL, parquet with a text and a label; fastText lines
multilabel the same with any number of labels
regress    the same with a number to predict
compare    the same with two texts and a label or a score
tag        CoNLL columns in BIO, IOB1 or BIOES; CoNLL-U
span       SQuAD 1.1 and 2.0
choose     CSV, TSV, JSONL, parquet with a context, its choices and the right one
sense      token, lemma, part of speech and sense of each word
translate  two aligned files, or a table with two columns
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from stairs import progress
from stairs.errors import BadInput, preview
from stairs.text.examples import Example, LabelledData, Splits
from stairs.text.input_files import printable
from stairs.text.labelled.choices import read_choices
from stairs.text.labelled.column_names import ROLES, Columns
from stairs.text.labelled.conll import read_tags
from stairs.text.labelled.label_lines import begins_with_labels, is_fasttext
from stairs.text.labelled.notes import DataNotes, unseen_labels
from stairs.text.labelled.parallel_text import read_parallel, translation_sibling
from stairs.text.labelled.split import count_overlap, find_groups, split
from stairs.text.labelled.spool import spool_examples
from stairs.text.labelled.squad import SquadFile
from stairs.text.labelled.table_examples import read_pairs, read_texts, read_translations
from stairs.text.labelled.tag_schemes import ConvertedTags, TagScheme
from stairs.text.labelled.task_guess import guess_task
from stairs.text.labelled.text_targets import guess_target, read_label_sets, read_numbers
from stairs.text.labelled.unlearnable import refuse_unlearnable
from stairs.text.labelled.word_senses import read_senses

__all__ = ["LabelledData", "group_numbers", "guess_task", "read_examples", "read_splits", "unseen_labels"]

Paths = str | Path | Sequence[str | Path]
HELD_OUT_SHARE = 0.1  # of the examples, for each split that no file is given for


def read_splits(
    path: str, task: str | None, check_task: Callable[[str], None], held_out: Mapping[str, str | None], seed: int, *, limit: int | None = None,
    columns: Columns = None, encoding: str | None = None, group: str | None = None, trees: bool = False,
) -> tuple[str, Splits]:  # fmt: skip
    """What the labels are for, given or guessed, and training, validation and test examples; the same ones for the same seed.

    `held_out` has the files of the "dev" and "test" examples, or None for those that are to be split off; `check_task` refuses a task.
    """
    read = partial(read_examples, columns=columns, encoding=encoding, trees=trees)
    labelled = read(path, task, group=group)
    check_task(labelled.task)
    refuse_unlearnable(labelled.task, labelled.examples, labelled.source)
    files = {name: own for name, own in held_out.items() if own}
    found = {name: list(read(own, labelled.task).examples) for name, own in files.items()}
    found["train"] = list(labelled.examples)
    count, missing = len(found["train"]), [name for name in held_out if name not in files]
    train = count - len(missing) * max(count * HELD_OUT_SHARE, 1)
    smaller = 1.0 if limit is None else min(limit / max(train, 1), 1.0)
    sizes = {"train": train * smaller, **{name: max(count * HELD_OUT_SHARE * smaller, 1) for name in missing}}
    if missing or smaller < 1:
        advice = f"give more, or {' and '.join(f'--{name} FILE' for name in missing)}" if missing else "give more"
        found |= split(found["train"], sizes, seed, source=printable(path), column=group, advice=advice)
    for name, own in files.items():
        if overlap := count_overlap(found["train"], found[name]):
            also = f"{overlap} of the {len(found[name])} examples of {own} are in {path} as well"
            progress.say(f"{also}, but for case and spaces, so the score on them is too high; remove them from one of the two")
    return labelled.task, Splits(found["train"], found["dev"], found["test"])


def group_numbers(examples: Sequence[Example]) -> list[int]:
    """The number of the group of each example; examples of a group are never split."""
    numbers = [0] * len(examples)
    for number, members in enumerate(find_groups(examples)):
        for index in members:
            numbers[index] = number
    return numbers


def read_examples(
    path: Paths, task: str | None = None, *, columns: Columns = None, encoding: str | None = None, group: str | None = None, trees: bool = False
) -> LabelledData:
    """All examples of a file, checked; the task is guessed if it is not given.

    `columns` names the columns by role ('text=review,label=stars') where a guess would be wrong; `group` is the column, by name or number, that says
    which examples belong together. With `trees`, tagged sentences have their dependency trees.
    """
    reason = ""
    if task is None:
        task = guess_task(path, encoding, columns)
        if task == "classify":
            task, reason = guess_target(path if isinstance(path, str | Path) else path[0], encoding, columns, group)
    if task not in ROLES:
        raise BadInput(f"no task {preview(task)}; choose classify, multilabel, regress, compare, tag, span, choose, sense or translate")
    paths = [path] if isinstance(path, str | Path) else list(path)
    if task == "translate" and len(paths) == 1 and (other := translation_sibling(paths[0])):
        paths.append(other)
    if len(paths) != 1 and not (task == "translate" and len(paths) == 2):
        advice = "one, or two whose lines translate one another" if task == "translate" else "one"
        raise BadInput(f"{len(paths)} files for {task}; give {advice}")
    notes, source = DataNotes(), " and ".join(map(printable, paths))
    description, examples = read_by_task(paths, task, columns, encoding, notes, group, trees)
    if not examples and notes.unlabelled:
        raise BadInput(f"{source}: none of the {notes.unlabelled:,} rows with a text has a label; label some, or name another column with --label")
    if not examples:
        raise BadInput(f"no examples in {source}; a header alone is not enough")
    labelled = LabelledData(task, examples, description, source, (*([reason] if reason else []), *notes.sentences()))
    for sentence in (f"{source}: {len(examples):,} examples; {description}", *labelled.notes):
        progress.say(sentence)
    return labelled


def read_by_task(
    paths: list[str | Path], task: str, columns: Columns, encoding: str | None, notes: DataNotes, group: str | None, trees: bool
) -> tuple[str, Sequence[Example]]:
    """How the files were read, in words, and their examples."""
    path = paths[0]
    if group is not None and (len(paths) == 2 or (reason := why_no_group_column(path, task, encoding))):
        reason = "two files of lines have none" if len(paths) == 2 else reason
        raise BadInput(f"{printable(path)}: --group {group} names a column, and {reason}; leave --group out, or give a table")
    if len(paths) == 2:
        return "a source line and its translation on the same line of two files", spool_examples(read_parallel(path, paths[1], encoding, notes))
    if task == "tag":
        scheme = TagScheme(printable(path))
        description, sentences = read_tags(path, encoding, columns, notes, scheme, trees)
        tagged = spool_examples(sentences)
        conversion = scheme.conversion(notes)
        return description, ConvertedTags(tagged, conversion) if conversion else tagged
    if task == "sense":
        return "token, lemma, part of speech and sense of each word", spool_examples(read_senses(path, encoding))
    if task == "span":
        return "SQuAD: data, paragraphs, context, qas", spool_examples(SquadFile(path, encoding, notes).questions())
    readers: dict[str, Callable[..., tuple[str, Iterable[Example]]]]
    readers = {"classify": read_texts, "multilabel": read_label_sets, "regress": read_numbers}
    readers |= {"compare": read_pairs, "choose": read_choices, "translate": read_translations}
    description, rows = readers[task](path, encoding, columns, notes, group)
    return description, spool_examples(rows)


def why_no_group_column(path: str | Path, task: str, encoding: str | None) -> str:
    """Why a file has no column of groups; empty if it may have one."""
    if task == "tag":
        return "tagged words have no column of groups: -DOCSTART- and # newdoc begin their documents"
    if task == "span":
        return "questions have no columns: those of one passage stay together anyway"
    if task == "sense":
        return "words with senses have no column of groups"
    is_lines = task in ("classify", "multilabel") and (is_fasttext(path, encoding) or begins_with_labels(path, encoding))
    return "lines that begin with their label have no columns" if is_lines else ""
