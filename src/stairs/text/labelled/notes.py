"""What deserves a look in labelled data though it can be read: gathered while reading, told once at the end."""

import re
from collections import Counter

from stairs.errors import preview
from stairs.text.examples import Example, LabelledData, TaggedSentence
from stairs.text.labelled.column_names import list_columns

MISSING_VALUES = {"nan", "na", "n/a", "null", "none", "?", "-"}
IDENTIFIER = re.compile(r"(?=.*\d)[\w.:/\-]{1,64}", re.ASCII)
ID_SAMPLE = 1000  # texts that an id column is told from


class DataNotes:
    """Counts as the rows go by; `sentences()` is what there is to say about them."""

    def __init__(self) -> None:
        self.labels: Counter[str] = Counter()
        self.remarks: list[str] = []
        self.blank, self.first_blank_location = 0, ""
        self.texts: set[str] = set()
        self.looks_like_text = False

    def label(self, label: str) -> None:
        self.labels[label] += 1

    def text(self, text: str) -> None:
        """Ids are short, without spaces and all different; a single text that is not clears the column."""
        if self.looks_like_text or len(self.texts) >= ID_SAMPLE:
            return
        self.looks_like_text = not IDENTIFIER.fullmatch(text) or text in self.texts
        self.texts.add(text)

    def is_blank(self, name: str, line: int, *texts: str) -> bool:
        """Whether a text is only spaces; such an example says nothing and is left out."""
        if all(text.strip() for text in texts):
            return False
        self.blank += 1
        self.first_blank_location = self.first_blank_location or f"{name}:{line}"
        return True

    def add_remark(self, sentence: str) -> None:
        self.remarks.append(sentence)

    def sentences(self) -> tuple[str, ...]:
        said = list(self.remarks)
        if self.blank:
            said.append(f"{self.blank} of the examples had no text and were left out, the first at {self.first_blank_location}")
        if len(self.texts) > 1 and not self.looks_like_text:
            said.append(f"the texts look like ids ({preview(min(self.texts))}); is another column the text?")
        return tuple(said + self.label_notes())

    def label_notes(self) -> list[str]:
        said, total = [], sum(self.labels.values())
        if len(self.labels) == 1:
            said.append(f"all {total} examples have the label {preview(next(iter(self.labels)))}: there is nothing to tell apart")
        elif total >= 20 and len(self.labels) > total / 2:
            said.append(f"{len(self.labels)} labels for {total} examples; is another column the label?")
        for label in sorted(self.labels):
            if label.casefold() in MISSING_VALUES:
                said.append(f"{self.labels[label]} examples have the label {preview(label)}, which looks like a missing value")
            whole = re.sub(r"\.0+$", "", label)
            if whole != label and whole in self.labels:
                counts = f"{whole!r} ({self.labels[whole]}) and {label!r} ({self.labels[label]})"
                said.append(f"the labels {counts} are taken as two; write them alike if they are one")
        return said[:10]


def unseen_labels(train: LabelledData, test: LabelledData) -> str | None:
    """What to say when data to be scored has labels, or tags, that the training data had not; None when there is nothing to say."""
    known: set[str] = set().union(*map(labels_of, train.examples))
    new: set[str] = set()
    count = 0
    for example in test.examples:
        unknown = labels_of(example) - known
        new |= unknown
        count += bool(unknown)
    return f"{count} of {len(test.examples)} examples have labels never trained on: {list_columns(sorted(new))}" if new else None


def labels_of(example: Example) -> set[str]:
    if isinstance(example, TaggedSentence):
        return set(example.tags)
    label = getattr(example, "label", None)
    return set() if label is None else {label}
