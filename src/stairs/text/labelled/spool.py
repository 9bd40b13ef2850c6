"""Examples kept in memory while they are few, and in a temporary file, one JSON line each, when they are many."""

import json
import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from stairs.errors import EnvironmentFault
from stairs.text.examples import Example, Question

MAX_MEMORY_BYTES = 1 << 28  # estimated bytes of memory above which examples go to disk
EXAMPLE_OVERHEAD = 320  # bytes an example costs besides its characters


def value_size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) * (1 if value.isascii() else 2)
    return 16 * len(value) if isinstance(value, tuple) else 0  # words are shared, answers are few


def spool_examples(examples: Iterable[Example]) -> Sequence[Example]:
    """All of them: a list, or above HELD bytes a sequence that lives on disk."""
    held: list[Example] = []
    room, rest = MAX_MEMORY_BYTES, iter(examples)
    for example in rest:
        held.append(example)
        room -= EXAMPLE_OVERHEAD + sum(value_size(value) for value in field_values(example))
        if room < 0:
            kind = type(example)
            held.reverse()
            return SpooledExamples(kind, chain((held.pop() for _ in range(len(held))), rest))
    return held


def field_values(example: Example) -> list[Any]:
    return [getattr(example, name) for name in example.__slots__]


class SpooledExamples(Sequence):
    """A read-only list of examples of one kind; the file has no name and goes with the object."""

    def __init__(self, kind: type, examples: Iterable[Example]):
        self.kind, self.ends, end = kind, array("Q", [0]), 0
        try:
            self.file = tempfile.TemporaryFile(prefix="stairs-")  # noqa: SIM115 (it lives as long as the object)
            for example in examples:
                record = json.dumps(field_values(example), ensure_ascii=False, separators=(",", ":")).encode()
                self.file.write(record)
                end += len(record)
                self.ends.append(end)
            self.file.flush()
        except OSError as error:
            why = error.strerror or error
            raise EnvironmentFault(f"{tempfile.gettempdir()}: cannot hold the examples ({why}); free space or set TMPDIR") from error

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __iter__(self) -> Iterator[Example]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        start, end = self.ends[place], self.ends[place + 1]
        record = json.loads(os.pread(self.file.fileno(), end - start, start))
        fields = [tuple(field) if isinstance(field, list) else field for field in record]
        if self.kind is Question:
            fields[2] = tuple((start, text) for start, text in fields[2])
        return self.kind(*fields)
