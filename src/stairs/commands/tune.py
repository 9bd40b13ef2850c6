"""stairs tune RUN LABELS: from a labelled file to an answer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from tyro.conf import Positional

from stairs.commands.flags import CommonFlags, GuessFlags, parse, part_of, show
from stairs.keywords import names_of
from stairs.models.settings import CONFIGS, LABEL_MODELS
from stairs.models.transfer_options import TransferMode, TransferOptions
from stairs.tasks import TunedTask
from stairs.tasks.measurements import ClassificationReport, LayerMixWeights, Measurements
from stairs.text.input_options import ColumnOptions
from stairs.training.label_models import settings_of
from stairs.training.options import TrainingOptions
from stairs.tune_job import TuneJob

if TYPE_CHECKING:
    from stairs.training.selection import Selection

ABOUT = """Fine-tune a run on labelled examples: classify (a label for a text), multilabel (any number of labels for a text), regress (a number for
a text), compare (a label or a score for two texts), tag (a tag for each word), span (where a passage answers a question), choose (which of several
answers is right), sense (the sense of a word), or similar (the nearest of the texts of a file, one per line, or of those of a labelled file). In
place of a run, models that need none learn from the examples alone: `tfidf` to classify, regress and compare, `ngram` to classify, both for any
number of labels, `hmm` and `crf` to tag, `overlap` to find spans, and `cnn`, whose settings are flags then, all of it. Task, columns and labels are
guessed and printed. A tenth of the examples is held out for validation and selects the best weights; another tenth is the test split, used once at
the end. --dev and --test name files for them instead. Examples of one document, passage or --group stay together."""
SPLIT_NAMES = {"dev": "the validation examples", "test": "the test examples"}
MAX_LABELS = 24  # in a table for a person


@dataclass(frozen=True)
class Tune(TrainingOptions, TransferOptions, GuessFlags, ColumnOptions, CommonFlags):
    run: Positional[str] = ""  # a run folder whose model encodes; or tfidf, ngram, hmm, crf, overlap or cnn
    labels: Positional[str] = ""  # a file of labelled examples
    task: TunedTask | None = None  # what the labels are for; guessed if not given
    group: str | None = None  # column whose equal values, such as authors, stay in one split; if not given, documents and passages do
    dev: str | None = None  # file of validation examples, which select the best weights; a tenth of the others if not given
    test: str | None = None  # file of test examples, used once at the end; a tenth of the others if not given
    limit: int | None = None  # maximum number of training examples, drawn by the seed; held-out splits shrink as well; all if not given
    transfer: TransferMode = "auto"  # what is trained: all weights, also from new ones (scratch), the top blocks, or the head alone; auto tries two
    head: Literal["auto", "bi-encoder", "cross-encoder"] = "auto"  # scores of pairs by the cosine of two vectors, or by reading both at once
    adapt: float = 0.0  # epochs of continued pretraining on the examples' own texts first; 10 are usual
    sweep: bool = False  # try BERT's batch sizes (16, 32), learning rates (three) and epochs (2 to 4) within --budget, and keep the best
    metric: str | None = None  # metric that selects the best weights, such as accuracy or macro_f1; the task's first if not given
    encoding: str | None = None  # encoding of the files; detected if not given
    out: str | None = None  # run folder; runs/LABELS-TASK-MODEL if not given
    size: Literal["nano", "micro", "mini", "small", "base", "paper"] | None = None  # cnn: a named set of its settings; mini if not given


def main(arguments: list[str]) -> int:
    first = arguments[0] if arguments else ""
    options = parse(Tune, arguments, "tune", ABOUT, CONFIGS[first] if first in LABEL_MODELS else None)
    own = ("run", "labels", "task", "group", "dev", "test", "limit", "head", "adapt", "sweep", "metric", "encoding", "out", "size")
    training, transfer = part_of(options, TrainingOptions), part_of(options, TransferOptions)
    settings = given_settings(options, first) if first in LABEL_MODELS else {}
    own_values = {name: getattr(options, name) for name in own}
    job = TuneJob(**own_values, columns=options.columns(), settings=settings, options=training, transfer_options=transfer)
    folder, evaluation = job.tune()
    if not evaluation:  # a worker that only computed
        return 0
    if options.json:
        show({"run": str(folder), **evaluation})
        return 0
    from stairs.tasks.outcomes import baseline_warnings

    for split, metrics in evaluation.items():
        print(f"{folder}: {summary(metrics)} on {SPLIT_NAMES[split]}")
    for line in sweep_lines(evaluation["dev"]):
        print(line)
    split, metrics = list(evaluation.items())[-1]
    for line in (*baseline_warnings(metrics, SPLIT_NAMES[split]), *mix_lines(metrics), *label_table(metrics)):
        print(line)
    return 0


def given_settings(options: Tune, model: str) -> dict[str, object]:
    """The settings of a model for which there was a flag."""
    own = {name: getattr(options, name) for name in settings_of(model) if name not in names_of(Tune)}
    return {name: value for name, value in own.items() if value is not None}


def summary(metrics: Measurements) -> str:
    """The measurements for a person."""
    shown = {name: own for name, own in metrics.items() if isinstance(own, dict) and "value" in own and name not in ("error", "baseline")}
    parts = [f"{name.replace('_', ' ')} {own['value']:.4f} ({own['low']:.4f} to {own['high']:.4f})" for name, own in shown.items()]
    return ", ".join(parts) or f"{metrics['texts']} texts"


def sweep_lines(metrics: Measurements) -> list[str]:
    """What a sweep tried, if there was one."""
    selection = cast("Selection", metrics.get("selection") or {})
    if "sweep" not in selection:
        return []
    from stairs.training.grid import sweep_table

    return sweep_table(selection["sweep"], selection["selected"], selection.get("untried", []))


def mix_lines(metrics: Measurements) -> list[str]:
    """The weights by which the layers of the encoder are mixed, if they are."""
    lines = []
    for mix in cast(list[LayerMixWeights], metrics.get("mix", [])):
        weights = ", ".join(f"{weight:.2f} of layer {layer}" for layer, weight in mix["layers"].items())
        lines.append(f"it reads {weights}, times {mix['gamma']:.2f}{'' if mix['is_trained'] else '; these weights were not learnt'}")
    return lines


def label_table(metrics: Measurements) -> list[str]:
    """Each label by itself and what it was confused with, if there are labels and not too many."""
    report = cast(ClassificationReport, metrics)
    if "labels" not in report or len(report["labels"]) > MAX_LABELS:
        return []
    labels = report["labels"]
    width = max(map(len, (*labels, "label")))
    confusion = metrics.get("confusion")  # there is none where a text has any number of labels
    rows = [f"{'label':{width}}  precision  recall      f1   texts{'' if confusion is None else '  confused with'}"]
    for (label, own), counts in zip(labels.items(), report["confusion"] if confusion else [[0] * len(labels)] * len(labels), strict=True):
        others = ", ".join(f"{other} {count}" for other, count in zip(labels, counts, strict=True) if count and other != label)
        rows.append(f"{label:{width}}  {own['precision']:9.4f}  {own['recall']:6.4f}  {own['f1']:6.4f}  {own['texts']:6d}  {others}".rstrip())
    if "threshold" in metrics:
        rows.append(f"a label is given from a probability of {metrics['threshold']:.3f} on, which was best on examples it had not learnt from")
    return [*rows, f"calibration error {report['calibration']['error']:.4f}"] if "calibration" in metrics else rows
