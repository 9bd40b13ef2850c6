"""How an encoder learns from labels within so many seconds: how much of it, at which learning rates, on how many examples.

A Transformer learns with all its weights, for as many epochs as are worthwhile or as there is time for; where there is time for few updates only, a
head learns on its features. ELMo is frozen, as in its paper: its layers are computed once, and a mix of them is read by a BiLSTM, or, where there is
no time for one, by a head.

An encoder with minutes of pretraining (`is_new`) is not one with days. Its token embeddings do not know yet which words matter, and those have to
come from the labels: they learn faster than the rest (`NEW_TABLE_LR_SCALES`). With the next token as an auxiliary loss GPT takes three times as long
for each update and does worse. The measurements are in docs/climb-measured.md.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from stairs.models.registry import MODELS
from stairs.models.transfer_options import Insert, TransferMode, TransferOptions
from stairs.progress import quiet, say, say_verbose
from stairs.tasks import SUPERVISED_TASKS, TASKS, TEXT_KINDS, BiEncoder, Encode, MaskedToken, NextToken
from stairs.tasks.parts.adapt import adaptation_task, known_words
from stairs.tasks.parts.fine_tuning import epochs_for_updates
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.task import Task
from stairs.text.examples import Example, TextPair
from stairs.text.shards import Shards
from stairs.training.fit import seconds_per_update
from stairs.training.new_encoder import initial_word_vectors
from stairs.training.options import TrainingOptions
from stairs.training.probe import PROBE_SHARE
from stairs.training.run_plans import PlannedOptions, RunPlan, evenly_spaced, plan_pretraining, planned_task
from stairs.training.tuning import with_sentence_pooling

WORTHWHILE_UPDATES = 500  # more than others need: an encoder with minutes of pretraining learns more slowly from labels
MIN_FULL_UPDATES = 50  # of all weights: with fewer, the features as they are do better (docstrings above: 0.32, and 0.51 after 84 updates)
MIN_BILSTM_UPDATES = 100
UPDATE_SHARE = 0.8  # of the time is for updates, about
ENCODING_SHARE = 0.6  # of a frozen encoder's time, at most, for computing the layers that are learnt from
PROBED_EXAMPLES = 320  # on which updates are timed
# On which encoding is timed, the larger numbers where that is quick: few texts have more padding, and more words of which ELMo computes each once.
ENCODED_EXAMPLES, MORE_ENCODED_EXAMPLES, ENCODING_PROBE_SECONDS = 32, (96, PROBED_EXAMPLES), 1.0
SLOWER_THAN_TIMED = 1.25  # how much updates may be, on a machine with other work
NEW_ENCODER_LR_SCALE = 4.0  # an encoder with minutes of pretraining takes a higher learning rate than one with days
# Of its token embeddings, over the others'. Where there is time to learn twice it has also read for longer, and slower embeddings are tried, too.
NEW_TABLE_LR_SCALES = (10.0, 2.0)
NEW_NNLM_LR_SCALES = (10.0, 3.0)  # nnlm is hardly more than its embeddings. SST-2, 3 epochs, validation: 0.727 with its own rate, 0.755 with 10 times
ADOPTED_LR_SCALES = (1.0, 0.4)  # of weights that were pretrained elsewhere: about the range that BERT's paper tries
NEW_HEAD_DROPOUT = 0.3
NEW_WORD_DROPOUT = 0.2  # of texts: of four folds of the docstrings, bert 0.583 without and 0.614 with it, a wider gpt 0.545 and 0.561
BILSTM: dict[str, float] = {"bilstm_width": 128, "head_dropout": 0.4}
# As above, the second is tried where there is time.
BILSTM_RATES: dict[str, PlannedOptions] = {f"rate-{rate:g}": {"learning_rate": rate, "embedding_lr_scale": 1.0} for rate in (4e-3, 2e-3)}
BILSTM_WORD_DEVIATION = 1.0  # of the word vectors that it starts from: that of the layers of ELMo beside them
BILSTM_MAX_LENGTH = 128  # words of a text that it reads: what it takes grows with the longest of a batch
BILSTM_KINDS = (*TEXT_KINDS, "tag")  # examples that are read as one text
ADAPTATION_EPOCHS, MIN_ADAPTATION_EPOCHS = 6.0, 2.0
ADAPTATION_SHARE = 0.4  # of the time for the labels, at most
ADAPTATION_LR_SCALE = 2.0  # an encoder with minutes of pretraining adapts at a higher rate than one with days


class TaskMaker(Protocol):
    """Makes a task on an encoder as it was pretrained."""

    def __call__(self, mode: TransferMode, insert: Insert = "head") -> Supervised: ...


def transfer_task(
    example_kind: str, encoder: Task, train: Sequence[Example], mode: TransferMode, insert: Insert = "head", *, metric: str | None = None,
    is_new: bool = False, word_vectors: Path | None = None,
) -> Supervised:  # fmt: skip
    """A head, or a BiLSTM and a head, on an encoder; `word_vectors` is a run whose vectors the BiLSTM starts from. A text is the mean of its vectors:
    pooling by one token has to be learnt first, which takes more examples. One that is trained from scratch pools as its paper does. A sentence
    encoder pools pairs as it was trained to, and learns their scores through its cosine."""
    has_scores = isinstance(train[0], TextPair) and train[0].score is not None
    by_cosine = has_scores and isinstance(encoder, Encode) and mode != "scratch"
    kind = BiEncoder if by_cosine else TASKS[SUPERVISED_TASKS[example_kind]]
    assert issubclass(kind, Supervised)
    vectors: np.ndarray | None = None
    settings = {**kind.settings_from(train), **({} if metric is None else {"metric": metric})}
    transfer = TransferOptions(transfer=mode, insert=insert, pooling="mean" if example_kind in TEXT_KINDS and mode != "scratch" else None)
    transfer = with_sentence_pooling(transfer, encoder) if example_kind == "compare" and mode != "scratch" else transfer
    if insert != "head":
        transfer = replace(transfer, max_length=BILSTM_MAX_LENGTH if example_kind in TEXT_KINDS else None, **BILSTM)  # type: ignore[arg-type]
        settings["words"] = known_words(train, encoder.tokenizer)
        if word_vectors is not None:
            vectors = scaled_word_vectors(word_vectors, settings["words"])
            transfer = replace(transfer, word_width=vectors.shape[1])
    if is_new and mode == "features":
        transfer = replace(transfer, whiten=True)  # long pretraining needs no help, and few examples would turn its features into noise
    elif is_new and mode == "full":
        transfer = replace(transfer, auxiliary_weight=0.0, head_dropout=NEW_HEAD_DROPOUT)
        if example_kind in TEXT_KINDS and encoder.model.is_transformer:
            transfer = replace(transfer, word_dropout=NEW_WORD_DROPOUT)
    task = kind(encoder.model, encoder.tokenizer, transfer, **settings)
    task.word_vectors = vectors
    return task


def scaled_word_vectors(run: Path, words: Sequence[str]) -> np.ndarray:
    """The vectors of a run for these words, as long as a BiLSTM takes them best."""
    vectors = initial_word_vectors(str(run), words)
    is_known = vectors.any(1)
    return vectors * np.float32(BILSTM_WORD_DEVIATION / max(vectors[is_known].std(), 1e-12) if is_known.any() else 1.0)


def plan_finetuning(
    model: str, example_kind: str, task_with: TaskMaker, data: LabelledSplits, seconds: float, seed: int, is_new: bool
) -> RunPlan:
    """`is_new` says that the encoder was pretrained for minutes, and not elsewhere for days."""
    task = task_with("full")
    if task.model.default_layers:
        return plan_frozen(model, example_kind, task_with, data, seconds, seed)
    updates = updates_within(task, data, seconds, seed)
    if updates < MIN_FULL_UPDATES:
        say_verbose(f"{model}: there is time for {updates} updates of all its weights; a head on its features is trained instead")
        return plan_frozen(model, "", task_with, data, seconds, seed)
    epoch = updates_per_epoch(task, data)
    epochs = epochs_for_updates(epoch, minimum=WORTHWHILE_UPDATES)
    options: PlannedOptions = {"budget": f"{seconds:.3f}s", "epochs": epochs}
    plan: RunPlan = {"transfer": "full", "examples": len(data.train), "validation": len(data.validation), "training": options}
    has_time_for_two = updates >= 2 * epochs * epoch
    if is_new and task.model.is_transformer:
        options["learning_rate"] = task.learning_rate * NEW_ENCODER_LR_SCALE
        scales = NEW_TABLE_LR_SCALES[: 1 + has_time_for_two]
        plan["candidates"] = {f"embeddings-{scale:g}": {"embedding_lr_scale": scale} for scale in scales}
    elif is_new and not task.model.is_encoder_decoder:
        plan["candidates"] = learning_rates(task, NEW_NNLM_LR_SCALES[: 1 + has_time_for_two])
    elif not is_new and has_time_for_two:
        plan["candidates"] = learning_rates(task, ADOPTED_LR_SCALES)
    return plan


def learning_rates(task: Supervised, scales: Sequence[float]) -> dict[str, PlannedOptions]:
    """Candidates that differ in their learning rate."""
    return {f"rate-{scale:g}": {"learning_rate": task.learning_rate * scale} for scale in scales}


def plan_frozen(model: str, example_kind: str, task_with: TaskMaker, data: LabelledSplits, seconds: float, seed: int) -> RunPlan:
    """What learns on the layers of a frozen encoder: a BiLSTM over one text, if there is time for it, or else a head."""
    head = task_with("features")
    encoding = seconds_to_encode(head, data)
    share = min(seconds / encoding, 1.0)
    count, validation = (max(int(share * len(part)), min(ENCODED_EXAMPLES, len(part))) for part in (data.train, data.validation))
    if count < len(data.train):
        say(f"{model}: there is time to encode {count} of {len(data.train)} examples; it learns from those")
    options: PlannedOptions = {"budget": f"{seconds:.3f}s", "epochs": head.training_defaults["epochs"]}
    plan: RunPlan = {"transfer": "features", "examples": count, "validation": validation, "training": options}
    if example_kind in BILSTM_KINDS:
        reader = task_with("features", "input")
        updates = updates_within(reader, data, seconds - share * encoding * ENCODING_SHARE, seed)
        if updates >= MIN_BILSTM_UPDATES:
            epoch = math.ceil(count / reader.training_defaults["batch_examples"])
            options["epochs"] = epochs_for_updates(epoch, minimum=WORTHWHILE_UPDATES)
            tried = len(BILSTM_RATES) if updates >= len(BILSTM_RATES) * options["epochs"] * epoch else 1
            plan |= {"insert": "input", "candidates": dict(list(BILSTM_RATES.items())[:tried])}
    return plan


def plan_from_scratch(task: Supervised, data: LabelledSplits, seconds: float) -> RunPlan:
    """All weights of an encoder that learns from the labels alone, for its default epochs or as long as there is time."""
    epochs = epochs_for_updates(updates_per_epoch(task, data), task.training_defaults["epochs"], WORTHWHILE_UPDATES)
    options: PlannedOptions = {"budget": f"{seconds:.3f}s", "epochs": epochs}
    return {"transfer": "scratch", "examples": len(data.train), "validation": len(data.validation), "training": options}


def plan_adaptation(encoder: Task, task_with: TaskMaker, data: LabelledSplits, seconds: float, seed: int) -> RunPlan:
    """Continued pretraining of a Transformer on the texts of the training examples; on none of them if that would leave too little time to learn
    their labels."""
    nothing: RunPlan = {"examples": 0, "validation": 0, "training": {}}
    if not encoder.model.is_transformer or encoder.model.pretrains_with not in (MaskedToken.name, NextToken.name):
        return nothing
    task, own = adaptation_task(encoder), seconds * ADAPTATION_SHARE
    if updates_within(task, data, own, seed) < MIN_ADAPTATION_EPOCHS * updates_per_epoch(task, data):
        return nothing
    if updates_within(task_with("full"), data, seconds - own, seed) < WORTHWHILE_UPDATES:
        return nothing
    options: PlannedOptions = {"budget": f"{own:.3f}s", "epochs": ADAPTATION_EPOCHS, "learning_rate": task.learning_rate * ADAPTATION_LR_SCALE}
    return {"examples": len(data.train), "validation": len(data.validation), "training": options}


def finetuning_seconds(model: str, shards: Shards, example_kind: str, data: LabelledSplits, seconds: float, seed: int, adapts: bool) -> float:
    """What fine-tuning a model will take, at most `seconds`: by timing a few updates of an untrained one of the size that this time allows."""
    with quiet():  # what is chosen is said when it is trained
        plan = plan_pretraining(model, shards, seconds)
    encoder = planned_task(model, shards.tokenizer, plan)
    if MODELS[model].default_layers:
        needed = seconds_to_encode(transfer_task(example_kind, encoder, data.train, "features", is_new=True), data)
        if example_kind in BILSTM_KINDS:
            reader = transfer_task(example_kind, encoder, data.train, "features", "input", is_new=True)
            needed *= ENCODING_SHARE
            needed += seconds_to_try(time_for_epochs(reader, data, seconds, seed), len(BILSTM_RATES), seconds - needed)
        return min(needed, seconds)
    task = transfer_task(example_kind, encoder, data.train, "full", is_new=True)
    once = time_for_epochs(task, data, seconds, seed) / (1 - adapts * ADAPTATION_SHARE)
    return min(seconds_to_try(once, 1 if task.model.is_encoder_decoder else 2, seconds), seconds)


def seconds_to_try(once: float, rates: int, seconds: float) -> float:
    """To learn at each of some rates, if there is time for that even where updates turn out slower than those that were timed; else at one, so that
    no time is kept for what will not be done."""
    several = rates * once * SLOWER_THAN_TIMED if rates > 1 else once
    return several if several <= seconds else once


def time_for_epochs(task: Supervised, data: LabelledSplits, seconds: float, seed: int) -> float:
    """Seconds that the worthwhile updates take."""
    epoch = updates_per_epoch(task, data)
    wanted = epochs_for_updates(epoch, minimum=WORTHWHILE_UPDATES) * epoch
    return seconds * wanted / max(updates_within(task, data, seconds, seed), 1)


def updates_per_epoch(task: Task, data: LabelledSplits) -> int:
    assert task.training_defaults is not None
    return math.ceil(len(data.train) / task.training_defaults["batch_examples"])


def updates_within(task: Task, data: LabelledSplits, seconds: float, seed: int) -> int:
    """How many updates there is time for, by timing a few that change nothing."""
    assert task.training_defaults is not None
    if seconds <= 0:
        return 0
    part = LabelledSplits(evenly_spaced(data.train, PROBED_EXAMPLES), data.validation)
    options = TrainingOptions(batch_examples=task.training_defaults["batch_examples"], budget=f"{seconds:.3f}s", seed=seed)
    return int(seconds * UPDATE_SHARE / seconds_per_update(task, part, options, PROBE_SHARE * seconds))


def seconds_to_encode(task: Supervised, data: LabelledSplits) -> float:
    """What it takes to compute the features of all examples, by timing a few, and to train a head on them."""
    task.compute_vectors(task.rows(evenly_spaced(data.train, ENCODED_EXAMPLES // 4)))  # allocates memory and loads kernels
    each = 0.0
    for count in (ENCODED_EXAMPLES, *MORE_ENCODED_EXAMPLES):
        if each * count < ENCODING_PROBE_SECONDS:
            rows = task.rows(evenly_spaced(data.train, count))
            began = time.monotonic()
            task.compute_vectors(rows)
            each = (time.monotonic() - began) / len(rows)
    return each * (len(data.train) + len(data.validation)) / ENCODING_SHARE
