"""Which models a climb trains, and how: each is pretrained on the text, then learns from the labels, within its share of the time, and is evaluated
on the test examples. A run gives a part of the model's row."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from stairs.comparison.beside_words import better_way, learn_beside_words, may_stand_beside, seconds_expected
from stairs.comparison.evaluation import costs, validate_run
from stairs.comparison.experiment import Experiment, labelled_texts
from stairs.comparison.schema import LastLine, PretrainingCost, Row
from stairs.data import TrainingData
from stairs.errors import BadInput
from stairs.formats.weight_packages import WEIGHT_PACKAGES
from stairs.models.registry import MODELS
from stairs.models.settings import DEFAULT_TOKENIZER, SETTINGS, TRANSLATION_MODELS
from stairs.models.transfer_options import Insert, TransferMode
from stairs.tasks import (
    BASELINE_TASKS,
    TEXT_KINDS,
    BidirectionalLM,
    NextToken,
    Task,
    TfidfClassifier,
    WordVectors,
)
from stairs.tasks.baselines import train_by_name
from stairs.tasks.classifier import word_tokenizer
from stairs.tasks.from_examples import words_tokenizer
from stairs.tasks.parts.adapt import adaptation_task
from stairs.tasks.parts.labelled_splits import LabelledSplits, weights_hash
from stairs.tasks.parts.stream import unigram_bits
from stairs.tasks.parts.supervised import Supervised
from stairs.training.finetuning_plans import (
    ADAPTATION_SHARE,
    BILSTM_KINDS,
    TaskMaker,
    finetuning_seconds,
    plan_adaptation,
    plan_finetuning,
    transfer_task,
)
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import RUN_FILE, Run, fit_once, load
from stairs.training.run_plans import RunPlan, evenly_spaced, plan_pretraining, planned_task
from stairs.training.selection import Candidate, candidate_costs, fit_best, read_selection
from stairs.training.tuning import adapted_folder

PRETRAINING_SHARE = 0.5  # of a model's time, if there are labels to learn from as well
MAX_PRETRAINING_SHARE = 0.9  # what learns from the labels needs time, however little a probe promises
EVALUATION_SHARE = 0.05  # of a model's time, for the evaluation on the test examples when all models are trained
CNN_SHARE = PRETRAINING_SHARE  # it reads no text itself, and its word vectors have had their time
MIN_ADOPTED_SECONDS = 20.0  # to load twenty million weights, to time a few updates and to encode a few hundred texts


@dataclass(frozen=True)
class ClimbModel:
    name: str
    train: Callable[[Experiment, float], Row]  # within so many seconds
    learns_by: str  # "gradient": for as long as it may; "sweeping"; "counting": it takes what it takes
    reads_corpus: bool = True
    is_default: bool = True  # part of a climb for which no models were named
    share: float = 1.0  # of the time, over that of others that learn by gradients
    min_seconds: float = 0.0  # without which it is left out, if it takes more than others that learn in the same way


def models_for(example_kind: str, adopted: Sequence[str], has_pairs: bool = False) -> list[ClimbModel]:
    """All that can be trained, the cheap ones first, should the budget run out. `has_pairs`: there are translations to pretrain on."""
    from stairs.comparison.other_encoders import TRANSLATORS, train_cnn, train_cove, train_translator  # built on what stands below

    if example_kind == "translate":
        return [ClimbModel(name, partial(train_translator, name), "gradient", reads_corpus=False) for name in TRANSLATORS]
    models = [ClimbModel("ngram", train_ngram, "counting")]
    if example_kind == "classify":
        models.append(ClimbModel("tfidf", train_tfidf, "counting", reads_corpus=False))
    else:
        floors = [(name, task) for name, task in BASELINE_TASKS.get(example_kind, {}).items() if name != "ngram"]
        models += [ClimbModel(name, partial(train_baseline_model, name, task), "counting", reads_corpus=False) for name, task in floors]
    sweeping = [model for model in DEFAULT_TOKENIZER if MODELS[model].learns_by == "sweeping"]
    by_gradients = [model for model in DEFAULT_TOKENIZER if MODELS[model].learns_by == "gradient" and model not in TRANSLATION_MODELS]
    others_weights = [adopted_model(run, example_kind) for run in adopted] if example_kind else []
    if example_kind:
        models += [ClimbModel(model, partial(pretrain_and_finetune, model), "sweeping") for model in sweeping]
        models += [model for model in others_weights if model.learns_by != "gradient"]
        models.append(ClimbModel("cnn", train_cnn, "gradient", reads_corpus=False, share=CNN_SHARE if example_kind in TEXT_KINDS else 1.0))
        models += [ClimbModel("cove", train_cove, "gradient", reads_corpus=False)] if has_pairs else []
    for model in by_gradients:
        models.append(ClimbModel(model, partial(pretrain_and_finetune, model), "gradient", is_default=SETTINGS[model].is_climbed_by_default))
    return models + [model for model in others_weights if model.learns_by == "gradient"]


def adopted_model(run: str, example_kind: str) -> ClimbModel:
    """Weights that were pretrained elsewhere. Word vectors need one pass over labelled texts, and no share of the time of those that learn by
    gradients; an encoder is large."""
    name = Path(run).name
    if example_kind in TEXT_KINDS and holds_vectors(run):
        return ClimbModel(name, partial(finetune_adopted, run), "counting", reads_corpus=False)
    return ClimbModel(name, partial(finetune_adopted, run), "gradient", reads_corpus=False, min_seconds=MIN_ADOPTED_SECONDS)


def holds_vectors(run: str) -> bool:
    """Whether a run, or the package that becomes one, holds word vectors."""
    package = WEIGHT_PACKAGES.get(Path(run).name)
    if package is not None:
        return package.kind == "vectors"
    return (Path(run) / RUN_FILE).exists() and Run(run).settings["task"] == WordVectors.name


def train_ngram(experiment: Experiment, seconds: float) -> Row:
    pretrained = pretrain(experiment, "ngram", 0.0, order=experiment.order)
    task = BASELINE_TASKS.get(experiment.example_kind, {}).get("ngram")
    if task is None:
        return pretrained
    train = partial(train_by_name, task, experiment.train, words_tokenizer(experiment.train), experiment.order)
    classifier = fit_classifier(experiment, "ngram", train)
    costs: PretrainingCost = {"seconds": pretrained["seconds"], "cpu_seconds": pretrained["cpu_seconds"], "training_mb": pretrained["training_mb"]}
    return {**pretrained, **classifier, "pretrained_run": pretrained["run"], "pretraining": costs}  # the classifier counts the labelled texts only


def train_tfidf(experiment: Experiment, seconds: float) -> Row:
    examples = labelled_texts(experiment.train)
    return fit_classifier(experiment, "tfidf", lambda: TfidfClassifier.train(examples, word_tokenizer(examples), labelled_texts(experiment.dev)))


def train_baseline_model(name: str, task: str, experiment: Experiment, seconds: float) -> Row:
    """A model that learns tags, pairs or spans from the examples alone."""
    return fit_classifier(experiment, name, partial(train_by_name, task, experiment.train))


def pretrain_and_finetune(model: str, experiment: Experiment, seconds: float) -> Row:
    began = time.monotonic()
    seconds *= 1 - (EVALUATION_SHARE if experiment.example_kind else 0.0)
    needs_one_pass = MODELS[model].pretrains_with == WordVectors.name and experiment.example_kind in TEXT_KINDS
    share = 1.0 if needs_one_pass or not experiment.example_kind else PRETRAINING_SHARE
    if share == PRETRAINING_SHARE and MODELS[model].learns_by == "gradient":  # what the labels do not need is for pretraining
        share = max(share, 1 - seconds_for_labels(experiment, model, seconds * share) / seconds)
        share = min(share, MAX_PRETRAINING_SHARE)
    pretrained = pretrain(experiment, model, seconds * share)
    if not experiment.example_kind:
        return pretrained
    source = experiment.out / pretrained["run"]
    if needs_one_pass:
        return combine(pretrained, fit_vector_classifier(experiment, model, source))
    words: Path | None = None
    if MODELS[model].default_layers and experiment.example_kind in BILSTM_KINDS:  # beside elmo there are word vectors, as in its paper
        with suppress(BadInput):  # of words that are all rare there are none
            vectors = pretrain(experiment, "skipgram", seconds * (1 - share) / 2)
            pretrained, words = combine(vectors, pretrained), experiment.out / vectors["run"]
    beside: Row = {}
    if may_stand_beside(experiment, model):
        beside = learn_beside_words(experiment, model, source, seconds * (1 - share))
        pretrained = combine(pretrain(experiment, "skipgram", 0.0), pretrained) if beside and not words else pretrained
    left = max(seconds - (time.monotonic() - began), seconds * (1 - share) / (2 if words else 1))
    alone = finetune(experiment, model, source, left, words=words)
    return combine(pretrained, better_way(alone, beside, experiment))


def seconds_for_labels(experiment: Experiment, model: str, seconds: float) -> float:
    """What fine-tuning will take, at most `seconds`, if that is not decided already."""
    if f"{experiment.example_kind}-{model}" in experiment.plans.known:
        return seconds
    data, shards = LabelledSplits(experiment.train, experiment.dev), experiment.shards_for(model)
    kind, adapts, beside = experiment.example_kind, not experiment.corpus_has_texts, seconds_expected(experiment, model, seconds)
    return beside + finetuning_seconds(model, shards, kind, data, seconds - beside, experiment.seed, adapts)


def finetune_adopted(run: str, experiment: Experiment, seconds: float) -> Row:
    """A run that was pretrained elsewhere; what that cost is not known here."""
    source = Path(run)
    if experiment.example_kind in TEXT_KINDS and isinstance(load(source), WordVectors):
        return {**fit_vector_classifier(experiment, source.name, source), "is_adopted": True}
    return {**finetune(experiment, source.name, source, seconds * (1 - EVALUATION_SHARE), is_new=False), "is_adopted": True}


def fit_vector_classifier(experiment: Experiment, name: str, source: Path) -> Row:
    """Linear models on the mean of a text's word vectors; of labels, tuned as the validation examples choose."""
    validation = [labelled_texts(experiment.dev)] if experiment.example_kind == "classify" else []

    def train() -> Task:
        vectors = load(source)
        assert isinstance(vectors, WordVectors)
        return train_by_name(f"{experiment.example_kind}-vectors", experiment.train, vectors, *validation)

    return fit_classifier(experiment, name, train)


