"""JSON read strictly, and large files as a stream: a cursor walks down to small values and knows its line."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from stairs.errors import BadInput, preview
from stairs.text.input_files import printable
from stairs.text.tables.lines import LINE_LIMIT, file_suffix, input_error, numbered_lines, text_blocks

HEADER_RECORDS = 1000  # whose fields are the columns: the first need not have them all
SPACE = re.compile(r"[ \t\n\r]*+")
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class InvalidJson(ValueError):
    """What Python's parser accepts and JSON does not."""


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidJson(f"the field {preview(twice)} occurs twice in one object; keep one of them")
    return fields


def refuse_constant(word: str) -> None:
    raise InvalidJson(f"{word} is not JSON; write a number or null")


DECODER = json.JSONDecoder(object_pairs_hook=refuse_duplicates, parse_constant=refuse_constant)


def explain_error(error: Exception, text: str, at: int) -> str:
    """What is wrong with `text`, parsed from `at`, and what to do."""
    if isinstance(error, InvalidJson):
        return str(error)
    if isinstance(error, RecursionError):
        return "nested too deeply; a record is a flat object of fields"
    if not isinstance(error, json.JSONDecodeError):
        return "a number with thousands of digits; write it as a string"
    rest = text[error.pos :]
    if not rest.strip() or error.msg.startswith("Unterminated"):
        return "the JSON ends too early; the file is cut short or the record continues on the next line: put it on one line"
    if rest.startswith("'"):
        return "single quotes are not JSON; use double quotes"
    if rest[0] in "}]" and text[at : error.pos].rstrip().endswith(","):
        return f"a comma before {rest[0]!r}; remove it"
    if error.msg == "Extra data":
        return f"{preview(rest[:30])} after the end of the record; put one object on each line"
    return f"not JSON at {preview(rest[:30])} ({error.msg[0].lower() + error.msg[1:]}); fix the record"


def check_surrogates(value: object, raw: str, at: int, end: int) -> None:
    """Half a surrogate pair is not a character: it could be neither saved nor printed."""
    if SURROGATE.search(raw, at, end):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise InvalidJson(f"\\u{ord(error.object[error.start]):04x} is half a surrogate pair and not a character; remove it") from None


def parse_json(text: str, name: str, line: int) -> Any:
    """One JSON value that is all of `text`."""
    try:
        value = DECODER.decode(text)
        check_surrogates(value, text, 0, len(text))
    except (ValueError, RecursionError) as error:
        raise input_error(name, line, explain_error(error, text, 0)) from None
    return value


def describe_type(value: object) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


class JsonTable:
    """JSONL, one object a line, or a .json file that is one list of objects."""

    def __init__(self, path: str | Path, encoding: str | None = None):
        self.path, self.name, self.encoding = path, printable(path), encoding
        first = list(islice(self.objects(), HEADER_RECORDS))
        if not first:
            raise BadInput(f"no text in {printable(path)}; give a file with a JSON object on each line")
        self.line = first[0][0]
        self.columns = list(dict.fromkeys(name for _, record in first for name in record))

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        is_list = file_suffix(self.path) == ".json" and JsonCursor(self.path, self.encoding).peek() == "["
        for line, value in self.from_list() if is_list else self.by_line():
            if not isinstance(value, dict):
                raise input_error(self.name, line, f"{describe_type(value)} where a record should be; put one object with named fields on each line")
            inner = value.get("translation")
            yield line, inner if isinstance(inner, dict) else value

    def by_line(self) -> Iterator[tuple[int, Any]]:
        for line, text in numbered_lines(self.path, self.encoding):
            if text.strip():
                yield line, parse_json(text, self.name, line)

    def from_list(self) -> Iterator[tuple[int, Any]]:
        cursor = JsonCursor(self.path, self.encoding)
        for line in cursor.elements():
            yield line, cursor.value()
        cursor.expect_end()

    def select_columns(self, names: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
        """(line, the values of the named fields) of every record; None for a field that it does not have."""
        for line, record in self.objects():
            yield line, [record.get(name) for name in names]


class JsonCursor:
    """A position in a JSON file. `members` and `elements` walk into a container; the caller reads each value before the next."""

    def __init__(self, path: str | Path, encoding: str | None = None):
        self.name, self.blocks = printable(path), text_blocks(path, encoding)
        self.text, self.at, self.done = "", 0, False
        self.counted, self.lines = 0, 1

    @property
    def line(self) -> int:
        self.lines += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.lines

    def read_more(self) -> None:
        """Drop what was read and double what was not."""
        self.lines, rest = self.line, self.text[self.at :]
        parts, length = [rest], 0
        while length <= len(rest) and not self.done:
            block = next(self.blocks, None)
            self.done = block is None
            parts.append(block or "")
            length += len(block or "")
        self.text, self.at, self.counted = "".join(parts), 0, 0

    def peek(self) -> str:
        """The next character that is not white space; "" at the end."""
        while True:
            self.at = SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text) or self.done:
                return self.text[self.at : self.at + 1]
            self.read_more()

    def fault(self, sentence: str) -> BadInput:
        return input_error(self.name, self.line, sentence)

    def expect(self, mark: str, what: str) -> None:
        character = self.peek()
        if character != mark:
            actual = preview(self.text[self.at : self.at + 20]) if character else "the end of the file"
            raise self.fault(f"{actual} where {what} should be; fix the JSON")
        self.at += 1

    def value(self) -> Any:
        """The next value, all of it."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
                is_number = isinstance(value, int | float)
                if len(self.text) - end <= 2 * is_number and not self.done:  # a number may continue, also after a point or an e+
                    self.read_more()
                    continue
                check_surrogates(value, self.text, self.at, end)
            except json.JSONDecodeError as error:
                if self.done or len(self.text) - self.at > LINE_LIMIT:
                    sentence, self.at = explain_error(error, self.text, self.at), min(error.pos, len(self.text))
                    raise self.fault(sentence) from None
                self.read_more()
            except BadInput:  # of reading more
                raise
            except (ValueError, RecursionError) as error:
                raise self.fault(explain_error(error, self.text, self.at)) from None
            else:
                self.at = end
                return value

    def members(self, what: str = "an object") -> Iterator[tuple[int, str]]:
        """(line, key) of each member of the object that begins here."""
        self.expect("{", what)
        seen: set[str] = set()
        while self.peek() != "}" or seen:
            if self.peek() != '"':
                self.expect('"', "a field name")
            key = self.value()
            if key in seen:
                raise self.fault(f"the field {preview(key)} occurs twice in one object; keep one of them")
            seen.add(key)
            self.expect(":", "a colon")
            yield self.line, key
            if self.peek() == "}":
                break
            self.expect(",", "a comma")
        self.expect("}", "the end of the object")

    def elements(self, what: str = "a list") -> Iterator[int]:
        """The line of each element of the list that begins here."""
        self.expect("[", what)
        first = True
        while self.peek() != "]" or not first:
            if self.peek() == "]":
                raise self.fault("a comma before ']'; remove it")
            yield self.line
            first = False
            if self.peek() == "]":
                break
            self.expect(",", "a comma")
        self.expect("]", "the end of the list")

    def expect_end(self) -> None:
        if self.peek():
            raise self.fault(f"{preview(self.text[self.at : self.at + 20])} after the end; a file holds one JSON value")
