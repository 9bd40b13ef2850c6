"""Examples in memory while they are few, and in a temporary file, one JSON line each, when they are many."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

from stairs.text.examples import AnyExample, Example, Question
from stairs.text.tables.spooled_strings import SpooledStrings

MAX_MEMORY_BYTES = 1 << 28  # estimated bytes of memory above which examples go to disk
EXAMPLE_OVERHEAD = 320  # bytes of memory an example takes besides its characters


def value_size(value: object) -> int:
    if isinstance(value, str):
        return len(value) * (1 if value.isascii() else 2)
    return 16 * len(value) if isinstance(value, tuple) else 0  # words are shared, answers are few


def spool_examples(examples: Iterable[AnyExample]) -> Sequence[AnyExample]:
    """All examples: a list, or above MAX_MEMORY_BYTES a sequence on disk."""
    in_memory: list[AnyExample] = []
    free, rest = MAX_MEMORY_BYTES, iter(examples)
    for example in rest:
        in_memory.append(example)
        free -= EXAMPLE_OVERHEAD + sum(value_size(value) for value in field_values(example))
        if free < 0:
            kind = type(example)
            in_memory.reverse()
            return SpooledExamples(kind, chain((in_memory.pop() for _ in range(len(in_memory))), rest))
    return in_memory


def field_values(example: Example) -> list[Any]:
    return [getattr(example, field.name) for field in fields(example)]


class SpooledExamples(Sequence[AnyExample]):
    """A read-only list of examples of one kind."""

    def __init__(self, kind: type[AnyExample], examples: Iterable[AnyExample]):
        self.kind, self.records = kind, SpooledStrings("the examples")
        for example in examples:
            self.records.append(json.dumps(field_values(example), ensure_ascii=False, separators=(",", ":")))
        self.records.flush()

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[AnyExample]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        record = json.loads(self.records[range(len(self))[index]])
        values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in record]
        if self.kind is Question:
            values[2] = tuple((start, text) for start, text in values[2])
        return self.kind(*values)
