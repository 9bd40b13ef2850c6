"""stairs tune RUN LABELS: from a labelled file to an answer."""

import dataclasses
import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tyro.conf import Positional

from stairs.commands.flags import TABLES, Common, Guessing, parse, run_name, show
from stairs.commands.train import training_of
from stairs.errors import BadInput, Unsupported
from stairs.files import write_json
from stairs.models.transfer_options import SUPERVISED_TASKS, TransferMode, TransferOptions
from stairs.training.options import TrainingOptions
from stairs.training.run import check_run

ABOUT = """Teach a run a task from labelled examples: classify (a label for a text), compare (a label or a score for two), tag (a tag for each word),
span (where a passage answers a question), sense (the meaning of a word), or similar (the nearest of the texts of a file, one a line, or of those
of a labelled file). In place of a run, `tfidf` and `ngram` learn to classify from the examples alone. Columns and labels are found out and printed. A
tenth of the examples is held out for validation: it chooses the best weights on the way. Another tenth is the test part, judged once at the end.
--dev and --test name files for them instead. Examples of one document, passage or --group stay together."""
NAMES = {**SUPERVISED_TASKS, "sense": "sense", "similar": "similar"}
WITHOUT_A_RUN = ("tfidf", "ngram")
HELD_OUT = 0.1  # of the examples, for each part that no file is given for
PARTS = {"dev": "the validation examples", "test": "the test examples"}
MOST_PASSES = 10_000
MOST_LABELS = 24  # in a table for people


@dataclass(frozen=True)
class Tune(TrainingOptions, TransferOptions, Guessing, Common):
    run: Positional[str] = ""  # a run folder whose step encodes; or tfidf, or ngram
    labels: Positional[str] = ""  # a file of labelled examples
    task: Literal["classify", "compare", "tag", "span", "sense", "similar"] | None = None  # found out if not given
    columns: str | None = None  # which are meant, by name or number, as text=review,label=stars
    group: str | None = None  # column, by name or number, such as an author or a document: examples that agree in it stay together
    dev: str | None = None  # validation examples, which choose the best weights; a tenth of the others if not given
    test: str | None = None  # test examples, judged once at the end; a tenth of the others if not given
    limit: int | None = None  # learn from at most so many examples, drawn by the seed; the parts held out shrink as well
    # what learns: everything, the top blocks, or the head alone (frozen, features); auto: for few examples full or features
    transfer: TransferMode = "auto"
    head: Literal["auto", "bi-encoder", "cross-encoder"] = "auto"  # scores of pairs: through the cosine of two vectors, or by reading both at once
    adapt: float = 0.0  # passes of pretraining over the examples' own texts before the task is learnt; 10 are usual
    # what chooses the best weights: accuracy, macro_f1, spearman, pearson, f1 or exact_match; the task's first if not given
    metric: str | None = None
    encoding: str | None = None  # of the files
    out: str | None = None  # run folder; runs/LABELS-TASK-STEP if not given


def main(arguments: list[str]) -> int:
    options = parse(Tune, arguments, "tune", ABOUT)
    check(options)
    example_kind = options.task or found_out(options)
    if options.metric is not None and example_kind not in SUPERVISED_TASKS:
        several = ", ".join(SUPERVISED_TASKS)
        raise BadInput(f"--metric {options.metric} chooses between the metrics of {several}; {example_kind} has one only: leave it out")
    if example_kind == "similar":
        return remember(options)
    given = {name: list(examples(path, example_kind, options)) for name, path in files_of(options)}
    train, dev, test = divided(given, options)
    task, out, measured = (counted if options.run in WITHOUT_A_RUN or example_kind == "sense" else learned)(example_kind, train, dev, options)
    if not measured:  # a worker that only computed
        return 0
    from stairs.tasks.baseline_comparison import evaluate_with_baselines, train_baselines
    from stairs.tasks.metrics import choose_metric
    from stairs.training.run import load

    source = task if options.run in WITHOUT_A_RUN else load(options.run)
    metric = choose_metric(example_kind, train, options.metric) if example_kind in SUPERVISED_TASKS else ""
    others = train_baselines(train, source) if metric else {}
    judged = {part: evaluate_with_baselines(task, own, others, metric) for part, own in (("dev", dev), ("test", test))}
    return reported(out, {**judged, "dev": {**measured, **judged["dev"]}}, options)


