"""What `stairs label-next` is asked for: the rows of an unlabelled file that are most worth a label."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from stairs.errors import BadInput, Unsupported
from stairs.predict_job import as_text, new_table_writer, trained_columns
from stairs.progress import say, track
from stairs.text.examples import text_hash
from stairs.text.input_files import printable
from stairs.text.tables.writers import OutputColumn, output_suffix

if TYPE_CHECKING:
    from stairs.tasks import Task

MAX_COUNT = 100_000


class ChosenRows(NamedTuple):
    rows: int
    texts: int  # different ones that were looked at
    repeated: int
    known: int  # that are labelled already


@dataclass(frozen=True)
class LabelNextJob:
    """One file; `labelled` are files whose texts have a label already. Without `out`, or with "-", the rows go to stdout."""

    file: str
    count: int = 50
    out: str = "-"
    labelled: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)  # text
    encoding: str | None = None
    as_json: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_COUNT:
            raise BadInput(f"--count {self.count} is not between 1 and {MAX_COUNT:,}")
        if self.file == "-":
            raise BadInput("rows cannot be read from stdin, since they are read twice; save them to a file")
        from stairs.check_job import check_out

        check_out(self.out, self.file, *self.labelled)

    def choose(self, task: "Task") -> ChosenRows:
        """Write the rows that a run would learn most from, with their uncertainty, the most valuable first."""
        if not task.gives_labels or len(getattr(task, "labels", ())) < 2:
            raise Unsupported(f"a {task.name} run of {task.model_name} gives no labels; give one that was tuned on labels, or a climb")
        from stairs.formats.output import open_output
        from stairs.tasks.valuable_texts import choose_texts, uncertainties
        from stairs.text.labelled.text_columns import choose_text_columns, open_texts
        from stairs.text.tables.rows import all_rows, column_names

        trained = trained_columns(task)
        table = open_texts(self.file, self.encoding, self.columns, trained)
        names = column_names(table)
        position = choose_text_columns(table, names, self.columns, trained, False).text
        known_texts = self.known_texts(trained)
        seen: set[bytes] = set()
        texts: list[str] = []
        lines: list[int] = []
        repeated = known = 0
        for number, (line, cells) in enumerate(all_rows(table, names)):
            text = as_text(table.name, line, names[position], cells[position])
            key = text_hash(text)
            if key in known_texts:
                known += 1
            elif key in seen:
                repeated += 1
            elif text.strip():
                seen.add(key)
                texts.append(text)
                lines.append(number)
        if not texts:
            raise BadInput(f"no text without a label in {printable(self.file)}; give other rows")
        with track("reading the texts", total=len(texts), unit="texts") as advance:
            uncertainty = uncertainties(task, texts, advance)
        chosen = choose_texts(task, texts, uncertainty, self.count)
        wanted = {lines[own.number] for own in chosen}
        rows = {number: cells for number, (_, cells) in enumerate(all_rows(table, names)) if number in wanted}
        suffix = output_suffix(self.out) if self.out != "-" else ".jsonl" if self.as_json else ".csv"
        with open_output(self.out) as file:
            writer = new_table_writer(file, self.file, table, names, [OutputColumn("uncertainty", True)], suffix)
            writer.write([*rows[lines[own.number]], round(own.uncertainty, 4)] for own in chosen)
            writer.close()
        return ChosenRows(len(chosen), len(texts), repeated, known)

    def known_texts(self, trained: Mapping[str, str]) -> set[bytes]:
        """Hashes of the texts of the files that are labelled already."""
        from stairs.text.labelled.text_columns import choose_text_columns, open_texts
        from stairs.text.tables.rows import all_rows, column_names

        found: set[bytes] = set()
        for path in self.labelled:
            table = open_texts(path, self.encoding, self.columns, trained)
            names = column_names(table)
            position = choose_text_columns(table, names, self.columns, trained, False).text
            found |= {text_hash(as_text(table.name, line, names[position], cells[position])) for line, cells in all_rows(table, names)}
        return found


def describe_choice(chosen: ChosenRows, out: str) -> None:
    """For a person."""
    left = [f"{count:,} {what}" for count, what in ((chosen.repeated, "repeated"), (chosen.known, "labelled already")) if count]
    say(f"{'stdout' if out == '-' else out}: {chosen.rows:,} of {chosen.texts:,} texts{'; left out: ' + ', '.join(left) if left else ''}")
