"""Which examples are learnt from, which choose on the way and which are judged at the end: a split by groups, the same for the same seed.

Two examples are of one group if their file says so (`group`: a document, a source file, a column), or if their texts differ only in case and white
space. A group is never torn apart, or what a model remembers of it would count as what it has learnt.

Each part is to have `value_size` examples, and of each label l its share, want[p, l] = size_p * n_l / n. The groups, largest first and those of one
size in an order drawn by the seed, go where the squared error
    sum over p and l of (has[p, l] - want[p, l])^2 / want[p, l],    with one more l that counts all examples,
stays smallest. For groups of one example each that is Webster's apportionment: shares are kept to the nearest whole example.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from stairs.errors import BadInput, preview
from stairs.progress import say
from stairs.text.examples import Example, LabelledText, Question, SenseSentence, TaggedSentence, TextPair, TranslationPair

MAX_LINKED_SHARE = 0.1  # of all pairs may hang together by the texts they share; if more do, the texts say little about one another
UNUSED = ""  # the part of those that are more than were asked for


def normalize_text(text: str) -> str:
    """The text without what makes no difference: case and white space, also that between words and marks, which tokenized files add."""
    return "".join(text.casefold().split())


def text_hash(*texts: str) -> bytes:
    """A short name for texts that differ only in case and white space."""
    return blake2b("\0".join(map(normalize_text, texts)).encode(errors="surrogatepass"), digest_size=12).digest()


def example_texts(example: Example) -> tuple[str, ...]:
    """What a model reads of an example."""
    match example:
        case LabelledText(text=text):
            return (text,)
        case TextPair(first=first, second=second):
            return first, second
        case TaggedSentence(words=words) | SenseSentence(words=words):
            return (" ".join(words),)
        case Question(question=question, passage=passage):
            return question, passage
        case TranslationPair(source=source, target=target):
            return source, target
    raise AssertionError(type(example))


def example_hash(example: Example) -> bytes:
    """The same for examples that ask the same."""
    return text_hash(example.source) if isinstance(example, TranslationPair) else text_hash(*example_texts(example))


class ExampleGroups:
    """Union-find over examples: those that share a name are one group, and so are those that share another with one of these."""

    def __init__(self, count: int):
        self.parents = list(range(count))

    def root(self, place: int) -> int:
        while self.parents[place] != place:
            self.parents[place] = self.parents[self.parents[place]]
            place = self.parents[place]
        return place

    def join(self, names: Iterable[tuple[int, Any]]) -> None:
        """Each (example, name), one example with as many names as it likes."""
        first: dict[Any, int] = {}
        for place, name in names:
            one, two = self.root(place), self.root(first.setdefault(name, place))
            self.parents[max(one, two)] = min(one, two)

    def members(self) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for place in range(len(self.parents)):
            found.setdefault(self.root(place), []).append(place)
        return list(found.values())


def find_groups(examples: Sequence[Any], by_group: bool = True) -> list[list[int]]:
    """The places of the examples of each group."""
    groups = ExampleGroups(len(examples))
    groups.join((place, example_hash(example)) for place, example in enumerate(examples))
    if by_group:
        groups.join((place, name) for place, example in enumerate(examples) if (name := group_name(example)))
    return link_pairs(examples, groups) if isinstance(examples[0], TextPair) else groups.members()


def group_name(example: Any) -> Any:
    return getattr(example, "group", "") or (text_hash(example.passage) if isinstance(example, Question) else "")


def link_pairs(examples: Sequence[TextPair], groups: ExampleGroups) -> list[list[int]]:
    """Pairs that share a text stay together: both, or one of its two sides, unless that would bind most of the file together."""
    before = list(groups.parents)
    for sides in (("first", "second"), ("first",), ("second",)):
        groups.parents = list(before)
        groups.join((place, text_hash(getattr(pair, side))) for place, pair in enumerate(examples) for side in sides)
        found = groups.members()
        if max(map(len, found)) <= MAX_LINKED_SHARE * len(examples):
            return found
    groups.parents = before
    return groups.members()


def split(
    examples: Sequence[Any], sizes: Mapping[str, float], seed: int, *, source: str = "", column: str | None = None, advice: str = "give more"
) -> dict[str, list[Any]]:
    """Parts of about so many examples, the one to learn from first, each in the order of the file; of more than are wanted, the rest is in none.

    `column` is the one that the user named for groups: what cannot be split by it is refused. Documents and passages that are too few for that are
    split themselves, with a word about it. `cure` ends the sentence of an error.
    """
    groups = find_groups(examples)
    named = len({group_name(example) for example in examples} - {""})
    column = column if len(sizes) > 1 else None  # what is only drawn from is not split
    if column is not None:
        check_column(examples, groups, sizes, source, column, advice)
    elif len(groups) < len(sizes):
        if named:
            say(f"{source}: {named} documents or passages are too few for {len(sizes)} parts, so their examples are split: scores may be too good")
            groups = find_groups(examples, by_group=False)
        if len(groups) < len(sizes):
            raise BadInput(f"{source} has {len(groups)} different examples, too few to hold some back; {advice}")
    labels = [getattr(example, "label", None) for example in examples]
    assigned = assign(groups, labels, sizes, np.random.default_rng(seed), every_label=column is not None)
    if column is not None:
        check_labels(assigned, groups, labels, source, column)
    trim(assigned, sizes, np.random.default_rng([seed, 1]))
    return {part: [examples[place] for place in sorted(assigned[part])] for part in sizes}


def assign(
    groups: list[list[int]], labels: Sequence[Any], sizes: Mapping[str, float], random: np.random.Generator, every_label: bool = False
) -> dict[str, list[int]]:
    """The places of the examples of each part; with `every_label` each label is judged, if it is in more than one group."""
    total, asked = len(labels), sum(sizes.values())
    wanted = dict(sizes) if asked >= total - 0.5 else {**sizes, UNUSED: total - asked}
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels), 1)}  # 0 counts all of them
    counts = [total, *Counter(labels).values()]
    want = [[size * count / total for count in counts] for size in wanted.values()]
    has = [[0.0] * len(counts) for _ in wanted]
    holds: dict[str, list[list[int]]] = {part: [] for part in wanted}
    names = list(wanted)
    order = random.permutation(len(groups)).tolist()
    for group in sorted((groups[i] for i in order), key=len, reverse=True):
        inside = Counter([numbers[labels[place]] for place in group]).items() if len(group) > 1 else [(numbers[labels[group[0]]], 1)]
        own = [(0, len(group)), *inside]
        costs = [sum([n * (2 * (there[at] - aim[at]) + n) / aim[at] for at, n in own]) for there, aim in zip(has, want, strict=True)]
        chosen = costs.index(min(costs))
        for at, n in own:
            has[chosen][at] += n
        holds[names[chosen]].append(group)
    fill_empty(holds, labels, list(sizes))
    cover_labels_in_train(holds, labels, names[0])
    if every_label:
        cover_labels_in_test(holds, labels, names[0], list(sizes)[-1])
    return {part: [place for group in groups for place in group] for part, groups in holds.items()}


def fill_empty(holds: dict[str, list[list[int]]], labels: Sequence[Any], parts: Sequence[str]) -> None:
    """Each part has a group at least: the smallest of the part with most, one that does not take a label away with it if there is one."""
    for part in parts:
        if not holds[part]:
            donor = max(holds, key=lambda other: len(holds[other]))
            spare = Counter(labels[place] for group in holds[donor] for place in group)
            given = min(holds[donor], key=lambda group: (any(spare[labels[place]] <= len(group) for place in group), len(group)))
            holds[donor].remove(given)
            holds[part].append(given)


def cover_labels_in_train(holds: dict[str, list[list[int]]], labels: Sequence[Any], first: str) -> None:
    """No label is judged that is not learnt: a group of such a label, the smallest, is learnt from, unless its part has no other."""
    learnt = {labels[place] for group in holds[first] for place in group}
    for label in set(labels) - learnt:
        found = [(len(group), part, group) for part, own in holds.items() if len(own) > 1 for group in own if any(labels[i] == label for i in group)]
        if found and label not in learnt:
            _, part, group = min(found)
            holds[part].remove(group)
            holds[first].append(group)
            learnt |= {labels[place] for place in group}


def cover_labels_in_test(holds: dict[str, list[list[int]]], labels: Sequence[Any], first: str, last: str) -> None:
    """A label that would be learnt only is judged as well, by its smallest group that takes no label away from those that are learnt."""
    inside = {part: Counter(label for group in own for label in {labels[place] for place in group}) for part, own in holds.items()}
    for label in sorted(set(labels), key=str):
        if any(inside[part][label] for part in holds if part not in (first, UNUSED)):
            continue
        spare = [group for group in holds[first] if label in {labels[i] for i in group} and all(inside[first][labels[i]] > 1 for i in group)]
        if spare:
            group = min(spare, key=len)
            holds[first].remove(group)
            holds[last].append(group)
            for other in {labels[place] for place in group}:
                inside[first][other] -= 1
                inside[last][other] += 1


def trim(assigned: dict[str, list[int]], sizes: Mapping[str, float], random: np.random.Generator) -> None:
    """No more examples than were asked for, in all and in the first part, which pays: what it gives up is in no part, so no group is torn apart."""
    first = next(iter(sizes))
    excess = max(sum(len(assigned[part]) for part in sizes) - round(sum(sizes.values())), len(assigned[first]) - round(sizes[first]))
    if UNUSED in assigned and 0 < excess < len(assigned[first]):
        assigned[first] = random.permutation(assigned[first])[excess:].tolist()


def check_column(examples: Sequence[Any], groups: list[list[int]], sizes: Mapping[str, float], source: str, column: str, advice: str) -> None:
    """Whether the groups of a column can be split at all."""
    names = {example.group for example in examples}
    if len(names) == 1:
        came = f"all {len(examples)} examples have {preview(names.pop())} in --group {column}"
        raise BadInput(f"{source}: {came}; name a column that tells groups apart")
    if len(groups) < len(sizes):
        raise BadInput(f"{source}: --group {column} makes {len(groups)} groups, too few for {len(sizes)} parts; name another column, or {advice}")
    held: dict[Any, set[int]] = {}
    for number, group in enumerate(groups):
        for place in group:
            held.setdefault(getattr(examples[place], "label", None), set()).add(number)
    for label, own in held.items():
        if label is not None and len(own) == 1 and len(held) > 1:
            name = next(example.group for example in examples if example.label == label)
            came = f"the group {preview(name)} of --group {column} holds all examples of the label {preview(label)}"
            raise BadInput(f"{source}: {came}, which could not be both learnt and judged; name another column, or leave that label out")


def check_labels(assigned: dict[str, list[int]], groups: list[list[int]], labels: Sequence[Any], source: str, column: str) -> None:
    """Whether each label is learnt that is judged, and judged if it is learnt."""
    first = next(iter(assigned))
    there = {part: {labels[place] for place in places} for part, places in assigned.items() if part != UNUSED}
    judged = set().union(*(own for part, own in there.items() if part != first))
    for label in sorted(judged ^ there[first], key=str):
        number = sum(any(labels[place] == label for place in group) for group in groups)
        fate = "learnt from" if label in there[first] else "held back"
        came = f"the {number} groups of --group {column} with the label {preview(label)} are all {fate}"
        raise BadInput(f"{source}: {came}, so it could not be both learnt and judged; name another column, another --seed, or give more groups")


def count_overlap(train: Sequence[Any], other: Sequence[Any]) -> int:
    """How many of the others have a text that is learnt from, but for case and white space; of questions, the passage."""

    def name(example: Any) -> bytes:
        return text_hash(example.passage) if isinstance(example, Question) else example_hash(example)

    known = set(map(name, train))
    return sum(name(example) in known for example in other)
