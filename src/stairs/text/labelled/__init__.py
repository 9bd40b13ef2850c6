"""Labelled data of every task and format as one thing: `prefill(path, task)` gives the examples, each with its file and line.

classify   CSV, TSV, JSONL, parquet with a text and a label; fastText lines
compare    the same with two texts and a label or a score
tag        CoNLL columns in BIO, IOB1 or BIOES; CoNLL-U
span       SQuAD 1.1 and 2.0
sense      token, lemma, part of speech and sense of each word
translate  two aligned files, or a table with two columns
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stairs import progress
from stairs.errors import BadInput, preview
from stairs.text.examples import Example, LabelledData, LabelledText, Question, TaggedSentence, TextPair, TranslationPair
from stairs.text.input_files import printable
from stairs.text.labelled.column_names import ROLES, Columns
from stairs.text.labelled.conll import read_tags
from stairs.text.labelled.label_lines import begins_with_labels, is_fasttext
from stairs.text.labelled.notes import DataNotes, unseen_labels
from stairs.text.labelled.parallel_text import read_parallel, translation_sibling
from stairs.text.labelled.spool import spool_examples
from stairs.text.labelled.squad import read_spans
from stairs.text.labelled.table_examples import read_pairs, read_texts, read_translations
from stairs.text.labelled.tag_schemes import ConvertedTags, TagScheme
from stairs.text.labelled.task_guess import guess_task
from stairs.text.labelled.word_senses import read_senses

__all__ = ["Example", "LabelledData", "LabelledText", "Question", "TaggedSentence", "TextPair", "TranslationPair", "guess_task", "read_examples",
    "unseen_labels"]

Paths = str | Path | Sequence[str | Path]


def read_examples(path: Paths, task: str, *, columns: Columns = None, encoding: str | None = None, group: str | None = None) -> LabelledData:
    """All examples of a file, checked; `columns` names them by role ('text=review,label=stars') where guessing would not do.

    `group` is the column, by name or number, that says which examples belong together.
    """
    if task not in ROLES:
        raise BadInput(f"no task {preview(task)}; choose classify, compare, tag, span, sense or translate")
    paths = [path] if isinstance(path, str | Path) else list(path)
    if task == "translate" and len(paths) == 1 and (other := translation_sibling(paths[0])):
        paths.append(other)
    if len(paths) != 1 and not (task == "translate" and len(paths) == 2):
        fits = "one, or two whose lines translate one another" if task == "translate" else "one"
        raise BadInput(f"{len(paths)} files for {task}; give {fits}")
    notes, source = DataNotes(), " and ".join(map(printable, paths))
    described, examples = read_by_task(paths, task, columns, encoding, notes, group)
    if not examples:
        raise BadInput(f"no examples in {source}; a header alone is not enough to learn from")
    labelled = LabelledData(task, examples, described, source, notes.sentences())
    for sentence in (f"{source}: {len(examples):,} examples; {described}", *labelled.notes):
        progress.say(sentence)
    return labelled


def read_by_task(paths: list, task: str, columns: Columns, encoding: str | None, notes: DataNotes, group: str | None) -> tuple[str,
    Sequence[Example]]:
    """How the files were read, in words, and what was in them."""
    path = paths[0]
    if group is not None and (len(paths) == 2 or (reason := why_no_group_column(path, task, encoding))):
        reason = "two files of lines" if len(paths) == 2 else reason
        raise BadInput(f"{printable(path)}: --group {group} names a column, and {reason}; leave --group out, or give a table")
    if len(paths) == 2:
        return "a source line and its translation on the same line of two files", spool_examples(read_parallel(path, paths[1], encoding, notes))
    if task == "tag":
        scheme = TagScheme(printable(path))
        described, found = read_tags(path, encoding, columns, notes, scheme)
        examples = spool_examples(found)
        conversion = scheme.conversion(notes)
        return described, ConvertedTags(examples, conversion) if conversion else examples
    if task == "sense":
        described, sensed = read_senses(path, encoding)
        return described, spool_examples(sensed)
    if task == "span":
        described, spans = read_spans(path, encoding, notes)
        return described, spool_examples(spans)
    reader: Any = {"classify": read_texts, "compare": read_pairs, "translate": read_translations}[task]
    described, rows = reader(path, encoding, columns, notes, group)
    return described, spool_examples(rows)


def why_no_group_column(path: Any, task: str, encoding: str | None) -> str:
    """Why a file has no column of groups; nothing if it may have one."""
    if task == "tag":
        return "tagged words have none of groups: their documents are told by -DOCSTART- and # newdoc"
    if task == "span":
        return "questions have none: those of one passage stay together anyway"
    if task == "sense":
        return "words with senses have none of groups"
    is_lines = task == "classify" and (is_fasttext(path, encoding) or begins_with_labels(path, encoding))
    return "lines that begin with their label have none" if is_lines else ""