def combine(pretrained: Row, finetuned: Row) -> Row:
    """One row of both: times add up, the larger peak of memory counts."""
    peaks = [row["training_mb"] for row in (pretrained, finetuned) if row.get("training_mb") is not None]
    both: Row = {
        "seconds": round(pretrained["seconds"] + finetuned["seconds"], 3),
        "cpu_seconds": round(pretrained["cpu_seconds"] + finetuned["cpu_seconds"], 3),
        "training_mb": max(peaks, default=None),  # type: ignore[type-var]
        "training": [*pretrained.get("training", ()), *finetuned.get("training", ())],
        "pretrained_run": pretrained["run"],
    }
    return {**pretrained, **finetuned, **both}


def pretrain(experiment: Experiment, model: str, seconds: float, **settings: int) -> Row:
    """On the text, in the size that the time allows, for as long as there is: what it costs, and if the model predicts text, how well."""
    shards = experiment.shards_for(model)
    folder = experiment.out / f"{MODELS[model].pretrains_with}-{model}"
    plan = experiment.plans.of(folder.name, lambda: plan_pretraining(model, shards, seconds, experiment.example_kind in TEXT_KINDS))
    last_line = train_run(experiment, folder, plan, lambda: planned_task(model, shards.tokenizer, plan, **settings), shards)
    row: Row = {"size": plan["size"], "run": folder.name}
    predicts = MODELS[model].pretrains_with in (NextToken.name, BidirectionalLM.name)  # the bits of other tasks are of another kind
    if predicts:
        row |= {"bits_per_character": last_line["bits_per_character"], "perplexity": last_line["perplexity"]}
    if MODELS[model].learns_by == "gradient":
        row |= {"updates": last_line["step"], "training": [last_line]}
        if predicts:
            row["unigram_bits"] = unigram_bits(shards)
    return {**row, **costs(experiment, folder, last_line)}


