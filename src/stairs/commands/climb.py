"""stairs climb [DATA]: which model is worth its cost for these texts and labels?"""

import shlex
import sys
from dataclasses import dataclass
from typing import Literal

from tyro.conf import Positional

from stairs import progress
from stairs.climb_job import ClimbJob
from stairs.commands.flags import CommonFlags, GuessFlags, parse, show
from stairs.text.input_options import ColumnOptions, CorpusOptions, TokenizerOptions

ABOUT = """Train models on the same texts and labels within a budget, evaluate them on the same held-out data, and say which is the cheapest that is
good enough:  stairs climb reviews.csv.  Without a file it climbs on the prose of the Python installation itself, where the label of a text is the
package that it documents. Nothing is downloaded. A climb that was stopped is resumed by the same command."""


@dataclass(frozen=True)
class Climb(TokenizerOptions, GuessFlags, ColumnOptions, CorpusOptions, CommonFlags):
    # a file with texts and labels: csv, tsv, xlsx, jsonl, parquet, conll, squad; or files of text alone; the prose of Python if not given
    data: Positional[tuple[str, ...]] = ()
    corpus: tuple[str, ...] = ()  # files or folders of text to pretrain on; if not given, the texts of the training examples
    labels: str | None = None  # labelled examples, if DATA is the text to pretrain on; without any, bits per character are compared
    pairs: tuple[str, ...] = ()  # for a row of cove: pairs of sentences as for stairs train, in the language of the labelled texts and another
    task: str | None = None  # what the labels are for: classify, multilabel, regress, compare, tag, span, choose or translate; guessed if not given
    budget: str = "10m"  # time for all models together, such as 90s, 10m or 2h
    models: str | None = None  # models to train, separated by commas; if not given, all but variants of bert: roberta, unilm and xlnet
    adopted: tuple[str, ...] = ()  # runs, or installed packages of weights, to compare as well; the packages installed here that fit if not given
    group: str | None = None  # column whose equal values, such as authors, stay in one split; if not given, documents and passages do
    limit: int | None = None  # maximum number of labelled examples, drawn by the seed; all if not given
    metric: str | None = None  # metric that selects the best weights and ranks the models, such as macro_f1; the task's first if not given
    cost: Literal["train", "latency", "size", "memory"] = "train"  # cost that is compared first among models as good as the best
    order: int = 3  # order of the n-grams
    plans_from: str | None = None  # folder of another climb whose model sizes and clocks this one repeats; new ones if not given
    out: str | None = None  # folder of the report and the runs; runs/climb-DATA if not given
    no_texts: bool = False  # keep the texts of examples out of the report: it names file and line instead
    seed: int = 0  # random seed
    keep_checkpoints: bool = False  # keep the optimizer states and checkpoints of the runs, which are deleted when the climb ends
    verbose: bool = False  # a line for every evaluation on validation data


def main(arguments: list[str]) -> int:
    options = parse(Climb, arguments, "climb", ABOUT)
    progress.verbose = options.verbose
    models = (options.models,) if options.models else ()
    own = (
        "corpus", "labels", "pairs", "task", "budget", "adopted", "group", "limit", "metric", "cost", "order", "plans_from", "out", "seed",
        "keep_checkpoints", "no_texts",
    )  # fmt: skip
    given = {name: getattr(options, name) for name in own}
    job = ClimbJob(options.data, models=models, columns=options.columns(), reading=options, tokenizing=options, **given)
    report = job.climb(on_terminal=True, command=shlex.join(["stairs", "climb", *arguments]))
    folder = report.pop("folder")
    if options.json:
        show(report)
    else:
        from stairs.comparison.next_commands import next_commands
        from stairs.comparison.table import report_text

        print(f"{report_text(report)}\n\nreport: {folder}/report.html\nnext:")
        print("\n".join(f"  {line}" for line in next_commands(report, folder)))
    if bugs := [row["model"] for row in report["rows"] if row.get("is_bug")]:
        print(f"stairs: error: a bug stopped {', '.join(bugs)}; the other models are done", file=sys.stderr)
    if report.get("is_stopped"):
        print("stairs: stopped; the same command goes on with the models that are left", file=sys.stderr)
        return 130
    return 1 if bugs else 0
