"""stairs convert RUN FORMAT: a run in another tool's format."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from stairs.commands.flags import CommonFlags, parse, show
from stairs.errors import BadInput, Unsupported
from stairs.progress import say

ABOUT = """Write a run in another tool's format. arpa: n-gram runs, for KenLM, SRILM and others. word2vec (text, also fastText's .vec),
word2vec-binary and glove: word vectors, for gensim, word2vec.c, fastText and others. A path that ends in .gz is compressed; - is stdout. huggingface:
bert, gpt and transformer runs, as a folder for transformers. sentence-transformers: bert runs, as a folder for sentence-transformers. What was
written is read back and compared with the run on some texts; a file that answers differently is deleted."""
VECTORS = ("word2vec", "word2vec-binary", "glove")
FOLDERS = ("huggingface", "sentence-transformers")
NUMBERS = {
    "difference": "vectors",
    "labels_difference": "labels",
    "words_difference": "probabilities of words",
    "pairs_difference": "probabilities of pairs",
    "log_probability_difference": "log-probabilities of sentences",
}


@dataclass(frozen=True)
class Convert(CommonFlags):
    run: Positional[str]  # a run folder
    format: Positional[str]  # arpa, word2vec, word2vec-binary, glove, huggingface or sentence-transformers
    out: str  # file or folder to write; - is stdout


def main(arguments: list[str]) -> int:
    options = parse(Convert, arguments, "convert", ABOUT)
    if options.format not in WRITERS:
        raise BadInput(f"there is no format {options.format!r}; there are {', '.join(WRITERS)}")
    if Path(options.out).resolve().is_relative_to(Path(options.run).resolve()):
        raise BadInput(f"--out {options.out} lies inside the run {options.run}; choose a file elsewhere")
    from stairs.training.run import load

    task = load(options.run)
    facts, sentence = WRITERS[options.format](task, options)
    if options.out != "-":
        show({"out": options.out, **facts}) if options.json else print(f"{options.out}: {sentence}")
    return 0


def write_ngrams(task: Any, options: Convert) -> tuple[dict[str, Any], str]:
    """Facts about what was written, and the same as a sentence; so does every writer below."""
    from stairs.formats import arpa, file_round_trip
    from stairs.models.ngram import NGram

    model = task.model if task.has_model else None
    if not isinstance(model, NGram):
        raise unfit(task, options, "n-gram language models")
    written = arpa.write(model, task.tokenizer, options.out)
    facts, compared = compare_written(options.out, lambda: file_round_trip.compare_arpa(task, options.out))
    return {"ngrams": written, **facts}, f"{sum(written)} n-grams of orders 1 to {len(written)}{compared}"


def write_vectors(task: Any, options: Convert) -> tuple[dict[str, Any], str]:
    from stairs.formats import file_round_trip, word_vectors

    if not task.has_word_vectors:
        raise unfit(task, options, "word vectors")
    if task.model.has_subwords:
        say(f"{options.format} has no place for character n-grams: there, words outside the vocabulary have no vector")
    words, width = word_vectors.write(task.tokenizer.vocabulary, task.model.all_vectors(), options.out, options.format)
    facts, compared = compare_written(options.out, lambda: file_round_trip.compare_vectors(task, options.out))
    return {"words": words, "width": width, **facts}, f"{words} vectors of width {width}{compared}"


def compare_written(out: str, compare: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """The differences between the run and the file read back; a file that differs too much is deleted. What went to stdout cannot be read back."""
    if out == "-":
        return {}, ""
    try:
        differences = compare()
    except BadInput:
        Path(out).unlink(missing_ok=True)
        raise
    return differences, describe_differences(differences)


def describe_differences(differences: dict[str, Any]) -> str:
    same = {"continuations": "continued with", "translations": "translated into"}
    parts = [f"{what} differ by at most {differences[name]:.1g}" for name, what in NUMBERS.items() if name in differences]
    parts += [f"{differences[name]} texts are {verb} the same words" for name, verb in same.items() if name in differences]
    return f"; read back from the file, {', '.join(parts)}" if parts else ""


def write_folder(task: Any, options: Convert) -> tuple[dict[str, Any], str]:
    from importlib import import_module

    from stairs.formats.huggingface.round_trip import compare_folder
    from stairs.formats.output import new_folder
    from stairs.tasks.parts.indexed import Indexed

    writer = {"huggingface": "transformers_folder", "sentence-transformers": "sentence_transformers"}[options.format]
    form, model = import_module(f"stairs.formats.huggingface.{writer}"), task.model if task.has_model else None
    if model is None or not model.encodes or task.has_word_vectors:
        raise unfit(task, options, "bert, gpt and transformer runs" if options.format == "huggingface" else "bert runs")
    if isinstance(task, Indexed):
        say(f"only the encoder is written: what this run keeps for the task {task.name} has no place in {options.format}")
        task = task.encoder
    with new_folder(options.out) as aside:
        facts = form.write(task, aside)
        differences = compare_folder(task, aside, options.format)
    return {**facts, **differences}, f"{facts['architecture']}, {facts['tensors']} tensors{describe_differences(differences)}"


def unfit(task: Any, options: Convert, fit: str) -> Unsupported:
    return Unsupported(f"{options.run} holds a {task.model_name} run with the task {task.name}; only {fit} can be written as {options.format}")


WRITERS: dict[str, Callable[[Any, Convert], tuple[dict[str, Any], str]]] = {
    "arpa": write_ngrams,
    **dict.fromkeys(VECTORS, write_vectors),
    **dict.fromkeys(FOLDERS, write_folder),
}
