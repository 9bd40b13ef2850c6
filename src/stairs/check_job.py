"""What `stairs check` is asked for: labelled data looked over before anything is trained on it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stairs.errors import BadInput
from stairs.progress import quiet, say
from stairs.text.examples import Example, LabelledText, MultiLabelText, example_hash, example_texts
from stairs.text.input_files import printable
from stairs.text.labelled.data_checks import (
    RARE_EXAMPLES,
    SuspiciousColumn,
    gold_label,
    is_long,
    is_short,
    label_in_text,
    measure_lengths,
    repeated_texts,
    script_of,
    suspicious_columns,
)
from stairs.text.labelled.problems import CheckReport, Leakage, Problem, example_problem, line_of, new_problem

if TYPE_CHECKING:
    from stairs.text.labelled.column_names import Columns
    from stairs.text.tables import RecordTable

MIN_EXAMPLES = 20  # that can be cross-validated
MIN_OF_LABEL = 2  # of at least two labels


class Reading(NamedTuple):
    examples: list[Example]
    rows: int
    columns: str
    without_text: list[int]  # lines
    without_label: list[tuple[int, str]]  # lines and texts
    suspicious: list[SuspiciousColumn]


@dataclass(frozen=True)
class CheckJob:
    """One file to look over, and held-out files that must not share texts with it."""

    labels: str
    task: str | None = None
    columns: "Columns" = None
    encoding: str | None = None
    held_out: dict[str, str] = field(default_factory=dict)  # by "dev" and "test"
    seed: int = 0

    def check(self) -> CheckReport:
        from stairs.text.labelled import guess_task

        task = self.task or guess_task(self.labels, self.encoding, self.columns)
        reading = self.read(task)
        examples, name = reading.examples, printable(self.labels)
        if not examples:
            raise BadInput(f"no examples with a text and a label in {name}; a header alone is not enough")
        repeated = repeated_texts(examples)
        problems = [new_problem(name, line, "no text") for line in reading.without_text]
        problems += [new_problem(name, line, "no label", text) for line, text in reading.without_label]
        for kind, pairs in (("duplicate", repeated.exact), ("duplicate but for case and spaces", repeated.loose)):
            problems += [example_problem(examples[own], f"{kind} of line {line_of(examples[first])}") for own, first in pairs]
        for members in repeated.contradictions:
            counts = Counter(gold_label(examples[i]) for i in members)
            others = ", ".join(f"{label} ({count})" for label, count in counts.most_common())
            majority = counts.most_common(1)[0]
            suggestion = str(majority[0]) if majority[1] > len(members) / 2 else ""
            problems += [example_problem(examples[i], f"contradiction: the same text has the labels {others}", suggestion) for i in members]
        texts = [" ".join(example_texts(example)) for example in examples]
        problems += [example_problem(own, "very short") for own, text in zip(examples, texts, strict=True) if is_short(text)]
        problems += [example_problem(own, "beyond 512 tokens") for own, text in zip(examples, texts, strict=True) if is_long(text)]
        leakage: dict[str, Leakage] = {}
        for path in self.held_out.values():
            leakage[printable(path)], found = self.find_leaks(examples, path, task)
            problems += found
        labels = dict(Counter(label for own in examples for label in labels_of(own)).most_common())
        report: CheckReport = {
            "file": name, "task": task, "encoding": encoding_of(self.labels, self.encoding), "columns": reading.columns, "rows": reading.rows,
            "without_text": len(reading.without_text), "without_label": len(reading.without_label), "duplicates": len(repeated.exact),
            "loose_duplicates": len(repeated.loose), "contradictions": len(repeated.contradictions), "labels": labels,
            "rare_labels": [label for label, count in labels.items() if count < RARE_EXAMPLES], "lengths": measure_lengths(texts),
            "scripts": dict(Counter(map(script_of, texts)).most_common()), "suspicious_columns": reading.suspicious, "telling_words": [],
            "label_in_text": 0.0, "cross_validated_accuracy": None, "label_mistakes": 0, "not_cross_validated": "", "leakage": leakage,
            "problems": problems,
        }  # fmt: skip
        self.cross_validate(examples, report)
        return report

    def cross_validate(self, examples: Sequence[Example], report: CheckReport) -> None:
        """Add the probable mistakes, the surest first, and the words that give a label away."""
        labelled = [example for example in examples if isinstance(example, LabelledText)]
        counts = sorted(report["labels"].values(), reverse=True)
        if not labelled:
            report["not_cross_validated"] = f"labels are cross-validated for classify, and this is {report['task']}"
            return
        if len(labelled) < MIN_EXAMPLES or len(counts) < 2 or counts[1] < MIN_OF_LABEL:
            report["not_cross_validated"] = f"it takes {MIN_EXAMPLES} examples, and two labels with {MIN_OF_LABEL} each"
            return
        if len(counts) > len(labelled) / 2:
            report["not_cross_validated"] = f"{len(counts):,} labels for {len(labelled):,} examples; is another column the label?"
            return
        from stairs.tasks.label_mistakes import find_mistakes, telling_terms
        from stairs.tasks.out_of_fold import out_of_fold, text_features

        say(f"cross-validating tfidf on {len(labelled):,} examples")
        features = text_features(labelled)
        predicted = out_of_fold(labelled, features.matrix, self.seed)
        best = predicted.probabilities.argmax(1).tolist()
        right = sum(predicted.labels[i] == own.label for i, own in zip(best, labelled, strict=True))
        report["cross_validated_accuracy"] = right / len(labelled)
        report["label_in_text"] = label_in_text(labelled)
        terms = telling_terms(labelled, features.terms, features.matrix)
        report["telling_words"] = [{"word": own.term, "label": own.label, "share_of_label": own.coverage} for own in terms]
        mistakes = find_mistakes(labelled, predicted)
        report["label_mistakes"] = len(mistakes)
        report["problems"] = [
            *(
                example_problem(
                    labelled[own.number],
                    f"probable label mistake: given {own.given_probability:.2f}, suggested {own.suggested_probability:.2f}",
                    own.suggestion,
                )
                for own in mistakes
            ),
            *report["problems"],
        ]

    def read(self, task: str) -> Reading:
        """The examples, without those that have no text or no label; a table is looked at row by row, so that one bad row hides no other."""
        from stairs.text.labelled.label_lines import begins_with_labels, is_fasttext
        from stairs.text.tables.rows import is_table_file

        is_lines = is_fasttext(self.labels, self.encoding) or (self.columns is None and begins_with_labels(self.labels, self.encoding))
        if task == "classify" and is_table_file(self.labels) and not is_lines:
            return self.read_table()
        from stairs.text.labelled import read_examples

        with quiet():
            found = read_examples(self.labels, task, columns=self.columns, encoding=self.encoding)
        return Reading(list(found.examples), len(found.examples), found.columns, [], [], [])

    def read_table(self) -> Reading:
        from stairs.text.labelled.table_examples import describe_choice, open_columns

        table, chosen = open_columns(self.labels, self.encoding, "classify", self.columns)
        found = Reading([], 0, describe_choice(chosen, self.columns), [], [], [])
        rows = list(read_cells(table))
        for line, cells in rows:
            text, label = cell_text(cells[chosen["text"]]), cell_text(cells[chosen["label"]])
            if not text:
                found.without_text.append(line)
            elif not label:
                found.without_label.append((line, text))
            else:
                found.examples.append(LabelledText(text, label, f"{table.name}:{line}"))
        labelled = [cells for _, cells in rows if cell_text(cells[chosen["label"]])]
        others = [column for column in (rows[0][1] if rows else ()) if column not in chosen.values()]
        suspicious = suspicious_columns(labelled, chosen["label"], others) if others and labelled else []
        return found._replace(rows=len(rows), suspicious=suspicious)

    def find_leaks(self, examples: Sequence[Example], path: str, task: str) -> tuple[Leakage, list[Problem]]:
        """Examples of a held-out file that are in the training file, or nearly."""
        from stairs.text.labelled import read_examples
        from stairs.text.near_duplicates import nearest_duplicates

        with quiet():
            held_out = list(read_examples(path, task, columns=self.columns, encoding=self.encoding).examples)
        first_with: dict[bytes, Example] = {}
        for example in examples:
            first_with.setdefault(example_hash(example), example)
        same = [example for example in held_out if example_hash(example) in first_with]
        rest = [example for example in held_out if example_hash(example) not in first_with]
        near = nearest_duplicates([" ".join(example_texts(own)) for own in rest], [" ".join(example_texts(own)) for own in examples])
        problems = [example_problem(own, f"also in line {line_of(first_with[example_hash(own)])} of the training file") for own in same]
        problems += [
            example_problem(rest[own], f"nearly line {line_of(examples[other])} of the training file ({score:.0%} alike)")
            for own, (other, score) in near.items()
        ]
        return {"examples": len(held_out), "same": len(same), "near": len(near)}, problems


def labels_of(example: Example) -> tuple[str, ...]:
    """Those that are counted; none of tags and scores."""
    return example.labels if isinstance(example, MultiLabelText) else (example.label,) if isinstance(example, LabelledText) else ()


def read_cells(table: "RecordTable") -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, cells by column) of every row."""
    from stairs.text.tables.rows import all_rows, column_names

    names = column_names(table)
    for line, cells in all_rows(table, names):
        yield line, dict(zip(names, cells, strict=True))


