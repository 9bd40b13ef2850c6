"""Many strings in a temporary file instead of in memory: only where each of them ends is kept."""

import os
import tempfile
from array import array
from collections.abc import Iterator

from stairs.errors import EnvironmentFault
from stairs.files import os_error_reason

WRITE_BYTES, READ_BYTES = 1 << 20, 1 << 16


class SpooledStrings:
    """A list of strings that only grows; its file has no name and vanishes with the object."""

    def __init__(self, what: str) -> None:
        self.what = what  # that is stored, in the words of an error
        self.ends = array("Q", [0])
        self.unwritten: list[bytes] = []
        self.unwritten_bytes = 0
        try:
            self.file = tempfile.TemporaryFile(prefix="stairs-")  # noqa: SIM115 (it lives as long as the object)
        except OSError as error:
            raise self.fault(error) from error

    def fault(self, error: OSError) -> EnvironmentFault:
        folder = tempfile.gettempdir()
        return EnvironmentFault(f"{folder}: cannot store {self.what} ({os_error_reason(error)}); free some space or set TMPDIR")

    def append(self, text: str) -> None:
        record = text.encode()
        self.unwritten.append(record)
        self.unwritten_bytes += len(record)
        self.ends.append(self.ends[-1] + len(record))
        if self.unwritten_bytes > WRITE_BYTES:
            self.flush()

    def flush(self) -> None:
        try:
            self.file.write(b"".join(self.unwritten))
            self.file.flush()
        except OSError as error:
            raise self.fault(error) from error
        self.unwritten, self.unwritten_bytes = [], 0

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, index: int) -> str:
        return self.read(self.ends[index], self.ends[index + 1]).decode()

    def __iter__(self) -> Iterator[str]:
        """In order, and many at a time."""
        first = 0
        while first < len(self):
            last = first + 1
            while last < len(self) and self.ends[last] - self.ends[first] < READ_BYTES:
                last += 1
            start = self.ends[first]
            block = self.read(start, self.ends[last])
            yield from (block[self.ends[at] - start : self.ends[at + 1] - start].decode() for at in range(first, last))
            first = last

    def read(self, start: int, end: int) -> bytes:
        if self.unwritten:
            self.flush()
        return os.pread(self.file.fileno(), end - start, start)
