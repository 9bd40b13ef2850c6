"""stairs check LABELS: what is wrong with labelled data, before anything is trained on it."""

from collections.abc import Iterator
from dataclasses import dataclass

from tyro.conf import Positional

from stairs.check_job import CheckJob, check_out, write_problems
from stairs.commands.flags import CommonFlags, GuessFlags, check_seed, check_top, parse, show
from stairs.errors import preview
from stairs.progress import say
from stairs.text.input_options import ColumnOptions
from stairs.text.labelled.problems import CheckReport

ABOUT = """Look over labelled data before anything is trained on it: rows without a text or a label, repeated texts, the same text with different
labels, labels that are probably wrong (by cross-validation of TF-IDF), rare labels, lengths, scripts, columns and words that give the label away, and
texts of --test or --dev that are in the training file, or nearly. --out writes every row to look at as a table. Nothing is changed."""
NOTHING = "nothing suspicious was found"
SHOWN_LABELS = 20
SHOWN_CHARACTERS = 70
MISTAKE = "probable label mistake"


@dataclass(frozen=True)
class Check(GuessFlags, ColumnOptions, CommonFlags):
    labels: Positional[str]  # labelled examples, as for stairs tune
    task: str | None = None  # what the labels are for; guessed if not given. Wrong labels are looked for in classify
    test: str | None = None  # test examples, which must not be in the training file; none if not given
    dev: str | None = None  # validation examples, the same; none if not given
    top: int = 20  # how many of the probable label mistakes to print
    out: str | None = None  # write every row to look at here: csv, tsv, jsonl, xlsx or parquet; none if not given
    encoding: str | None = None  # encoding of the files; detected if not given
    seed: int = 0  # random seed of the folds


def main(arguments: list[str]) -> int:
    options = parse(Check, arguments, "check", ABOUT)
    check_seed(options.seed)
    check_top(options.top)
    held_out = {name: path for name, path in (("dev", options.dev), ("test", options.test)) if path}
    if options.out:
        check_out(options.out, options.labels, *held_out.values())
    report = CheckJob(options.labels, options.task, options.columns(), options.encoding, held_out, options.seed).check()
    if options.out:
        write_problems(report["problems"], options.out)
        say(f"{len(report['problems']):,} rows to look at: {options.out}")
    if options.json:
        show(report)
    elif options.out != "-":
        print("\n".join(summary_lines(report, options.top)))
    return 0


def summary_lines(report: CheckReport, top: int) -> Iterator[str]:
    """What a person should know, the file first, then what to look at."""
    encoding = f"; {report['encoding']}" if report["encoding"] else ""
    yield f"{report['file']}: {report['rows']:,} rows for {report['task']}; {report['columns']}{encoding}"
    lengths = report["lengths"]
    yield f"  texts: {lengths['median']:,} characters in the middle, {lengths['longest']:,} at most; " + ", ".join(
        f"{count:,} {SCRIPTS[name]}" for name, count in report["scripts"].items()
    )
    if report["labels"]:
        names = list(report["labels"].items())
        more = f", and {len(names) - SHOWN_LABELS} more" if len(names) > SHOWN_LABELS else ""
        yield f"  {len(names)} labels: {', '.join(f'{quote(name)} {count:,}' for name, count in names[:SHOWN_LABELS])}{more}"
    if report["cross_validated_accuracy"] is not None:
        yield f"  cross-validated accuracy of tfidf: {report['cross_validated_accuracy']:.3f}"
    findings = list(finding_lines(report))
    yield from (f"- {line}" for line in findings or [NOTHING])
    mistakes = [problem for problem in report["problems"] if problem["problem"].startswith(MISTAKE)][:top]
    if mistakes:
        yield f"the {len(mistakes)} surest of the probable label mistakes:"
        for problem in mistakes:
            yield f"  line {problem['line']}: {quote(problem['label'])}, perhaps {quote(problem['suggestion'])}: {quote(problem['text'])}"


SCRIPTS = {"latin": "in Latin script", "chinese": "in Chinese", "mixed": "mixed", "other": "in another script", "none": "without letters"}


def finding_lines(report: CheckReport) -> Iterator[str]:
    lengths = report["lengths"]
    counted = (
        ("without_text", "rows without a text"),
        ("without_label", "rows without a label, which stairs ask RUN --file can predict"),
        ("duplicates", "rows that repeat a text with its label"),
        ("loose_duplicates", "rows that repeat a text but for case and spaces"),
        ("contradictions", "texts with different labels in different rows"),
        ("label_mistakes", "labels that are probably wrong"),
    )
    for name, sentence in counted:
        if report[name]:  # type: ignore[literal-required]
            yield f"{sentence}: {report[name]:,}"  # type: ignore[literal-required]
    if report["rare_labels"]:
        rare = ", ".join(map(quote, report["rare_labels"][:SHOWN_LABELS]))
        yield f"labels with fewer than 10 examples: {rare}; collect more, or merge them"
    if lengths["short"]:
        yield f"texts of at most 3 characters: {lengths['short']:,}"
    if lengths["beyond_512_tokens"]:
        share = lengths["beyond_512_tokens"] / max(report["rows"], 1)
        yield f"texts of more than about 512 tokens, all that bert reads: {lengths['beyond_512_tokens']:,} ({share:.1%})"
    for column in report["suspicious_columns"]:
        how = f"by {column['how']}, with an accuracy of {column['accuracy']:.3f}"
        yield f"the column {quote(column['column'])} predicts the label by itself, {how}; does it come from the label?"
    for word in report["telling_words"]:
        telling = f"{word['share_of_label']:.0%} of the texts of {quote(word['label'])} contain {quote(word['word'])}, and almost no others do"
        yield f"{telling}; does it come from the label?"
    if report["label_in_text"] > 0.1:
        yield f"{report['label_in_text']:.0%} of the texts contain their own label as a word; is it part of the text?"
    for file, leak in report["leakage"].items():
        if leak["same"] or leak["near"]:
            yield f"of the {leak['examples']:,} examples of {file}, {leak['same']:,} are in the training file, and {leak['near']:,} more nearly"
    if report["not_cross_validated"]:
        yield f"label mistakes were not looked for: {report['not_cross_validated']}"


def quote(text: str) -> str:
    return preview(text[:SHOWN_CHARACTERS], SHOWN_CHARACTERS)
