"""SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016, 2018): questions about passages, with answers that stand in them word for word.

Offsets are code points. A file that counts UTF-16 units, as JavaScript and Java do, is put right; an answer marked -1, not in its
passage by the file's own account, is left out where the question has another. Any other mismatch is refused.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stairs.errors import BadInput, preview
from stairs.text.examples import Span
from stairs.text.input_files import printable
from stairs.text.labelled.notes import Notes
from stairs.text.tables.json_table import Cursor, describe
from stairs.text.tables.lines import fault


def read_spans(path: str | Path, encoding: str | None, notes: Notes) -> tuple[str, Iterator[Span]]:
    return "SQuAD: data, paragraphs, context, qas", Squad(path, encoding, notes).spans()


class Squad:
    """A SQuAD file read paragraph by paragraph."""

    def __init__(self, path: str | Path, encoding: str | None, notes: Notes):
        self.cursor, self.name, self.notes = Cursor(path, encoding), printable(path), notes
        self.shifted = self.absent = self.without = self.unasked = 0

    def spans(self) -> Iterator[Span]:
        cursor, found = self.cursor, False
        if not cursor.peek():
            raise BadInput(f"no text in {self.name}; give a SQuAD file")
        if cursor.peek() != "{":
            raise cursor.fault('no SQuAD file; it should begin {"data": [{"paragraphs": ...')
        for _, key in cursor.members():
            if key != "data":
                cursor.value()
                continue
            found = True
            for _ in cursor.elements("the list of articles"):
                yield from self.article()
        cursor.finish()
        if not found:
            raise fault(self.name, 1, 'no field "data"; a SQuAD file begins {"data": [{"paragraphs": ...')
        self.tell()

    def tell(self) -> None:
        if self.shifted:
            self.notes.say(f"{self.shifted} answers had offsets in UTF-16 units, now in characters")
        if self.absent:
            self.notes.say(f"{self.absent} answers marked -1 (not in their passage) were left out; their questions have others")
        if self.unasked:
            self.notes.say(f"{self.unasked} questions are empty")
        if self.without:
            self.notes.say(f"{self.without} questions cannot be answered from their passage")

    def article(self) -> Iterator[Span]:
        cursor = self.cursor
        line, found = cursor.line, False
        for _, key in cursor.members("an article"):
            if key == "paragraphs":
                found = True
                for _ in cursor.elements("the list of paragraphs"):
                    yield from self.paragraph()
            else:
                cursor.value()
        if not found:
            raise fault(self.name, line, 'an article without "paragraphs"; give it a list of them')

    def paragraph(self) -> Iterator[Span]:
        cursor, line = self.cursor, self.cursor.line
        passage: Any = None
        questions: list[tuple[int, Any]] | None = None
        for _, key in cursor.members("a paragraph"):
            if key == "qas":
                questions = [(at, cursor.value()) for at in cursor.elements("the list of questions")]
            else:
                value = cursor.value()
                passage = value if key == "context" else passage
        if not isinstance(passage, str):
            raise fault(self.name, line, f'the "context" of a paragraph is {describe(passage)}, not text; give it the passage')
        if questions is None:
            raise fault(self.name, line, 'a paragraph without "qas"; give it a list of questions')
        for at, question in questions:
            yield self.question(at, question, passage)

    def question(self, line: int, fields: Any, passage: str) -> Span:
        if not isinstance(fields, dict):
            raise fault(self.name, line, f"{describe(fields)} where a question should be; give an object with question, id and answers")
        question, name = self.text(line, fields, "question"), str(fields.get("id", ""))
        self.unasked += not question.strip()
        answers = fields.get("answers")
        impossible = fields.get("is_impossible", False)
        if not isinstance(answers, list) and not (impossible is True and answers is None):
            raise fault(self.name, line, f'the "answers" of question {preview(name)} are {describe(answers)}, not a list; give one')
        located = [place for place in (self.locate(line, answer, passage) for answer in answers or ()) if place]
        if answers and not located:
            raise fault(self.name, line, f"no answer to {preview(question)} stands in its passage; correct one or remove the question")
        if impossible is True and located:
            raise fault(self.name, line, f"question {preview(name)} has answers and is_impossible; correct one of the two")
        self.without += not located
        return Span(question, passage, tuple(located), name, f"{self.name}:{line}")

    def text(self, line: int, fields: dict, key: str) -> str:
        value = fields.get(key)
        if not isinstance(value, str):
            raise fault(self.name, line, f'the field "{key}" is {describe(value) if key in fields else "missing"}; give it a text')
        return value

    def locate(self, line: int, answer: Any, passage: str) -> tuple[int, str] | None:
        """(start, text) in code points; None for an answer that the file itself marks as absent."""
        if not isinstance(answer, dict):
            raise fault(self.name, line, f"an answer is {describe(answer)}; give an object with text and answer_start")
        text, start = self.text(line, answer, "text"), answer.get("answer_start")
        if type(start) is not int:
            raise fault(self.name, line, f'the "answer_start" of {preview(text)} is {describe(start)}; give a whole number')
        if not text:
            raise fault(self.name, line, "an answer is empty; give it a text, or remove it where there is no answer")
        if start >= 0 and passage.startswith(text, start):
            return start, text
        if start == -1 and text not in passage:
            self.absent += 1
            return None
        point = from_units(passage, start)
        if point is not None and passage.startswith(text, point):
            self.shifted += 1
            return point, text
        place = passage.find(text)
        cure = f"it stands at {place}: correct answer_start" if place >= 0 else "nor anywhere else in it: correct the text"
        raise fault(self.name, line, f"the answer {preview(text)} does not stand at {start} of its passage; {cure}")


def from_units(passage: str, unit: int) -> int | None:
    """The code point at a UTF-16 offset."""
    if unit < 0 or passage.isascii():
        return None
    return len(passage.encode("utf-16-le")[: 2 * unit].decode("utf-16-le", "ignore"))
