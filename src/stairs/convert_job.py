"""What `stairs convert` is asked for: a run in another tool's format, read back and compared with the run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stairs.errors import BadInput, Unsupported
from stairs.progress import say

if TYPE_CHECKING:
    from stairs.formats.huggingface.round_trip import Differences
    from stairs.tasks import Task

VECTORS = ("word2vec", "word2vec-binary", "glove")
FOLDERS = ("huggingface", "sentence-transformers")
NUMBERS = {
    "difference": "vectors",
    "labels_difference": "labels",
    "words_difference": "probabilities of words",
    "pairs_difference": "probabilities of pairs",
    "log_probability_difference": "log-probabilities of sentences",
}


class Written(NamedTuple):
    facts: Mapping[str, object]
    sentence: str  # the facts for a person


def convert_run(task: "Task", format: str, out: str) -> Written:
    """Write it to a file or a folder, or "-" for stdout; what answers differently when it is read back is deleted."""
    check_format(format)
    if out != "-" and task.folder is not None and Path(out).resolve().is_relative_to(task.folder.resolve()):
        raise BadInput(f"--out {out} lies inside the run {task.folder}; choose a file elsewhere")
    return WRITERS[format](task, format, out)


def check_format(format: str) -> None:
    if format not in WRITERS:
        raise BadInput(f"there is no format {format!r}; there are {', '.join(WRITERS)}")


def write_ngrams(task: "Task", format: str, out: str) -> Written:
    from stairs.formats import arpa, file_round_trip
    from stairs.models.ngram import NGram
    from stairs.tasks import NextToken

    model = task.model if task.has_model else None
    if not isinstance(model, NGram) or not isinstance(task, NextToken):
        raise unfit(task, format, "n-gram language models")
    written = arpa.write(model, task.tokenizer, out)
    facts, compared = compare_written(out, lambda: file_round_trip.compare_arpa(task, out))
    return Written({"ngrams": written, **facts}, f"{sum(written)} n-grams of orders 1 to {len(written)}{compared}")


def write_tokenizer(task: "Task", format: str, out: str) -> Written:
    from stairs.formats import sentencepiece

    pieces = sentencepiece.write(task.tokenizer, out)
    facts, compared = compare_written(out, lambda: sentencepiece.compare(task.tokenizer, out))
    return Written({"pieces": pieces, **facts}, f"{pieces} pieces{compared}")


def write_vectors(task: "Task", format: str, out: str) -> Written:
    from stairs.formats import file_round_trip, word_vectors
    from stairs.tasks import WordVectors

    if not isinstance(task, WordVectors):
        raise unfit(task, format, "word vectors")
    if task.model.has_subwords:
        say(f"{format} has no place for character n-grams: there, words outside the vocabulary have no vector")
    words, width = word_vectors.write(task.tokenizer.vocabulary, task.word_model.all_vectors(), out, format)
    facts, compared = compare_written(out, lambda: file_round_trip.compare_vectors(task, out))
    return Written({"words": words, "width": width, **facts}, f"{words} vectors of width {width}{compared}")


def compare_written(out: str, compare: "Callable[[], Differences]") -> "tuple[Differences, str]":
    """The differences between the run and the file read back; a file that differs too much is deleted. What went to stdout cannot be read back."""
    if out == "-":
        return {}, ""
    try:
        differences = compare()
    except BadInput:
        Path(out).unlink(missing_ok=True)
        raise
    return differences, describe_differences(differences)


def describe_differences(differences: "Differences") -> str:
    same = {"continuations": "continued with", "translations": "translated into", "tokenizations": "cut into"}
    parts = [f"{what} differ by at most {differences[name]:.1g}" for name, what in NUMBERS.items() if name in differences]
    parts += [f"{differences[name]} texts are {verb} the same words" for name, verb in same.items() if name in differences]
    return f"; read back from the file, {', '.join(parts)}" if parts else ""


def write_folder(task: "Task", format: str, out: str) -> Written:
    from importlib import import_module

    from stairs.formats.huggingface.round_trip import compare_folder
    from stairs.formats.output import new_folder
    from stairs.tasks.parts.indexed import Indexed

    writer = {"huggingface": "transformers_folder", "sentence-transformers": "sentence_transformers"}[format]
    form, model = import_module(f"stairs.formats.huggingface.{writer}"), task.model if task.has_model else None
    if model is None or not model.encodes or task.has_word_vectors:
        raise unfit(task, format, "bert, gpt and transformer runs" if format == "huggingface" else "bert runs")
    if model.needs_trees:
        raise Unsupported(f"this run was tuned with --structural-positions, for which {format} has no place; convert the run that it was tuned from")
    if task.tokenizer.encodes_sentences:
        raise Unsupported(f"the tokenizer of this run came from SentencePiece, for which {format} has no place here; write it with sentencepiece")
    if isinstance(task, Indexed):
        say(f"only the encoder is written: what this run keeps for the task {task.name} has no place in {format}")
        task = task.encoder
    with new_folder(out) as aside:
        facts = form.write(task, aside)
        differences = compare_folder(task, aside, format)
    sentence = f"{facts['architecture']}, {facts['tensors']} tensors{describe_differences(differences)}"
    return Written({**facts, **differences}, sentence)


def write_python(task: "Task", format: str, out: str) -> Written:
    from stairs.formats import file_round_trip
    from stairs.formats.python_file import writer

    classifier = writer.writable_classifier(task)
    size = writer.write(classifier, out)
    facts, compared = compare_written(out, lambda: file_round_trip.compare_python(classifier, out))
    return Written({"bytes": size, **facts}, f"{size:,} bytes of Python{compared}")


def write_file(task: "Task", format: str, out: str) -> Written:
    """The whole run in one file, read back and loaded before it is given away."""
    import tempfile

    from stairs.cache import temporary_cache
    from stairs.formats.output import new_file
    from stairs.training.run import load
    from stairs.training.run_file import SUFFIX, open_run_file, write_run_file

    if task.folder is None:
        raise Unsupported("this task is not saved as a run yet; save it first, or train it with out=")
    if not out.endswith(SUFFIX):
        raise BadInput(f"--out {out} does not end in {SUFFIX}, by which the other commands know such a file; call it {Path(out).name}{SUFFIX}")
    with new_file(out) as aside:
        members = write_run_file(task.folder, aside)
        with tempfile.TemporaryDirectory(prefix="stairs-") as folder, temporary_cache(Path(folder)):
            load(open_run_file(aside))
        size = aside.stat().st_size
    facts = {"task": task.name, "model": task.model_name, "files": len(members), "bytes": size}
    return Written(facts, f"{task.name} by {task.model_name}, {len(members)} files, {size / 1e6:.1f} MB; read back and loaded")


def unfit(task: "Task", format: str, fit: str) -> Unsupported:
    return Unsupported(f"{task.folder or 'this task'} holds a {task.model_name} run with the task {task.name}; only {fit} can be written as {format}")


WRITERS: dict[str, Callable[["Task", str, str], Written]] = {
    "arpa": write_ngrams,
    "sentencepiece": write_tokenizer,
    **dict.fromkeys(VECTORS, write_vectors),
    **dict.fromkeys(FOLDERS, write_folder),
    "file": write_file,
    "python": write_python,
}