def finetune(experiment: Experiment, model: str, source: Path, seconds: float, is_new: bool = True, words: Path | None = None) -> Row:
    """By gradients, on the labels. `is_new` says that the encoder was pretrained in this climb, and not elsewhere for days: then it may read the
    texts of the examples first. `words` is a run whose word vectors are read beside the encoder, where a BiLSTM reads it."""
    folder, kind = experiment.out / f"{experiment.example_kind}-{model}", experiment.example_kind

    def task_with(mode: TransferMode, insert: Insert = "head") -> Supervised:
        return transfer_task(kind, load(source), experiment.train, mode, insert, metric=experiment.metric, is_new=is_new, word_vectors=words)

    adapted: Row = {}
    if is_new and not experiment.corpus_has_texts:
        began = time.monotonic()
        adapted = adapt(experiment, source, adapted_folder(folder), task_with, seconds)
        seconds -= min(time.monotonic() - began, ADAPTATION_SHARE * seconds)
        source = experiment.out / adapted["run"] if adapted else source
    data = LabelledSplits(experiment.train, experiment.dev, weights_hash(load(source).model))
    plan = experiment.plans.of(folder.name, lambda: plan_finetuning(model, kind, task_with, data, seconds, experiment.seed, is_new))
    finetuned = learn_labels(experiment, folder, data, plan, task_with)
    return combine(adapted, finetuned) if adapted else finetuned


