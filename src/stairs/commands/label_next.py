"""stairs label-next RUN FILE: which rows are most worth a label?"""

from dataclasses import dataclass

from tyro.conf import Positional

from stairs.commands.flags import CommonFlags, GuessFlags, parse
from stairs.label_next_job import LabelNextJob, describe_choice

ABOUT = """The rows of an unlabelled file that are most worth a label: those that a run is least certain of and that differ most from one another.
All columns are kept, and `uncertainty` is added: 1 where two labels are equally probable, 0 where one is sure. Texts that occur twice are taken once.
The run is one that gives labels, or a climb, whose recommended model is taken."""


@dataclass(frozen=True)
class LabelNext(GuessFlags, CommonFlags):
    run: Positional[str]  # a run folder, or the folder of a climb
    file: Positional[str]  # rows without labels: csv, tsv, jsonl, xlsx, parquet, or a text on each line
    count: int = 50  # how many rows to choose
    labelled: tuple[str, ...] = ()  # files whose texts have a label already, such as the training file; they are left out
    text: str | None = None  # column of the text, by name or number; as in the training file, or guessed, if not given
    out: str | None = None  # write the rows here: csv, tsv, jsonl, xlsx or parquet; stdout if not given
    encoding: str | None = None  # encoding of the files; detected if not given


def main(arguments: list[str]) -> int:
    options = parse(LabelNext, arguments, "label-next", ABOUT)
    columns = {} if options.text is None else {"text": options.text}
    out = options.out or "-"
    job = LabelNextJob(options.file, options.count, out, options.labelled, columns, options.encoding, options.json)
    from stairs.api import load

    describe_choice(job.choose(load(options.run)), out)
    return 0