def cell_text(cell: object) -> str:
    from stairs.text.tables.writers import cell_text

    return cell_text(cell).strip()


def encoding_of(path: str, encoding: str | None) -> str:
    """The encoding that a text file is read in; "" for a file that is not text."""
    from stairs.text.encoding import detect_encoding, text_codec
    from stairs.text.tables.lines import check_regular, file_suffix, open_binary

    if file_suffix(path) in (".parquet", ".xlsx"):
        return ""
    if encoding:
        return text_codec(encoding)
    with open_binary(check_regular(path)) as raw:
        return detect_encoding(raw.read(1 << 20), printable(path))


def write_problems(problems: Sequence[Problem], out: str) -> None:
    """As a table, in the format that the suffix of `out` tells."""
    from stairs.formats.output import open_output
    from stairs.text.tables.writers import OutputColumn, new_writer, output_suffix

    names = ("file", "line", "problem", "text", "label", "suggestion")
    suffix = output_suffix(out) if out != "-" else ".csv"
    with open_output(out) as file:
        writer = new_writer(file, suffix, [OutputColumn(name, name == "line") for name in names])
        writer.write([problem[name] for name in names] for problem in problems)  # type: ignore[literal-required]
        writer.close()


def check_out(out: str, *inputs: str) -> None:
    """Refuse an output that cannot be written, or that is an input, before anything is read."""
    from stairs.text.tables.writers import output_suffix

    if out == "-":
        return
    output_suffix(out)
    if not Path(out).absolute().parent.is_dir():
        raise BadInput(f"--out {out}: there is no folder {Path(out).absolute().parent}; create it, or choose another place")
    for path in inputs:
        if Path(out).exists() and Path(path).exists() and Path(out).samefile(path):
            raise BadInput(f"--out {out} is a file that is read; choose another name")
