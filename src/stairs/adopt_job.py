"""What `stairs adopt` is asked for: another tool's model, read from its file or folder and written as a run."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stairs.errors import BadInput
from stairs.training.run import check_run

if TYPE_CHECKING:
    from stairs.tasks import Task

ARPA_BEGIN = b"\\data\\"


class Adopted(NamedTuple):
    task: "Task"
    facts: dict[str, object]
    sentence: str  # the facts for a person


def default_folder(source: str) -> Path:
    return Path("runs") / (Path(source).name.split(".")[0] or "adopted")


def adopt_run(source: str, out: Path, encoder_only: bool = False) -> Adopted:
    """Write the run of a file, a folder, or an installed package."""
    check_run(out)
    folder = find_folder(source)
    if encoder_only and folder is None:
        raise BadInput(f"--encoder is for a folder of transformers, and {source} is none; leave it out")
    adopted = read_transformer(folder, encoder_only) if folder else read_ngrams(source) if is_arpa(source) else read_vectors(source)
    from stairs import machine
    from stairs.training.run import FORMAT, Run

    run, task = Run(out), adopted.task
    data = {"adopted": Path(source).name, "tokenizer": task.tokenizer.hash}
    with run.open_for_writing({"format": FORMAT, **task.describe(), "seed": 0, "data": data, "versions": machine.versions()}):
        run.save_model(task)
    return adopted


def find_folder(source: str) -> Path | None:
    """The folder that was given, or that an installed package brings."""
    if os.path.exists(source) or os.sep in source:
        return Path(source) if os.path.isdir(source) else None
    from stairs.formats.packages import model_folder
    from stairs.formats.weight_packages import find_package, refuse_missing

    refuse_missing(source)
    package = find_package(source)
    return None if package is None else model_folder(package)


def read_transformer(folder: Path, encoder_only: bool) -> Adopted:
    from stairs.formats.huggingface import sentence_transformers, transformers_folder

    task = sentence_transformers.read(folder) if sentence_transformers.is_folder(folder) else transformers_folder.read(folder, encoder_only)
    layers, width = task.model.config.layers, task.model.config.width
    parameters = sum(weight.numel() for weight in task.model.parameters())
    facts: dict[str, object] = {"model": task.model_name, "task": task.name, "layers": layers, "width": width, "parameters": parameters}
    return Adopted(task, facts, f"{task.model_name}, {layers} layers of width {width}, {parameters} parameters, for the task {task.name}")


def is_arpa(file: str) -> bool:
    """By its name, or by how it begins."""
    if not os.path.isfile(file) or ".arpa" in Path(file).suffixes:
        return ".arpa" in Path(file).suffixes
    with open(file, "rb") as raw:
        return raw.read(1 << 10).lstrip().startswith(ARPA_BEGIN)


def read_ngrams(file: str) -> Adopted:
    from stairs.fast.kneser_ney_trie import NEVER
    from stairs.formats import arpa
    from stairs.tasks import NextToken

    model, tokenizer = arpa.read(file)
    words = int((model.log10s[: tokenizer.vocab_size] > NEVER).sum()) + 1  # the begin of a sentence is never predicted
    sizes = [words, *model.sizes.tolist()[1:]]
    return Adopted(NextToken(model, tokenizer), {"ngrams": sizes}, f"{sum(sizes)} n-grams of orders 1 to {len(sizes)}")


def read_vectors(file: str) -> Adopted:
    from stairs.formats import packages, word_vectors
    from stairs.formats.weight_packages import find_package
    from stairs.tasks import WordVectors

    package = None if os.path.exists(file) else find_package(file)
    vectors = word_vectors.read(file) if package is None else packages.read_vectors(package, file)
    words, width = vectors.vectors.shape
    facts: dict[str, object] = {"words": words, "width": width, "format": vectors.kind}
    return Adopted(WordVectors(*word_vectors.to_model(vectors)), facts, f"{words} vectors of width {width}")
