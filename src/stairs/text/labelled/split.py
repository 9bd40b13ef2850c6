"""Labelled examples split into train, validation and test by groups, the same for the same seed.

Two examples are of one group if their file says so (`group`: a document, a source file, a column), or if their texts differ only in case and white
space. A group is never split, or what a model remembers of it would count as what it has learnt.

Each split should have `size` examples, and of each label l its share, want[s, l] = size_s * n_l / n. The groups, largest first and those of one size
in an order drawn by the seed, go where the squared error
    sum over s and l of (has[s, l] - want[s, l])^2 / want[s, l],    with one more l that counts all examples,
stays smallest. For groups of one example each that is Webster's apportionment: shares are kept to the nearest whole example. An example with several
labels counts for each of them; of numbers to predict, l is the decile.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from stairs.errors import BadInput, preview
from stairs.progress import say
from stairs.text.examples import (
    AnyExample,
    Example,
    MultiLabelText,
    MultipleChoice,
    Question,
    ScoredText,
    TextPair,
    example_hash,
    text_hash,
)

MAX_LINKED_SHARE = 0.1  # of all pairs may be linked by the texts they share; if more are, sharing a text says little
UNUSED = ""  # the split of the examples beyond the sizes

Groups = list[list[int]]  # the indices of the examples of each group
Label = str | None
Labels = tuple[Label, ...]  # of an example
DECILES = 10


class ExampleGroups:
    """Union-find over examples: those that share a name are one group, and so are those that share another name with one of these."""

    def __init__(self, count: int):
        self.parents = list(range(count))

    def root(self, index: int) -> int:
        while self.parents[index] != index:
            self.parents[index] = self.parents[self.parents[index]]
            index = self.parents[index]
        return index

    def join(self, names: Iterable[tuple[int, Hashable]]) -> None:
        """Each (example, name); an example may have several names."""
        first: dict[Hashable, int] = {}
        for index, name in names:
            one, two = self.root(index), self.root(first.setdefault(name, index))
            self.parents[max(one, two)] = min(one, two)

    def members(self) -> Groups:
        groups: dict[int, list[int]] = {}
        for index in range(len(self.parents)):
            groups.setdefault(self.root(index), []).append(index)
        return list(groups.values())


def find_groups(examples: Sequence[Example], by_group: bool = True) -> Groups:
    """The indices of the examples of each group."""
    groups = ExampleGroups(len(examples))
    groups.join((index, example_hash(example)) for index, example in enumerate(examples))
    if by_group:
        groups.join((index, name) for index, example in enumerate(examples) if (name := group_name(example)))
    pairs = [pair for pair in examples if isinstance(pair, TextPair)]
    return link_pairs(pairs, groups) if pairs else groups.members()


def group_name(example: Example) -> str | bytes:
    """What the file says, or else the passage of a question and the context of choices."""
    match example:
        case Question(group="", passage=text) | MultipleChoice(group="", context=text):
            return text_hash(text)
    return getattr(example, "group", "")


def labels_of(example: Example) -> Labels:
    return example.labels if isinstance(example, MultiLabelText) else (getattr(example, "label", None),)


def strata(examples: Sequence[Example]) -> list[Labels]:
    """The labels of each example, of which each split has its share; of numbers, the decile."""
    values = [example.value for example in examples if isinstance(example, ScoredText)]
    if not values:
        return [labels_of(example) for example in examples]
    bounds = np.unique(np.quantile(values, np.linspace(0, 1, DECILES + 1)[1:-1]))
    return [(str(decile),) for decile in np.searchsorted(bounds, values).tolist()]


def link_pairs(examples: Sequence[TextPair], groups: ExampleGroups) -> Groups:
    """Pairs that share a text stay together, by both sides or by one of the two, unless that would link most of the file."""
    unlinked = list(groups.parents)
    for sides in (("first", "second"), ("first",), ("second",)):
        groups.parents = list(unlinked)
        groups.join((index, text_hash(getattr(pair, side))) for index, pair in enumerate(examples) for side in sides)
        linked = groups.members()
        if max(map(len, linked)) <= MAX_LINKED_SHARE * len(examples):
            return linked
    groups.parents = unlinked
    return groups.members()


def split(
    examples: Sequence[AnyExample],
    sizes: Mapping[str, float],
    seed: int,
    *,
    source: str = "",
    column: str | None = None,
    advice: str = "give more",
) -> dict[str, list[AnyExample]]:
    """Splits of about these sizes, train first, each in the order of the file; examples beyond the sizes are in none.

    `column` is the column of groups that the user named: a file that cannot be split by it is refused. Where the file's own documents or passages are
    too few, their examples are split, and the user is told. `advice` ends the sentence of an error.
    """
    groups = find_groups(examples)
    named = len({group_name(example) for example in examples} - {""})
    column = column if len(sizes) > 1 else None  # a sample is not a split
    if column is not None:
        check_column(examples, groups, sizes, source, column, advice)
    elif len(groups) < len(sizes):
        if named:
            say(f"{source}: {named} documents or passages are too few for {len(sizes)} splits, so their examples are split: scores may be too good")
            groups = find_groups(examples, by_group=False)
        if len(groups) < len(sizes):
            raise BadInput(f"{source} has {len(groups)} different examples, too few for {len(sizes)} splits; {advice}")
    labels, needs_labels = strata(examples), column is not None and not isinstance(examples[0], ScoredText)
    assigned = assign(groups, labels, sizes, np.random.default_rng(seed), every_label=needs_labels)
    if column is not None and needs_labels:
        check_labels(assigned, groups, labels, source, column)
    trim(assigned, sizes, np.random.default_rng([seed, 1]))
    return {name: [examples[index] for index in sorted(assigned[name])] for name in sizes}


def assign(
    groups: Groups, labels: Sequence[Labels], sizes: Mapping[str, float], random: np.random.Generator, every_label: bool = False
) -> dict[str, list[int]]:
    """The indices of the examples of each split; with `every_label` each label that is in more than one group is evaluated, too."""
    total, requested = len(labels), sum(sizes.values())
    all_sizes = dict(sizes) if requested >= total - 0.5 else {**sizes, UNUSED: total - requested}
    by_label = Counter(label for own in labels for label in own)
    numbers = {label: number for number, label in enumerate(by_label, 1)}  # 0 counts all of them
    counts = [total, *by_label.values()]
    want = [[size * count / total for count in counts] for size in all_sizes.values()]
    has = [[0.0] * len(counts) for _ in all_sizes]
    holds: dict[str, Groups] = {name: [] for name in all_sizes}
    names = list(all_sizes)
    order = random.permutation(len(groups)).tolist()
    for group in sorted((groups[i] for i in order), key=len, reverse=True):
        inside: Iterable[tuple[int, int]] = [(numbers[label], 1) for label in labels[group[0]]]
        if len(group) > 1:
            inside = Counter([numbers[label] for label in labels_in(labels, group)]).items()
        own = [(0, len(group)), *inside]
        costs = [sum([n * (2 * (there[at] - aim[at]) + n) / aim[at] for at, n in own]) for there, aim in zip(has, want, strict=True)]
        best = costs.index(min(costs))
        for at, n in own:
            has[best][at] += n
        holds[names[best]].append(group)
    fill_empty(holds, labels, list(sizes))
    cover_labels_in_train(holds, labels, names[0])
    if every_label:
        cover_labels_in_test(holds, labels, names[0], list(sizes)[-1])
    return {name: [index for group in own for index in group] for name, own in holds.items()}


def labels_in(labels: Sequence[Labels], *groups: Sequence[int]) -> list[Label]:
    """All labels of the examples of some groups, each as often as it occurs."""
    return [label for group in groups for index in group for label in labels[index]]


def fill_empty(holds: dict[str, Groups], labels: Sequence[Labels], names: Sequence[str]) -> None:
    """Each split has at least one group: the smallest of the split with most, if possible one that leaves no label without examples there."""
    for name in names:
        if not holds[name]:
            donor = max(holds, key=lambda other: len(holds[other]))
            spare = Counter(labels_in(labels, *holds[donor]))
            donated = min(holds[donor], key=lambda group: (any(spare[label] <= len(group) for label in labels_in(labels, group)), len(group)))
            holds[donor].remove(donated)
            holds[name].append(donated)


def cover_labels_in_train(holds: dict[str, Groups], labels: Sequence[Labels], train: str) -> None:
    """No label is evaluated that is not trained on: its smallest group moves to train, unless it is the only group of its split."""
    trained = set(labels_in(labels, *holds[train]))
    for label in {label for own in labels for label in own} - trained:
        candidates = [(len(group), name, group) for name, own in holds.items() if len(own) > 1 for group in own if label in labels_in(labels, group)]
        if candidates and label not in trained:
            _, name, group = min(candidates)
            holds[name].remove(group)
            holds[train].append(group)
            trained |= set(labels_in(labels, group))


def cover_labels_in_test(holds: dict[str, Groups], labels: Sequence[Labels], train: str, test: str) -> None:
    """A label that is only trained on is evaluated, too, by its smallest group that takes no label away from train."""
    inside = {name: Counter(label for group in own for label in set(labels_in(labels, group))) for name, own in holds.items()}
    for label in sorted({label for own in labels for label in own}, key=str):
        if any(inside[name][label] for name in holds if name not in (train, UNUSED)):
            continue
        with_label = [(group, labels_in(labels, group)) for group in holds[train]]
        spare = [group for group, own in with_label if label in own and all(inside[train][other] > 1 for other in own)]
        if spare:
            group = min(spare, key=len)
            holds[train].remove(group)
            holds[test].append(group)
            for other in set(labels_in(labels, group)):
                inside[train][other] -= 1
                inside[test][other] += 1


def trim(assigned: dict[str, list[int]], sizes: Mapping[str, float], random: np.random.Generator) -> None:
    """No more examples than requested, in all and in train. Train gives up the excess, which is then in no split, so that no group is split."""
    train = next(iter(sizes))
    excess = max(sum(len(assigned[name]) for name in sizes) - round(sum(sizes.values())), len(assigned[train]) - round(sizes[train]))
    if UNUSED in assigned and 0 < excess < len(assigned[train]):
        assigned[train] = random.permutation(assigned[train])[excess:].tolist()


def check_column(examples: Sequence[Example], groups: Groups, sizes: Mapping[str, float], source: str, column: str, advice: str) -> None:
    """Refuse a column whose groups cannot be split."""
    names = {str(getattr(example, "group", "")) for example in examples}
    if len(names) == 1:
        fault = f"all {len(examples)} examples have {preview(names.pop())} in --group {column}"
        raise BadInput(f"{source}: {fault}; name a column that tells groups apart")
    if len(groups) < len(sizes):
        raise BadInput(f"{source}: --group {column} makes {len(groups)} groups, too few for {len(sizes)} splits; name another column, or {advice}")
    groups_of: dict[Label, set[int]] = {}
    for number, group in enumerate(groups):
        for index in group:
            for label in labels_of(examples[index]):
                groups_of.setdefault(label, set()).add(number)
    for label, own in groups_of.items():
        if label is not None and len(own) == 1 and len(groups_of) > 1:
            name = next(getattr(example, "group", "") for example in examples if label in labels_of(example))
            fault = f"the group {preview(name)} of --group {column} holds all examples of the label {preview(label)}"
            raise BadInput(f"{source}: {fault}, so it cannot be both trained on and evaluated; name another column, or leave that label out")


def check_labels(assigned: dict[str, list[int]], groups: Groups, labels: Sequence[Labels], source: str, column: str) -> None:
    """Refuse a split in which a label is only trained on, or only evaluated."""
    train = next(iter(assigned))
    inside = {name: set(labels_in(labels, indices)) for name, indices in assigned.items() if name != UNUSED}
    evaluated = set().union(*(own for name, own in inside.items() if name != train))
    for label in sorted(evaluated ^ inside[train], key=str):
        number = sum(label in labels_in(labels, group) for group in groups)
        side = "in the training split" if label in inside[train] else "held out"
        fault = f"the {number} groups of --group {column} with the label {preview(label)} are all {side}"
        advice = "name another column, another --seed, or give more groups"
        raise BadInput(f"{source}: {fault}, so it cannot be both trained on and evaluated; {advice}")


def count_overlap(train: Sequence[Example], other: Sequence[Example]) -> int:
    """How many of the others have a text of the training examples, but for case and white space; of questions, the passage."""

    def key(example: Example) -> bytes:
        return text_hash(example.passage) if isinstance(example, Question) else example_hash(example)

    known = set(map(key, train))
    return sum(key(example) in known for example in other)
