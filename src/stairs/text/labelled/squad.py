"""SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016, 2018): questions about passages, with answers that are spans of them.

Offsets are code points. A file that counts UTF-16 units, as JavaScript and Java do, is corrected. An answer with offset -1, which the file itself
says is not in the passage, is dropped where the question has another. Any other mismatch is refused.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stairs.errors import BadInput, preview
from stairs.text.examples import Question
from stairs.text.input_files import printable
from stairs.text.labelled.notes import DataNotes
from stairs.text.tables.json_table import JsonCursor, describe_type
from stairs.text.tables.lines import input_error


class SquadFile:
    """A SQuAD file read paragraph by paragraph."""

    def __init__(self, path: str | Path, encoding: str | None, notes: DataNotes):
        self.cursor, self.name, self.notes = JsonCursor(path, encoding), printable(path), notes
        self.utf16_offsets = self.absent_answers = self.unanswerable = self.empty_questions = 0

    def questions(self) -> Iterator[Question]:
        cursor, has_data = self.cursor, False
        if not cursor.peek():
            raise BadInput(f"no text in {self.name}; give a SQuAD file")
        if cursor.peek() != "{":
            raise cursor.fault('not a SQuAD file; it should begin {"data": [{"paragraphs": ...')
        for _, key in cursor.members():
            if key != "data":
                cursor.value()
                continue
            has_data = True
            for _ in cursor.elements("the list of articles"):
                yield from self.article()
        cursor.expect_end()
        if not has_data:
            raise input_error(self.name, 1, 'no field "data"; a SQuAD file begins {"data": [{"paragraphs": ...')
        self.add_remarks()

    def add_remarks(self) -> None:
        if self.utf16_offsets:
            self.notes.add_remark(f"{self.utf16_offsets} answers had offsets in UTF-16 units; they were converted to characters")
        if self.absent_answers:
            self.notes.add_remark(f"{self.absent_answers} answers with offset -1 (not in their passage) were dropped; their questions have others")
        if self.empty_questions:
            self.notes.add_remark(f"{self.empty_questions} questions are empty")
        if self.unanswerable:
            self.notes.add_remark(f"{self.unanswerable} questions cannot be answered from their passage")

    def article(self) -> Iterator[Question]:
        cursor = self.cursor
        line, has_paragraphs = cursor.line, False
        for _, key in cursor.members("an article"):
            if key == "paragraphs":
                has_paragraphs = True
                for _ in cursor.elements("the list of paragraphs"):
                    yield from self.paragraph()
            else:
                cursor.value()
        if not has_paragraphs:
            raise input_error(self.name, line, 'an article without "paragraphs"; give it a list of them')

    def paragraph(self) -> Iterator[Question]:
        cursor, line = self.cursor, self.cursor.line
        passage: object = None
        questions: list[tuple[int, object]] | None = None
        for _, key in cursor.members("a paragraph"):
            if key == "qas":
                questions = [(at, cursor.value()) for at in cursor.elements("the list of questions")]
            else:
                value = cursor.value()
                passage = value if key == "context" else passage
        if not isinstance(passage, str):
            raise input_error(self.name, line, f'the "context" of a paragraph is {describe_type(passage)}, not text; give it the passage')
        if questions is None:
            raise input_error(self.name, line, 'a paragraph without "qas"; give it a list of questions')
        for at, question in questions:
            yield self.question(at, question, passage)

    def question(self, line: int, fields: object, passage: str) -> Question:
        if not isinstance(fields, dict):
            raise input_error(self.name, line, f"{describe_type(fields)} where a question should be; give an object with question, id and answers")
        question, name = self.text(line, fields, "question"), str(fields.get("id", ""))
        self.empty_questions += not question.strip()
        answers = fields.get("answers")
        impossible = fields.get("is_impossible", False)
        if not isinstance(answers, list) and not (impossible is True and answers is None):
            raise input_error(self.name, line, f'the "answers" of question {preview(name)} are {describe_type(answers)}, not a list; give one')
        located = [span for span in (self.locate(line, answer, passage) for answer in answers or ()) if span]
        if answers and not located:
            raise input_error(self.name, line, f"no answer to {preview(question)} is in its passage; correct one or remove the question")
        if impossible is True and located:
            raise input_error(self.name, line, f"question {preview(name)} has both answers and is_impossible; correct one of the two")
        self.unanswerable += not located
        return Question(question, passage, tuple(located), name, f"{self.name}:{line}")

    def text(self, line: int, fields: dict[str, Any], key: str) -> str:
        value = fields.get(key)
        if not isinstance(value, str):
            raise input_error(self.name, line, f'the field "{key}" is {describe_type(value) if key in fields else "missing"}; give it a text')
        return value

    def locate(self, line: int, answer: object, passage: str) -> tuple[int, str] | None:
        """(start, text) in code points; None for an answer that the file itself says is absent."""
        if not isinstance(answer, dict):
            raise input_error(self.name, line, f"an answer is {describe_type(answer)}; give an object with text and answer_start")
        text, start = self.text(line, answer, "text"), answer.get("answer_start")
        if type(start) is not int:
            raise input_error(self.name, line, f'the "answer_start" of {preview(text)} is {describe_type(start)}; give a whole number')
        if not text:
            raise input_error(self.name, line, "an answer is empty; give it a text, or remove it if there is no answer")
        if start >= 0 and passage.startswith(text, start):
            return start, text
        if start == -1 and text not in passage:
            self.absent_answers += 1
            return None
        point = from_utf16_offset(passage, start)
        if point is not None and passage.startswith(text, point):
            self.utf16_offsets += 1
            return point, text
        actual = passage.find(text)
        advice = f"it is at {actual}: correct answer_start" if actual >= 0 else "nor anywhere else in it: correct the text"
        raise input_error(self.name, line, f"the answer {preview(text)} is not at {start} of its passage; {advice}")


def from_utf16_offset(passage: str, unit: int) -> int | None:
    """The code point at a UTF-16 offset."""
    if unit < 0 or passage.isascii():
        return None
    return len(passage.encode("utf-16-le")[: 2 * unit].decode("utf-16-le", "ignore"))
