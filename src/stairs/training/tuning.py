"""From a run to what `stairs tune` trains on top of it: some more pretraining on the examples' own texts first, then a task with a new head."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from stairs.errors import BadInput
from stairs.models.transfer_options import TransferOptions
from stairs.tasks.parts.adapt import adaptation_task, unique_texts
from stairs.tasks.parts.tuning_candidates import TuningCandidate
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from stairs.training.run_lock import check_run


def build_task(way: TuningCandidate, source: str | Path, train: list[Any], metric: str) -> Any:
    """With the encoder as the run `source` has it."""
    run: Any = load(source)
    settings, transfer, known = {**way.task_class.settings_from(train), "metric": metric}, way.transfer, None
    if transfer.insert != "head":
        settings, transfer, known = add_words(settings, transfer, train, run.tokenizer)
    task = way.task_class(run.model, run.tokenizer, transfer, **settings)
    task.word_vectors = known
    return task


def add_words(settings: dict[str, Any], transfer: TransferOptions, train: list[Any], tokenizer: Any) -> tuple[dict[str, Any], TransferOptions, Any]:
    """The words of the examples for a reader of words, and the vectors it begins with if they come from a run."""
    words = sorted({tokenizer.token(number) for ids in tokenizer.encode_batch(unique_texts(train)) for number in ids})
    settings = {**settings, "words": words}
    if transfer.word_vectors is None:
        return settings, transfer, None
    source: Any = load(transfer.word_vectors)
    if source.name != "word-vectors":
        raise BadInput(
            f"--word-vectors {transfer.word_vectors} is a run of {source.model_name}, which has no vectors of words alone; give cbow, glove, ..."
        )
    known = [source.tokenizer.id(word) for word in ("", *words)]
    known = [source.tokenizer.id(word.lower()) if i == source.tokenizer.unknown else i for i, word in zip(known, ("", *words), strict=True)]
    found = source.rows(np.array(known)) * (np.array(known) != source.tokenizer.unknown)[:, None]
    return settings, dataclasses.replace(transfer, word_width=found.shape[1]), found.astype(np.float32)


def adapt(source: Any, examples: Any, out: Path, options: TrainingOptions, passes: float) -> Any:
    """The run after some more pretraining on the texts of the examples, kept beside `out`; None for a worker that only computes."""
    beside = adapted_folder(out)
    check_run(beside)
    changes: dict[str, Any] = {"epochs": passes, "steps": None, "budget": None, "learning_rate": None, "patience": 0}
    measured = fit(adaptation_task(source), examples, beside, dataclasses.replace(options, **changes))
    return load(beside) if measured else None


def adapted_folder(out: Path) -> Path:
    return out.with_name(f"{out.name}-adapted")