def adapt(experiment: Experiment, source: Path, folder: Path, task_with: TaskMaker, seconds: float) -> Row:
    """Continued pretraining on the texts of the training examples; an empty row if there is no time for it."""
    encoder = load(source)
    data = LabelledSplits(experiment.train, experiment.dev, weights_hash(encoder.model))
    plan = experiment.plans.of(folder.name, lambda: plan_adaptation(encoder, task_with, data, seconds, experiment.seed))
    if not plan["examples"]:
        return {}
    last_line = train_run(experiment, folder, plan, lambda: adaptation_task(load(source)), data)
    return {"run": folder.name, "adaptation_updates": last_line["step"], "training": [last_line], **costs(experiment, folder, last_line)}


def learn_labels(experiment: Experiment, folder: Path, data: LabelledSplits, plan: RunPlan, task_with: TaskMaker) -> Row:
    """As planned, in the ways that are planned: the best on the validation examples is kept, and all of them are paid for."""
    data = LabelledSplits(evenly_spaced(experiment.train, plan["examples"]), evenly_spaced(experiment.dev, plan["validation"]), data.encoder)
    new_task = partial(task_with, plan["transfer"], plan.get("insert", "head"))
    candidates = [Candidate(name, 1, new_task, options=own) for name, own in plan.get("candidates", {"": {}}).items()]
    options = TrainingOptions(**plan["training"], seed=experiment.seed)
    with experiment.record_peak_memory(folder):
        best = fit_best(candidates, data, folder, options, experiment.source_of_plan(folder.name), refuse_short=False)  # its row says if it failed
    last_line = cast(LastLine, best)
    tried = [cast(LastLine, own) for own in candidate_costs(folder).values()] or [last_line]
    total = {name: sum(own[name] for own in tried) for name in ("seconds", "cpu_seconds")}
    row: Row = {"transfer": plan["transfer"], "finetuning_updates": last_line["step"], "training": tried}
    if "insert" in plan:
        row["insert"] = plan["insert"]
    if (selection := read_selection(folder)) is not None:
        row["validation_errors"] = selection["validation_errors"]
    if plan["examples"] < len(experiment.train):
        row["training_examples"] = plan["examples"]
    return {**row, **validate_run(experiment, folder, cast(LastLine, {**last_line, **total}))}


def fit_classifier(experiment: Experiment, model: str, train: Callable[[], Task]) -> Row:
    """A classifier that needs one pass over the labels and no gradients."""
    folder = experiment.out / f"{experiment.example_kind}-{model}"
    with experiment.record_peak_memory(folder):
        last_line = fit_once(folder, experiment.run_settings, train, lambda task: {})
    return validate_run(experiment, folder, cast(LastLine, last_line))


def train_run(experiment: Experiment, folder: Path, plan: RunPlan, new_task: Callable[[], Task], data: TrainingData) -> LastLine:
    """As planned, or as the run of another climb that this one repeats."""
    options = TrainingOptions(**plan["training"], seed=experiment.seed)
    with experiment.record_peak_memory(folder):
        last_line = fit(new_task(), data, folder, options, experiment.source_of_plan(folder.name), refuse_short=False)  # its row says if it failed
    return cast(LastLine, last_line)
