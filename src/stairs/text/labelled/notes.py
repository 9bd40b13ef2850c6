"""What the user should check in labelled data that can be read: collected while reading, reported once at the end."""

import os
import re
import shlex
from collections import Counter

from stairs.errors import preview
from stairs.text.examples import Example, LabelledData, MultiLabelText, TaggedSentence
from stairs.text.labelled.column_names import list_columns
from stairs.text.labelled.column_profile import is_missing

MISSING_VALUES = {"nan", "na", "n/a", "null", "none", "?", "-"}
IDENTIFIER = re.compile(r"(?=.*\d)[\w.:/\-]{1,64}", re.ASCII)
ID_SAMPLE = 1000  # texts that tell a column of ids


class DataNotes:
    """Counts over the rows; `sentences()` reports them."""

    def __init__(self) -> None:
        self.labels: Counter[str] = Counter()
        self.remarks: list[str] = []
        self.blank, self.first_blank_location = 0, ""
        self.unlabelled, self.first_unlabelled, self.file = 0, "", ""
        self.texts: set[str] = set()
        self.looks_like_text = False

    def label(self, label: str) -> None:
        self.labels[label] += 1

    def text(self, text: str) -> None:
        """Ids are short, without spaces and all different; a single text that is not proves that the column is no column of ids."""
        if self.looks_like_text or len(self.texts) >= ID_SAMPLE:
            return
        self.looks_like_text = not IDENTIFIER.fullmatch(text) or text in self.texts
        self.texts.add(text)

    def is_blank(self, name: str, line: int, *texts: str) -> bool:
        """Whether a text is only white space; such an example is skipped."""
        if all(text.strip() for text in texts):
            return False
        self.blank += 1
        self.first_blank_location = self.first_blank_location or f"{name}:{line}"
        return True

    def is_unlabelled(self, name: str, line: int, value: object) -> bool:
        """Whether the cell of the label is empty; such a row is left out of training and of scores."""
        if not is_missing(value):
            return False
        self.unlabelled += 1
        self.first_unlabelled, self.file = self.first_unlabelled or f"{name}:{line}", name
        return True

    def add_remark(self, sentence: str) -> None:
        self.remarks.append(sentence)

    def sentences(self) -> tuple[str, ...]:
        remarks = list(self.remarks)
        if self.blank:
            remarks.append(f"{count_rows(self.blank)} no text and {leave_out(self.blank)}, the first at {self.first_blank_location}")
        if self.unlabelled:
            predict = f"stairs ask RUN --file {shlex.quote(self.file)} --out predictions.csv" if os.path.exists(self.file) else "predict(texts)"
            where = f"the first at {self.first_unlabelled}"
            remarks.append(f"{count_rows(self.unlabelled)} no label and {leave_out(self.unlabelled)}, {where}; predict them with: {predict}")
        if len(self.texts) > 1 and not self.looks_like_text:
            remarks.append(f"the texts look like ids ({preview(min(self.texts))}); is another column the text?")
        return tuple(remarks + self.label_notes())

    def label_notes(self) -> list[str]:
        remarks, total = [], sum(self.labels.values())
        if len(self.labels) == 1:
            remarks.append(f"all {total} examples have the label {preview(next(iter(self.labels)))}: there is nothing to classify")
        elif total >= 20 and len(self.labels) > total / 2:
            remarks.append(f"{len(self.labels)} labels for {total} examples; is another column the label?")
        for label in sorted(self.labels):
            if label.casefold() in MISSING_VALUES:
                remarks.append(f"{self.labels[label]} examples have the label {preview(label)}, which looks like a missing value")
            integer = re.sub(r"\.0+$", "", label)
            if integer != label and integer in self.labels:
                counts = f"{integer!r} ({self.labels[integer]}) and {label!r} ({self.labels[label]})"
                remarks.append(f"the labels {counts} are taken as two; write them the same way if they are one")
        return remarks[:10]


def count_rows(count: int) -> str:
    return f"{count:,} row{' has' if count == 1 else 's have'}"


def leave_out(count: int) -> str:
    return f"{'is' if count == 1 else 'are'} left out"


def unseen_labels(train: LabelledData, test: LabelledData) -> str | None:
    """A sentence about labels, or tags, of the test data that the training data does not have; None if there are none."""
    known: set[str] = set().union(*map(labels_of, train.examples))
    new: set[str] = set()
    count = 0
    for example in test.examples:
        unknown = labels_of(example) - known
        new |= unknown
        count += bool(unknown)
    return f"{count} of {len(test.examples)} examples have labels that the training data does not have: {list_columns(sorted(new))}" if new else None


def labels_of(example: Example) -> set[str]:
    if isinstance(example, TaggedSentence):
        return set(example.tags)
    if isinstance(example, MultiLabelText):
        return set(example.labels)
    label = getattr(example, "label", None)
    return set() if label is None else {label}
