"""How SentencePiece normalizes a text before it cuts it: the longest rule that fits at each position, then spaces.

    charsmap    u32 size of the trie in bytes | a double-array trie (Darts) of the sources | the replacements, each ended by NUL

The trie's value of a source is where its replacement starts. nmt_nfkc, the usual table, has NFKC's compositions and makes one space of tabs, line
ends and wide spaces. User-defined pieces are never changed. The text that comes out has ordinary spaces, where SentencePiece writes "▁".

Departures: a table of the characters that may begin a rule tells where to look, so that most of a text is never walked through the trie.
"""

import re
import struct
from collections.abc import Iterator

import numpy as np

WORD_OR_SPACE = re.compile("[^ ]+| ")
MAX_SOURCE = 32  # characters of a source, at most
SINGLE, FIRST, SECOND = 1, 2, 4
LABELS = np.arange(1, 256, dtype=np.uint32)  # bytes of a source; NUL ends none


class SentencePieceNormalizer:
    """`normalize(" Ａ  cat ")` is " A cat" with nmt_nfkc and a dummy prefix."""

    def __init__(self, charsmap: bytes, user_defined: list[str], adds_dummy_prefix: bool, removes_extra_spaces: bool) -> None:
        self.prefix, self.removes_extra_spaces = " " if adds_dummy_prefix else "", removes_extra_spaces
        self.trailing = " ▁" if removes_extra_spaces else ""
        self.table = NormalizationTable(charsmap)
        self.user_defined = sorted(user_defined, key=len, reverse=True)
        singles = self.table.singles | {piece for piece in user_defined if len(piece) == 1}
        pairs = self.table.pairs | {piece[:2] for piece in user_defined if len(piece) > 1}
        self.roles = np.zeros(0x110000, np.uint8)  # of each code point: whether it is a source, begins one, or is second in one
        for role, characters in enumerate((singles, {pair[0] for pair in pairs}, {pair[1] for pair in pairs})):
            self.roles[[ord(character) for character in characters]] |= 1 << role

    def normalize(self, text: str) -> str:
        if "  " not in text and text and not self.candidates(text):  # most texts
            return (self.prefix + text.lstrip(self.trailing[:1])).rstrip(self.trailing)
        return "".join([self.prefix, *(part for part, _, _ in self.units(text))]).rstrip(self.trailing) if text else ""

    def normalize_with_origins(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        """The normalized text, and the start and end of each of its characters in the text."""
        parts, origins = [self.prefix if text else ""], [(0, 0)] * len(self.prefix if text else "")
        for part, start, stop in self.units(text):
            parts.append(part)
            is_same = len(part) == stop - start
            origins += [(at, at + 1) for at in range(start, stop)] if is_same else [(start, stop)] * len(part)
        result = "".join(parts).rstrip(self.trailing)
        return result, origins[: len(result)]

    def units(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Words, spaces and replacements, with the start and end of each in the text; spaces after a space are left out."""
        after_space = self.removes_extra_spaces
        for part, start, stop in self.replacements(text):
            kept = part.lstrip(" ") if after_space else part
            if kept:
                after_space = self.removes_extra_spaces and kept.endswith(" ")
                yield kept, start, stop

    def replacements(self, text: str) -> Iterator[tuple[str, int, int]]:
        """What each part of the text becomes: rules apply where they can, and words and single spaces between them stay."""
        copied = 0
        for at in self.candidates(text):
            rule = self.longest_rule(text, at) if at >= copied else None
            if rule is not None:
                yield from words_and_spaces(text, copied, at)
                copied = at + rule[1]
                yield rule[0], at, copied
        yield from words_and_spaces(text, copied, len(text))

    def candidates(self, text: str) -> list[int]:
        """Where a rule may apply."""
        roles = self.roles[np.frombuffer(text.encode("utf-32-le"), np.uint32)]
        follows = np.append(roles[1:] & SECOND, 0).astype(bool)
        return np.flatnonzero((roles & SINGLE) | ((roles & FIRST) * follows)).tolist()

    def longest_rule(self, text: str, at: int) -> tuple[str, int] | None:
        """What stands for the text at a position and how many characters it reslots: a user-defined piece stays, or else the longest rule."""
        own = next((piece for piece in self.user_defined if text.startswith(piece, at)), None)
        return (own, len(own)) if own is not None else self.table.longest(text, at)


class NormalizationTable:
    """Units of the trie: bits 0-7 label, 8 has a value, 9 wide offset, 10-30 offset, 31 is a value."""

    def __init__(self, charsmap: bytes) -> None:
        size = struct.unpack("<I", charsmap[:4])[0] if len(charsmap) >= 4 else 0
        if charsmap and (size % 4 or not 4 <= size <= len(charsmap) - 4):
            raise ValueError("its normalization table is damaged")
        self.units, self.replacements = np.frombuffer(charsmap, np.uint32, size // 4, 4 if size else 0), charsmap[4 + size :]
        self.singles, self.pairs = self.beginnings()

    def longest(self, text: str, at: int) -> tuple[str, int] | None:
        node, found = int(offsets(self.units[:1])[0]) if len(self.units) else 0, None
        spelling = text[at : at + MAX_SOURCE].encode()
        for read, byte in enumerate(spelling, 1):
            unit = int(self.units[node ^ byte]) if node ^ byte < len(self.units) else 0
            if unit & 0x800000FF != byte:
                break
            node ^= byte ^ (unit >> 10 << ((unit & 512) >> 6))
            if unit >> 8 & 1 and node < len(self.units):
                found = int(self.units[node]) & 0x7FFFFFFF, read
        if found is None:
            return None
        start, read = found
        return self.replacements[start:].partition(b"\0")[0].decode("utf-8", "replace"), len(spelling[:read].decode("utf-8", "ignore"))

    def beginnings(self) -> tuple[set[str], set[str]]:
        """The sources of one character, and the first two characters of the longer ones. Level by level; the trie shares ends, so that all sources
        would be many more than its units."""
        singles: set[str] = set()
        pairs: set[str] = set()
        nodes, prefixes = offsets(self.units[:1]), [b""] * min(len(self.units), 1)
        for _ in range(8):  # bytes of two characters
            slots = nodes[:, None] ^ LABELS
            inside = np.where(slots < len(self.units), self.units[np.minimum(slots, max(len(self.units) - 1, 0))], 0) if len(nodes) else slots
            parents, labels = np.nonzero((inside & 0x800000FF) == LABELS)
            reached = inside[parents, labels]
            nodes = slots[parents, labels] ^ offsets(reached)
            prefixes = [prefixes[parent] + bytes([label + 1]) for parent, label in zip(parents.tolist(), labels.tolist(), strict=True)]
            complete = [prefix.decode("utf-8", "ignore") for prefix in prefixes]
            is_whole = [len(text.encode()) == len(prefix) for text, prefix in zip(complete, prefixes, strict=True)]
            ends = (reached >> 8 & 1).tolist()
            singles |= {text for text, end, whole in zip(complete, ends, is_whole, strict=True) if end and whole and len(text) == 1}
            pairs |= {text for text in complete if len(text) == 2}
            going_on = [at for at, text in enumerate(complete) if len(text) < 2]
            nodes, prefixes = nodes[going_on], [prefixes[at] for at in going_on]
            if len(nodes) > 1 << 18:
                raise ValueError("its normalization table is damaged")
        return singles, pairs


def words_and_spaces(text: str, start: int, stop: int) -> Iterator[tuple[str, int, int]]:
    return ((part.group(), *part.span()) for part in WORD_OR_SPACE.finditer(text, start, stop))


def offsets(units: np.ndarray) -> np.ndarray:
    return units >> 10 << ((units & 512) >> 6)
