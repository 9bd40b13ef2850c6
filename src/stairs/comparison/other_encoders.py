"""Rows of models that learn nothing from the text of a climb itself: cnn starts from the word vectors of skipgram, cove from an encoder that
translates, and those that translate learn from the pairs alone.

cnn     word vectors of skipgram, whose row of the same climb has trained them already or which it trains; then all weights from the labels
cove    an encoder-decoder on pairs of sentences (`--pairs`), then its encoder on the labels. Without pairs it has no row: a climb has no
        translations of its texts, and those that are made by rule, the names of numbers, say nothing about other words
"""

import time

from stairs.comparison.evaluation import costs, validate_run
from stairs.comparison.experiment import Experiment
from stairs.comparison.models import EVALUATION_SHARE, PRETRAINING_SHARE, combine, finetune, learn_labels, pretrain, train_run
from stairs.comparison.schema import Row
from stairs.models.transfer_options import Insert, TransferMode
from stairs.tasks.parts.labelled_splits import LabelledSplits, weights_hash
from stairs.tasks.parts.supervised import Supervised
from stairs.text.examples import TranslationPair
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.finetuning_plans import plan_from_scratch, transfer_task
from stairs.training.new_encoder import encoder_of_words
from stairs.training.run_plans import plan_translation, planned_task

# An encoder-decoder with one vector between the two, with attention, and with attention alone.
TRANSLATORS: dict[str, tuple[str, dict[str, str]]] = {
    "seq2seq": ("seq2seq", {}),
    "attention": ("seq2seq", {"attention": "additive"}),
    "transformer": ("transformer", {}),
}


def train_cnn(experiment: Experiment, seconds: float) -> Row:
    """On the word vectors of skipgram; what those cost counts for this row as well."""
    began = time.monotonic()
    seconds *= 1 - EVALUATION_SHARE
    vectors = pretrain(experiment, "skipgram", seconds * PRETRAINING_SHARE)
    source = str(experiment.out / vectors["run"])
    new_encoder = encoder_of_words("cnn", "mini", {}, experiment.train, experiment.example_kind, source, experiment.seed)
    folder = experiment.out / f"{experiment.example_kind}-cnn"
    data = LabelledSplits(experiment.train, experiment.dev, weights_hash(new_encoder().model))
    left = max(seconds - (time.monotonic() - began), seconds * PRETRAINING_SHARE)

    def task_with(mode: TransferMode, insert: Insert = "head") -> Supervised:
        return transfer_task(experiment.example_kind, new_encoder(), experiment.train, mode, insert, metric=experiment.metric)

    plan = experiment.plans.of(folder.name, lambda: plan_from_scratch(task_with("scratch"), data, left))
    return combine(vectors, learn_labels(experiment, folder, data, plan, task_with))


def train_cove(experiment: Experiment, seconds: float) -> Row:
    """On pairs of sentences, then on the labels."""
    began = time.monotonic()
    seconds *= 1 - EVALUATION_SHARE
    pairs, spec = experiment.pairs, experiment.pair_tokenizer
    assert spec is not None
    folder = experiment.out / "translate-cove"
    tokenizer = Tokenizer.train(spec, lambda: ([pair.source, pair.target] for pair in pairs.train))
    plan = experiment.plans.of(folder.name, lambda: plan_translation("cove", pairs.train, seconds * PRETRAINING_SHARE, tokenizer.vocab_size))
    data = LabelledSplits(pairs.train, pairs.validation)
    last_line = train_run(experiment, folder, plan, lambda: planned_task("cove", tokenizer, plan), data)
    pretrained: Row = {"size": plan["size"], "run": folder.name, "updates": last_line["step"], "training": [last_line]}
    left = max(seconds - (time.monotonic() - began), seconds * PRETRAINING_SHARE)
    return combine({**pretrained, **costs(experiment, folder, last_line)}, finetune(experiment, "cove", folder, left))


def train_translator(name: str, experiment: Experiment, seconds: float) -> Row:
    """On pairs of sentences."""
    model, settings = TRANSLATORS[name]
    folder, pairs = experiment.out / f"translate-{name}", [pair for pair in experiment.train if isinstance(pair, TranslationPair)]
    assert experiment.pair_tokenizer is not None
    tokenizer = Tokenizer.train(experiment.pair_tokenizer, lambda: ([pair.source, pair.target] for pair in pairs))
    plan = experiment.plans.of(folder.name, lambda: plan_translation(model, pairs, seconds * (1 - EVALUATION_SHARE), tokenizer.vocab_size))
    data = LabelledSplits(experiment.train, experiment.dev)
    last_line = train_run(experiment, folder, plan, lambda: planned_task(model, tokenizer, plan, **settings), data)
    row: Row = {"size": plan["size"], "updates": last_line["step"], "training": [last_line]}
    return {**row, **validate_run(experiment, folder, last_line)}
