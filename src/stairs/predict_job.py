"""What `stairs ask RUN --file new.csv --out predictions.csv` is asked for: the rows of a file with the predictions of a run beside them.

Rows are read, predicted and written in chunks, so that the memory is bounded whatever the size of the file. The output is a new file that appears
when it is complete: after an error, a signal or a full disk there is none.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from stairs.errors import BadInput
from stairs.formats.output import open_output
from stairs.progress import format_count, quiet, say, track
from stairs.tasks.prediction_options import PredictionOptions
from stairs.tasks.row_predictions import Cells, PredictionSummary, RowPredictor, reads_two_texts
from stairs.text.input_files import printable
from stairs.text.labelled.choice_cells import ChoiceCells
from stairs.text.labelled.text_columns import choose_text_columns, open_texts
from stairs.text.tables import RecordTable
from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.lines import input_error
from stairs.text.tables.parquet_table import ParquetTable
from stairs.text.tables.rows import ABSENT, LineTable, all_rows, column_names, comes_from_spreadsheet, estimate_rows
from stairs.text.tables.writers import OutputColumn, TableWriter, free_name, new_writer, output_suffix

if TYPE_CHECKING:
    from stairs.tasks import Task

MAX_CHARACTERS = 1_000_000  # of a text
CHUNK_CHARACTERS = 4_000_000  # of the texts that are predicted at once
MAX_COUNTED = 1000  # different predictions; of more, none are counted
Row = tuple[int, list[Any], str]  # its line, its cells and its text


@dataclass(frozen=True)
class PredictJob:
    """One file, to be answered row by row. Without `out`, or with "-", the rows go to stdout."""

    file: str
    out: str = "-"
    columns: Mapping[str, str] = field(default_factory=dict)  # those that are named: text, second_column
    encoding: str | None = None
    as_json: bool = False  # on stdout: JSON lines instead of CSV
    options: PredictionOptions = field(default_factory=PredictionOptions)
    answer_options: dict[str, object] = field(default_factory=dict)  # keywords of the task's `answer`

    def __post_init__(self) -> None:
        self.options.check()
        if self.file == "-":
            raise BadInput("rows cannot be read from stdin; save them to a file, or leave --out out and give a text on each line")
        if self.out != "-":
            output_suffix(self.out)
            folder = Path(self.out).absolute().parent
            if not folder.is_dir():
                raise BadInput(f"--out {self.out}: there is no folder {folder}; create it, or choose another place")
            if Path(self.out).exists() and Path(self.file).exists() and Path(self.out).samefile(self.file):
                raise BadInput(f"--out {self.out} is the file that is read; choose another name")

    @property
    def suffix(self) -> str:
        """How the rows are written."""
        return output_suffix(self.out) if self.out != "-" else ".jsonl" if self.as_json else ".csv"

    def predict(self, task: "Task") -> PredictionSummary:
        """Write the predictions of a task, and say what they are."""
        return FilePrediction(self, task).write()


class FilePrediction:
    """The file and the task of a job, while it runs."""

    def __init__(self, job: PredictJob, task: "Task") -> None:
        self.job, self.task = job, task
        trained = trained_columns(task)
        self.table = open_texts(job.file, job.encoding, job.columns, trained)
        self.names = column_names(self.table)
        self.choices = ChoiceCells.find(self.table, self.names, job.columns) if task.example_kind == "choose" else None
        if self.choices is not None:
            self.text_columns = self.choices.text_columns
        else:
            self.text_columns = choose_text_columns(self.table, self.names, job.columns, trained, reads_two_texts(task))
        self.predictor = RowPredictor(task, job.options, job.answer_options, self.explainer())
        self.without_text = self.row_count = self.unsure = 0
        self.counts: Counter[str] = Counter()

    def explainer(self) -> Any:
        if not self.job.options.why:
            return None
        from stairs.inspection.reasons import why_cells

        return why_cells(self.task)

    def write(self) -> PredictionSummary:
        started = time.monotonic()
        chunks = self.chunks()
        first = next(chunks, [])
        if not first:
            raise BadInput(f"no rows in {printable(self.job.file)}; a header alone is not enough")
        from stairs.tasks.vocabulary_check import check_vocabulary

        check_vocabulary(self.task, (text for *_, text in first), printable(self.job.file))
        cells = self.predict(first)
        total = estimate_rows(self.job.file, self.table)
        with open_output(self.job.out) as file, track("predicting", total=total, unit="rows") as advance:
            writer = self.new_writer(file)
            self.write_chunk(writer, first, cells)
            advance(len(first))
            for chunk in chunks:
                self.write_chunk(writer, chunk, self.predict(chunk))
                advance(len(chunk))
            writer.close()
        return self.summary(time.monotonic() - started)

    def chunks(self) -> Iterator[list[Row]]:
        """As many rows as are predicted at once."""
        chunk: list[Row] = []
        characters = 0
        for line, cells in all_rows(self.table, self.names):
            text = self.text_of(line, cells)
            chunk.append((line, cells, text))
            characters += len(text)
            if len(chunk) >= self.predictor.chunk_size or characters >= CHUNK_CHARACTERS:
                yield chunk
                chunk, characters = [], 0
        if chunk:
            yield chunk

    def text_of(self, line: int, cells: Sequence[Any]) -> str:
        """The text of a row; a number counts as one, and a cell that is empty or missing is empty."""
        text = as_text(self.table.name, line, self.names[self.text_columns.text], cells[self.text_columns.text])
        question = self.choices.question(cells) if self.choices else ""
        return f"{text} {question}" if question else text

    def predict(self, chunk: Sequence[Row]) -> list[Cells]:
        """The new cells of each row; empty ones where there is no text."""
        texts = [text for *_, text in chunk]
        seconds = None if self.text_columns.second is None and self.choices is None else [self.second_of(line, cells) for line, cells, _ in chunk]
        numbers = [number for number, text in enumerate(texts) if text.strip() and (seconds is None or seconds[number])]
        known = [texts[number] for number in numbers]
        known_seconds = None if seconds is None else [seconds[number] for number in numbers]
        with quiet():  # what a task says of the texts that it is given, it would say of each chunk
            found = self.predictor.predict(known, known_seconds, [f"{self.table.name}:{chunk[number][0]}" for number in numbers])
        width = len(self.predictor.columns)
        rows: list[Cells] = [[None] * width for _ in chunk]
        for number, cells in zip(numbers, found, strict=True):
            rows[number] = cells
        return rows

    def second_of(self, line: int, cells: Sequence[Any]) -> str | tuple[str, ...]:
        if self.choices is not None:
            return self.choices.of_row(line, cells)
        assert self.text_columns.second is not None
        text = as_text(self.table.name, line, self.names[self.text_columns.second], cells[self.text_columns.second])
        return text if text.strip() else ""

    def new_writer(self, file: BinaryIO) -> TableWriter:
        added = [OutputColumn(column.name, column.is_number) for column in self.predictor.columns]
        return new_table_writer(file, self.job.file, self.table, self.names, added, self.job.suffix)

    def write_chunk(self, writer: TableWriter, chunk: Sequence[Row], cells: Sequence[Cells]) -> None:
        writer.write([*own, *new] for (_, own, _), new in zip(chunk, cells, strict=True))
        self.row_count += len(chunk)
        self.without_text += sum(new[0] is None for new in cells)
        names = [column.name for column in self.predictor.columns]
        if "unsure" in names:
            self.unsure += sum(new[names.index("unsure")] == "yes" for new in cells)
        if self.predictor.labels and len(self.counts) <= MAX_COUNTED:
            self.counts.update(str(new[0]) for new in cells if new[0] is not None)

    def summary(self, seconds: float) -> PredictionSummary:
        out = "stdout" if self.job.out == "-" else self.job.out
        found: PredictionSummary = {"out": out, "rows": self.row_count, "without_text": self.without_text, "seconds": round(seconds, 3)}
        if self.job.options.unsure_below is not None:
            found["unsure"] = self.unsure
        if self.counts and len(self.counts) <= MAX_COUNTED:
            found["predictions"] = dict(self.counts.most_common())
        return found


def new_table_writer(
    file: BinaryIO, source: str, table: RecordTable | LineTable, names: Sequence[str], added: Sequence[OutputColumn], suffix: str
) -> TableWriter:
    """For the columns of a table, as they are in the file `source`, and others behind them, whose names are changed if the table has them."""
    types = table.file.schema_arrow.types if isinstance(table, ParquetTable) else [None] * len(names)
    columns = [OutputColumn(name, arrow_type=own) for name, own in zip(names, types, strict=True)]
    for column in added:
        name = free_name(column.name, [own.name for own in columns])
        if name != column.name:
            say(f"{table.name} has a column {column.name!r} already, so the new one is called {name!r}")
        columns.append(OutputColumn(name, column.is_number))
    delimiter = table.delimiter if isinstance(table, CsvTable) else ","
    return new_writer(file, suffix, columns, "," if delimiter == "\t" else delimiter, comes_from_spreadsheet(source))


def summary_sentence(summary: PredictionSummary) -> str:
    """What was predicted, for a person."""
    parts = [f"{summary['rows']:,} rows in {summary['seconds']:.1f} s ({format_count(summary['rows'] / max(summary['seconds'], 1e-9))} rows/s)"]
    counts = list(summary.get("predictions", {}).items())
    if counts:
        parts.append(", ".join(f"{count:,} {label or 'without a label'}" for label, count in counts[:8]) + (", ..." if len(counts) > 8 else ""))
    if summary["without_text"]:
        parts.append(f"{summary['without_text']:,} without a text, and so without a prediction")
    if "unsure" in summary:
        parts.append(f"{summary['unsure']:,} unsure")
    return f"{summary['out']}: {'; '.join(parts)}"


def as_text(name: str, line: int, column: str, cell: object) -> str:
    if cell is None or cell is ABSENT:
        return ""
    if isinstance(cell, list | dict):
        raise input_error(name, line, f"the field {column!r} is a list or an object, not text; give a string")
    text = cell if isinstance(cell, str) else str(cell)
    if len(text) > MAX_CHARACTERS:
        raise input_error(name, line, f"a text of {len(text):,} characters, and at most {MAX_CHARACTERS:,} are read; shorten it, or remove the row")
    return text


def trained_columns(task: "Task") -> dict[str, str]:
    """The columns of the file that a run was trained on, by the names of their flags, if the run knows them."""
    if task.folder is None:
        return {}
    from stairs.training.run import Run

    try:
        return Run(task.folder).settings.get("columns", {})
    except BadInput:
        return {}
