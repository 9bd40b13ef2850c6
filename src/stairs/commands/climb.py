"""stairs climb [CORPUS]: which step is worth it for this text and these labels?"""

import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tyro.conf import Positional

from stairs import progress
from stairs.commands import pairs
from stairs.commands.flags import Common, Cutting, Guessing, Reading, check_seed, open_corpus, parse, refuse_inside, show, text_size, tokenizer_spec
from stairs.errors import BadInput, Unsupported
from stairs.files import LOCK_FILE, write_lock
from stairs.models.transfer_options import SUPERVISED_TASKS
from stairs.progress import say
from stairs.training.options import parse_duration
from stairs.training.run import RUN_FILE, check_unlocked, check_writable, is_leftover

ABOUT = """Train the steps on the same text and labels within a budget, judge them on the same held-out data, and say which is the cheapest that
is good enough. Without a corpus it climbs on the prose of the Python installation itself, with the package a text documents as its
label. Nothing is downloaded. Stopped and begun again, it goes on where it was."""
REPORT = "report.json"
NUMBERS = "numbers"
CLIMBED = (*SUPERVISED_TASKS, "translate")


@dataclass(frozen=True)
class Climb(Cutting, Guessing, Reading, Common):
    corpus: Positional[tuple[str, ...]] = ()  # files or folders of text
    labels: str | None = None  # labelled examples of any task: csv, tsv, jsonl, parquet, conll, squad
    task: str | None = None  # what the labels are for: classify, compare, tag, span or translate; found out, or classify if there are none
    columns: str | None = None  # which of the labels' are meant, by name or number, as text=review,label=stars
    budget: str = "10m"  # time for all steps, such as 90s, 10m or 2h
    models: str | None = None  # only these, separated by commas
    adopted: tuple[str, ...] = ()  # runs, or installed packages of weights, that are climbed as well; the installed ones that are known if not given
    group: str | None = None  # column of the labels, by name or number, such as an author or a document: examples that agree in it stay together
    limit: int | None = None  # take at most so many of the labelled examples, drawn by the seed
    metric: str | None = None  # chooses the best weights and ranks the models: accuracy, macro_f1, spearman, pearson, f1, exact, bleu or chrf
    cost: Literal["train", "latency", "size", "memory"] = "train"  # compared first among the models that are as good as the best
    order: int = 3  # of the n-grams
    plans_from: str | None = None  # the folder of another climb, to do it again: the same sizes and the same clock, however long it takes
    out: str | None = None  # folder of the report and the runs; runs/climb-CORPUS if not given
    seed: int = 0  # of everything random
    verbose: bool = False  # a line for every look at validation data


def main(arguments: list[str]) -> int:
    options = parse(Climb, arguments, "climb", ABOUT)
    progress.verbose = options.verbose
    check_seed(options.seed)
    budget = parse_duration(options.budget)
    example_kind = asked(options)
    out = Path(options.out) if options.out else Path("runs") / f"climb-{name_of(options, example_kind)}"
    check(out, options)
    from stairs.climb.compilation import compile_kernels, warm_up
    from stairs.climb.experiment import Experiment, Plans, decontaminate, split_examples
    from stairs.climb.report import write
    from stairs.climb.runner import climb, load_plans
    from stairs.climb.table import watching, written
    from stairs.climb.time_shares import max_held_out_pairs
    from stairs.tasks.metrics import choose_metric
    from stairs.text.embedded.python_prose import PythonProse
    from stairs.text.shards import build_shards

    compile_kernels()  # ahead of the clock, once for this machine
    models = [model.strip() for model in options.models.split(",")] if options.models else None
    began = time.monotonic()
    labelled = examples(options, example_kind)
    parts = split_examples(labelled, example_kind, options.seed, max_held_out_pairs(budget), most=options.limit,
        column=options.group) if labelled else {}
    corpus: Any = open_corpus(options.corpus, options) if options.corpus else PythonProse()
    if labelled and example_kind != "translate":  # those that translate read no corpus
        corpus = decontaminate(corpus, parts, embedded=options.labels is None)
    chosen = choose_metric(example_kind, labelled, options.metric) if labelled else ""
    experiment = Experiment(
        lambda model: build_shards(corpus, tokenizer_spec(options, model)), out, "" if example_kind == "translate" else corpus.content_hash,
            options.seed,
            options.order,
        megabytes=0.0 if example_kind == "translate" else text_size(corpus) / 1e6, plans_from=Path(options.plans_from) if options.plans_from
            else None,
        plans=load_plans(Path(options.plans_from)) if options.plans_from else Plans(), pair_tokenizer=pairs.spec_of(options, "transformer",
            options.labels is None),
        metric=chosen, removed_text=getattr(corpus, "removed_text", {}), **parts,
    )  # fmt: skip
    said = shlex.join(["stairs", "climb", *arguments])
    with write_lock(out):
        others = adopted(options, example_kind, out)
        warming = time.monotonic()
        warm_up(models or ())
        began += time.monotonic() - warming  # which no budget is to pay for
        with watching(budget) as observer:
            report = climb(experiment, budget=budget, models=models, adopted=others, command=said, observer=observer, began=began, cost=options.cost)
        page = write(report, out)
    if options.json:
        show(report)
    else:
        print(written(report))
        print(f"\nreport: {page}")
    broken = [row["model"] for row in report["rows"] if row.get("bug")]
    if broken:
        print(f"stairs: error: a bug stopped {', '.join(broken)}; the other models are done", file=sys.stderr)
    return 1 if broken else 0