def reported(out: Path, judged: dict[str, Any], options: Tune) -> int:
    from stairs.tasks.baseline_comparison import baseline_warnings

    write_json(out / "report.json", judged)
    if options.json:
        show({"run": str(out), **judged})
        return 0
    for name, found in judged.items():
        print(f"{out}: {told(found)} on {PARTS[name]}")
    name, found = list(judged.items())[-1]
    for line in (*baseline_warnings(found, PARTS[name]), *mixes(found), *table(found)):
        print(line)
    return 0


def check(options: Tune) -> None:
    if not options.run or not options.labels:
        raise BadInput("a run and a file of labelled examples are needed: stairs tune runs/wiki-bert reviews.csv")
    if options.limit is not None and options.limit < 1:
        raise BadInput(f"--limit {options.limit} is below 1")
    if not 0 <= options.adapt <= MOST_PASSES:
        raise BadInput(f"--adapt {options.adapt} is not between 0 and {MOST_PASSES}")
    training_of(options).check()


def found_out(options: Tune) -> str:
    from stairs.text.labelled import guess_task

    example_kind = guess_task(options.labels, options.encoding, options.columns)
    if example_kind not in NAMES:
        raise BadInput(f"{options.labels} holds examples for {example_kind}, which stairs tune does not teach; there are {', '.join(NAMES)}")
    return example_kind


def files_of(options: Tune) -> list[tuple[str, str]]:
    return [(name, path) for name, path in (("train", options.labels), ("dev", options.dev), ("test", options.test)) if path]


def examples(path: str, example_kind: str, options: Tune) -> Any:
    from stairs.text.labelled import read_examples

    group = options.group if path == options.labels else None
    return read_examples(path, example_kind, columns=options.columns, encoding=options.encoding, group=group).examples


def divided(given: dict[str, list[Any]], options: Tune) -> tuple[list[Any], list[Any], list[Any]]:
    """Examples to learn from, to choose by and to judge by; the same ones for the same seed."""
    from stairs.progress import say
    from stairs.text.labelled.split import count_overlap, split

    files = {name: path for name, path in files_of(options) if name != "train"}
    count, missing = len(given["train"]), [name for name in ("dev", "test") if name not in files]
    train = count - len(missing) * max(count * HELD_OUT, 1)
    smaller = 1.0 if options.limit is None else min(options.limit / max(train, 1), 1.0)
    sizes = {"train": train * smaller, **{name: max(count * HELD_OUT * smaller, 1) for name in missing}}
    if len(missing) or smaller < 1:
        cure = f"give more, or {' and '.join(f'--{name} FILE' for name in missing)}" if missing else "give more"
        parts = split(given["train"], sizes, options.seed, source=options.labels, column=options.group, advice=cure)
        given = {**given, **parts}
    for name, path in files.items():
        if leaked := count_overlap(given["train"], given[name]):
            also = f"{leaked} of the {len(given[name])} examples of {path} are in {options.labels} as well"
            say(f"{also}, but for case and spaces: what it scores on them is too good; take them out of one of the two")
    return given["train"], given["dev"], given["test"]


def learned(example_kind: str, train: list[Any], dev: list[Any], options: Tune) -> tuple[Any, Path, dict[str, Any]]:
    """By `fit`, on top of a run."""
    from stairs.tasks import TASKS
    from stairs.tasks.metrics import choose_metric
    from stairs.tasks.parts.feature_cache import weights_hash
    from stairs.tasks.parts.supervised import LabelledSplits
    from stairs.tasks.parts.tuning_candidates import tuning_candidates
    from stairs.training.run import load
    from stairs.training.tuning import Candidate, adapt, adapted_folder, build_task, fit_best

    source = load(options.run)
    metric = choose_metric(example_kind, train, options.metric)
    out = folder_of(NAMES[example_kind], source.model_name, options)
    if options.adapt:
        adapted = adapt(source, LabelledSplits(train, dev, weights_hash(source.model)), out, training_of(options), options.adapt)
        if adapted is None:
            return None, out, {}
        source = adapted
    transfer = TransferOptions(**{field.name: getattr(options, field.name) for field in dataclasses.fields(TransferOptions)})
    ways = tuning_candidates(TASKS[NAMES[example_kind]], source, train, dev, transfer, options.head, options.init_from is not None)
    place = adapted_folder(out) if options.adapt else options.run
    candidates = [Candidate(way.name, way.cost, partial(build_task, way, place, train, metric)) for way in ways]
    measured = fit_best(candidates, LabelledSplits(train, dev, weights_hash(source.model)), out, training_of(options))
    return load(out) if measured else None, out, measured  # the best of it, not the last


