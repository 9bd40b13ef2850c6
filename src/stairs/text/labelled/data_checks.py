"""What labelled data looks like before anything is trained: repeated texts, contradictions, lengths, scripts, and columns that give the label
away. Each check is a function of examples or rows, and finds what it names."""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from stairs.text.chinese import CJK_CHARACTER, HAN_RUN
from stairs.text.examples import Example, LabelledText, MultiLabelText, ScoredText, TaggedSentence, TextPair, example_hash, example_texts

TOKENS_PER_WORD = 1.3  # of a subword tokenizer, about
LONG_TOKENS = 512  # what BERT reads at most
SHORT_CHARACTERS = 3
RARE_EXAMPLES = 10  # a label with fewer can hardly be learnt or evaluated
MAX_COLUMN_VALUES = 1000  # of a column that is looked at as a category
LEAK_ACCURACY = 0.98  # of predicting the label from one column or word alone
MAJOR_SHARE = 0.5  # of the letters of a text, for its script
MINOR_SHARE = 0.2  # of a second script that makes a text mixed
LETTERS = re.compile(r"[^\W\d_]")
LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
PREFIX = re.compile(r"[^\W\d]+")


class Lengths(TypedDict):
    """Of the texts, in characters; tokens are about those of a subword tokenizer."""

    median: int
    longest: int
    short: int  # texts of at most 3 characters
    beyond_512_tokens: int


class SuspiciousColumn(TypedDict):
    """A column that predicts the label almost by itself."""

    column: str
    accuracy: float
    how: str


class RepeatedTexts(NamedTuple):
    exact: list[tuple[int, int]]  # an example, and the first one with the same text and label
    loose: list[tuple[int, int]]  # the same but for case and white space
    contradictions: list[list[int]]  # examples with the same text, but for case and white space, and different labels


def gold_label(example: Example) -> str | None:
    """What the example says is right, to compare it with others; None where there may be several right answers."""
    match example:
        case TaggedSentence(tags=tags):
            return " ".join(tags)
        case MultiLabelText(labels=labels):
            return "; ".join(sorted(labels))
        case LabelledText(label=label):
            return label
        case TextPair(score=value) | ScoredText(value=value) if value is not None:
            return f"{value:g}"
        case TextPair(label=label):
            return label
    return None


def repeated_texts(examples: Sequence[Example]) -> RepeatedTexts:
    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    for number, example in enumerate(examples):
        groups[example_hash(example)].append(number)
    found = RepeatedTexts([], [], [])
    for members in groups.values():
        if len(members) == 1:
            continue
        first_of: dict[str | None, int] = {}
        for number in members:
            first = first_of.setdefault(gold_label(examples[number]), number)
            if first != number:
                is_exact = example_texts(examples[first]) == example_texts(examples[number])
                (found.exact if is_exact else found.loose).append((number, first))
        if len(first_of) > 1:
            found.contradictions.append(members)
    return found


def count_tokens(text: str) -> int:
    """About: each Chinese or Japanese character is one, a word of another script a little more."""
    spaced = CJK_CHARACTER.sub(" ", text)
    return int(len(CJK_CHARACTER.findall(text)) + TOKENS_PER_WORD * len(spaced.split()))


def measure_lengths(texts: Sequence[str]) -> Lengths:
    characters = sorted(map(len, texts))
    return {
        "median": characters[len(characters) // 2],
        "longest": characters[-1],
        "short": sum(is_short(text) for text in texts),
        "beyond_512_tokens": sum(is_long(text) for text in texts),
    }


def is_short(text: str) -> bool:
    return len(text.strip()) <= SHORT_CHARACTERS


def is_long(text: str) -> bool:
    return len(text) > LONG_TOKENS and count_tokens(text) > LONG_TOKENS


def script_of(text: str) -> str:
    """latin, chinese, mixed, other, or none where there are no letters."""
    letters = len(LETTERS.findall(text))
    if not letters:
        return "none"
    shares = {"latin": len(LATIN.findall(text)) / letters, "chinese": sum(map(len, HAN_RUN.findall(text))) / letters}
    if min(shares.values()) >= MINOR_SHARE:
        return "mixed"
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] > MAJOR_SHARE else "other"


def suspicious_columns(rows: Iterable[Mapping[str, Any]], label: str, others: Sequence[str]) -> list[SuspiciousColumn]:
    """Columns whose value, whose letters before a number, or whose size tells the label of nearly every row."""
    labels: list[str] = []
    cells: dict[str, list[str]] = {column: [] for column in others}
    for row in rows:
        labels.append(str(row[label]).strip())
        for column in others:
            cells[column].append("" if row[column] is None else str(row[column]).strip())
    if len(set(labels)) < 2:
        return []
    majority = max(Counter(labels).values()) / len(labels)
    found: list[SuspiciousColumn] = []
    for column in others:
        ways = {
            "its value": value_accuracy(cells[column], labels),
            "the letters it begins with": value_accuracy([(PREFIX.match(cell) or [""])[0] for cell in cells[column]], labels),
            "its size": order_accuracy(cells[column], labels),
        }
        how = max(ways, key=ways.__getitem__)
        if ways[how] >= max(LEAK_ACCURACY, (1 + majority) / 2):
            found.append({"column": column, "accuracy": ways[how], "how": how})
    return found


def value_accuracy(values: Sequence[str], labels: Sequence[str]) -> float:
    """Of taking the most frequent label of each value; 0 where the values are too many to be categories, or one."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for value, label in zip(values, labels, strict=True):
        counts[value][label] += 1
        if len(counts) > MAX_COLUMN_VALUES:
            return 0.0
    if len(counts) < 2 or len(counts) > len(labels) / 3:
        return 0.0
    return sum(max(own.values()) for own in counts.values()) / len(labels)


def order_accuracy(values: Sequence[str], labels: Sequence[str]) -> float:
    """Of cutting the numbers of a column into as many stretches as there are labels; 0 where they are no numbers."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return 0.0
    ordered = [label for _, label in sorted(zip(numbers, labels, strict=True), key=lambda pair: pair[0])]
    changes = sum(a != b for a, b in itertools.pairwise(ordered))
    return 1.0 if len(set(numbers)) > 2 and changes == len(set(labels)) - 1 and len(labels) >= 20 else 0.0


def label_in_text(examples: Sequence[LabelledText]) -> float:
    """The share of the texts that contain their own label as a word, if nearly all that contain a label contain their own; else 0."""
    names = {example.label for example in examples}
    known = {name.casefold(): name for name in names if LETTERS.search(name)}
    own = other = 0
    for example in examples:
        words = set(re.findall(r"\w+", example.text.casefold()))
        inside = {known[word] for word in words if word in known}
        own += example.label in inside
        other += bool(inside - {example.label})
    return own / max(len(examples), 1) if own and own / (own + other) >= LEAK_ACCURACY else 0.0