def asked(options: Climb) -> str:
    """What the labels are for."""
    if options.labels is None:
        if options.corpus and options.task:
            raise BadInput(f"--task {options.task} says what labels are for; give some with --labels")
        return options.task or "classify"
    from stairs.text.labelled import guess_task

    task = options.task or guess_task(options.labels, options.encoding, options.columns)
    if task not in CLIMBED:
        there = f"climb judges {', '.join(CLIMBED)}: name one of them with --task, or give another file"
        raise Unsupported(f"{options.labels} holds examples for {task}; {there}")
    return task


def name_of(options: Climb, example_kind: str) -> str:
    """What is climbed on."""
    if example_kind == "translate":
        return Path(options.labels).name.split(".")[0] if options.labels else NUMBERS
    return Path(options.corpus[0]).name.split(".")[0] if options.corpus else "python"


def check(out: Path, options: Climb) -> None:
    """What can be refused before anything is read."""
    refuse_inside(out, options.corpus)
    check_writable(out)
    check_unlocked(out)
    inside = [path for path in out.iterdir() if not is_leftover(path.name)] if out.is_dir() else []
    if inside and not any(path.name == REPORT or (path / RUN_FILE).exists() or (path / LOCK_FILE).exists() for path in inside):
        raise BadInput(f"{out} exists and is not the folder of a climb; choose another one with --out")
    if options.limit is not None and options.limit < 1:
        raise BadInput(f"--limit {options.limit} is below 1")
    from stairs.models.settings import NGramConfig

    NGramConfig(vocab_size=0, order=options.order)  # refuses an order it cannot have


def examples(options: Climb, example_kind: str) -> list[Any]:
    """The labelled ones, or the embedded ones if there is no corpus either."""
    if options.labels is None:
        if options.group is not None:
            raise BadInput(f"--group {options.group} names a column of labelled examples; give some with --labels")
        return [] if options.corpus else embedded(example_kind)
    from stairs.text.labelled import read_examples

    return list(read_examples(options.labels, example_kind, columns=options.columns, encoding=options.encoding, group=options.group).examples)


def embedded(example_kind: str) -> list[Any]:
    """Labels that the Python installation holds, or that are made by rule."""
    from stairs.text.embedded import python_prose
    from stairs.text.embedded.number_names import number_pairs

    found: dict[str, Callable[[], list[Any]]] = {
        "classify": python_prose.package_examples, "compare": python_prose.description_examples, "tag": python_prose.parameter_examples,
        "translate": lambda: number_pairs(NUMBERS),
    }  # fmt: skip
    if example_kind not in found:
        raise BadInput(f"--task {example_kind} needs --labels: without a file there are examples for {', '.join(found)}")
    return found[example_kind]()


def adopted(options: Climb, example_kind: str, out: Path) -> list[str]:
    """The runs of weights that others have trained; an installed package becomes a run first."""
    from stairs.formats import packages

    if options.labels is None or example_kind == "translate" or (options.models and not options.adopted):
        return []
    found = []
    for name in options.adopted or [name for name in packages.KNOWN_PACKAGES if packages.find_package(name)]:
        place = Path(name)
        if not (place / RUN_FILE).exists():
            from stairs.commands.adopt import adopt

            place = out / Path(name).name
            if not (place / RUN_FILE).exists():
                say(f"{place}: {adopt(name, place)[1]}")
        found.append(str(place))
    return found