def counted(example_kind: str, train: list[Any], dev: list[Any], options: Tune) -> tuple[Any, Path, dict[str, Any]]:
    """At once: what needs no gradients."""
    from stairs.tasks import NGramClassifier, Sense, TfidfClassifier
    from stairs.tasks.metrics import choose_metric
    from stairs.tasks.parts.supervised import LabelledSplits
    from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
    from stairs.training.one_pass import fit_once
    from stairs.training.run import load

    if options.run in WITHOUT_A_RUN and example_kind != "classify":
        raise Unsupported(f"{options.run} learns to classify alone; for {example_kind} give a run whose step encodes")
    settings = {"seed": options.seed, "data": {"corpus": LabelledSplits(train, dev).fingerprint}, "task": example_kind, "source": options.run,
        "layers": options.layers}
    if example_kind == "classify":
        settings["metric"] = choose_metric(example_kind, train, options.metric)

    def learn() -> Any:
        if example_kind == "sense":
            return Sense.train(train, load(options.run), options.layers)
        words = Tokenizer.train(TokenizerSpec(kind="words"), lambda: ([example.text] for example in train))
        return TfidfClassifier.train(train, words) if options.run == "tfidf" else NGramClassifier.train(train, words)

    out = folder_of(example_kind, Path(options.run).name, options)
    measured = fit_once(out, settings, learn, lambda task: task.evaluate(dev))
    return load(str(out)), out, measured


def remember(options: Tune) -> int:
    """The vectors of all texts of a file, to look in."""
    from stairs.commands.flags import texts_from
    from stairs.tasks import Similar
    from stairs.tasks.parts.adapt import unique_texts
    from stairs.training.one_pass import fit_once
    from stairs.training.run import load

    table = Path(options.labels).suffix.lower() in TABLES
    texts = unique_texts(list(examples(options.labels, "classify", options))) if table else list(dict.fromkeys(texts_from((), options.labels)))
    texts = texts[: options.limit]
    out = folder_of("similar", Path(options.run).name, options)
    corpus = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    settings = {"seed": options.seed, "data": {"corpus": corpus}, "task": "similar", "source": options.run}
    fit_once(out, settings, lambda: Similar(load(options.run), texts), lambda task: {"texts": len(texts)})
    judged: dict[str, Any] = {"dev": {"texts": len(texts)}}
    if options.test:
        judged["test"] = load(out).evaluate(list(examples(options.test, "compare", options)))
    return reported(out, judged, options)


def folder_of(task: str, step: str, options: Tune) -> Path:
    out = Path(options.out) if options.out else Path("runs") / f"{run_name(options.labels)}-{task}-{step}"
    check_run(out)
    return out


def told(found: dict[str, Any]) -> str:
    """The measurements for a person."""
    shown = {name: value for name, value in found.items() if isinstance(value, dict) and "value" in value and name not in ("error", "baseline")}
    said = [f"{name.replace('_', ' ')} {value['value']:.4f} ({value['low']:.4f} to {value['high']:.4f})" for name, value in shown.items()]
    return ", ".join(said) or f"{found['texts']} texts"


def mixes(found: dict[str, Any]) -> list[str]:
    """In which shares the layers of the encoder are mixed, if they are."""
    lines = []
    for mix in found.get("mix", []):
        shares = ", ".join(f"{share:.2f} of layer {layer}" for layer, share in mix["layers"].items())
        lines.append(f"it reads {shares}, times {mix['gamma']:.2f}{'' if mix['is_trained'] else '; these shares were not learnt'}")
    return lines


def table(found: dict[str, Any]) -> list[str]:
    """Each label by itself and what it was taken for, if there are labels and not too many."""
    labels = found.get("labels")
    if not isinstance(labels, dict) or len(labels) > MOST_LABELS:
        return []
    width = max(map(len, (*labels, "label")))
    rows = [f"{'label':{width}}  precision  recall      f1   texts  taken for"]
    for (label, own), said in zip(labels.items(), found["confusion"], strict=True):
        others = ", ".join(f"{other} {count}" for other, count in zip(labels, said, strict=True) if count and other != label)
        rows.append(f"{label:{width}}  {own['precision']:9.4f}  {own['recall']:6.4f}  {own['f1']:6.4f}  {own['texts']:6d}  {others}".rstrip())
    return [*rows, f"its chances are off by {found['calibration']['error']:.4f} on average"]
