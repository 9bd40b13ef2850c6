"""What is done with a run: embed, find neighbours, evaluate, draw and convert. The verbs of a task and the commands of the shell call the same."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stairs.errors import BadInput, Unsupported
from stairs.text.input_options import Column, CorpusOptions, as_name, columns_of
from stairs.text.python_data import Data, corpus_paths, is_path, labelled_path, pair_paths
from stairs.text.python_rows import Texts, describe, list_texts

if TYPE_CHECKING:
    import numpy as np

    from stairs.convert_job import Written
    from stairs.fast.precision import Precision
    from stairs.inspection.tokens import TokensData
    from stairs.inspection.words import Neighbours
    from stairs.pictures.drawing import Drawing
    from stairs.tasks import Task
    from stairs.tasks.answers import TextNeighbour, WordNeighbour
    from stairs.tasks.measurements import Measurements
    from stairs.tasks.prediction_options import PredictionOptions
    from stairs.tasks.row_predictions import PredictionSummary
    from stairs.text.windows import LongTextRule


def embed(
    task: "Task", texts: list[str], *, layer: int | None = None, long_text: "LongTextRule | None" = None, precision: "Precision | None" = None
) -> "np.ndarray":
    """(N, D): a vector for each text."""
    from stairs.inspection.layers import layer_encoder

    ready = reading_task(task, long_text, precision)
    return ready.vectors(texts, None if layer is None else layer_encoder(ready.model, layer))


def embed_tokens(
    task: "Task", texts: list[str], *, layer: int | None = None, long_text: "LongTextRule | None" = None, precision: "Precision | None" = None
) -> "list[tuple[list[str], np.ndarray]]":
    """The tokens of each text, and their vectors (T, D)."""
    from stairs.inspection.layers import layer_encoder

    ready = reading_task(task, long_text, precision)
    return list(ready.token_vectors(texts, None if layer is None else layer_encoder(ready.model, layer)))


def reading_task(task: "Task", long_text: "LongTextRule | None", precision: "Precision | None") -> "Task":
    """A task that reads long texts so, in that arithmetic; the one that was given stays as it is."""
    if long_text is not None:
        if task.long_text is None:
            raise Unsupported(f"--long-text is for bert runs, and this is one of {task.model_name}")
        task = copy.copy(task)
        task.long_text = task.vector_part = long_text
    return task if precision is None else task.for_inference(precision)


def neighbours(task: "Task", query: str, top: int = 10, among: "Task | None" = None) -> "Neighbours":
    """The words nearest to a word, a sum of words or a text."""
    from stairs.inspection.words import neighbours

    return neighbours(task, query, top, among)


def nearest(task: "Task", query: str, top: int = 10) -> "list[WordNeighbour] | list[TextNeighbour]":
    """The nearest words, or of an index the nearest texts."""
    if not query.strip():
        raise BadInput('no word given; give one, or a sum such as "king - man + woman"')
    if task.has_word_vectors:
        words: list[WordNeighbour] = [{"word": near["word"], "cosine": near["cosine"]} for near in neighbours(task, query, top)["near"]]
        return words
    return cast("list[TextNeighbour]", task.answer(query, top=top)["near"])  # type: ignore[call-arg]


def evaluate(
    task: "Task",
    data: Data,
    labels: Sequence[object] | None = None,
    *,
    text: Column | None = None,
    label: Column | None = None,
    second_column: Column | None = None,
    id: Column | None = None,
    encoding: str | None = None,
    beam_size: int | None = None,
) -> "Measurements":
    """The metrics of a task on a file or on what Python holds."""
    from stairs.score_job import score_file

    if task.translates:
        paths = pair_paths(data)
    elif task.example_kind or labels is not None:
        paths = (labelled_path(data, labels),)
    else:
        paths = corpus_paths(data, as_name(text))
    if not paths:
        raise BadInput("the data are None; give a path, a list of texts or a data frame")
    if not task.translates and len(paths) != 1:
        raise BadInput(f"{len(paths)} files are given; evaluate one at a time")
    columns = columns_of(text=text, label=label, second_column=second_column, id=id)
    reading = CorpusOptions(encoding=encoding, text=None if task.example_kind else as_name(text))
    return score_file(task, paths[0], paths[1:], columns=columns, beam_size=beam_size, reading=reading)


def predict_file(
    task: "Task",
    file: str,
    out: str,
    options: "PredictionOptions",
    *,
    text: Column | None = None,
    second_column: Column | None = None,
    encoding: str | None = None,
) -> "PredictionSummary":
    """The rows of a file with the predictions of a task, in another file."""
    from stairs.predict_job import PredictJob

    return PredictJob(file, out, columns_of(text=text, second_column=second_column) or {}, encoding, options=options).predict(task)


def draw(
    task: "Task",
    picture: str,
    text: Texts = "",
    *,
    layer: int | None = None,
    head: int | None = None,
    word: str | None = None,
    second: str | None = None,
    top: int | None = None,
    seed: int | None = None,
    dimensions: str | None = None,
    labels: Data | None = None,
    beside: Sequence[str | Path] = (),
) -> "Drawing":
    """A picture of a run and a text; several texts are lines of their own. Without a text, an example is drawn whose words the run knows. `beside`
    are other runs, whose tokens are shown below."""
    from stairs.inspection.tokens import side_by_side
    from stairs.pictures.catalogue import find_picture, picture_data
    from stairs.pictures.drawing import Drawing

    examples = None if labels is None else labelled_path(labels)
    given = {"layer": layer, "head": head, "word": word, "second": second, "top": top, "seed": seed, "dimensions": dimensions, "labels": examples}
    options: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    drawn = find_picture(picture)
    if beside and picture != "tokens":
        raise BadInput(f"--beside is not for {picture} but for tokens; leave it out")
    if "run" in drawn.view.options:
        options["run"] = str(check_folder(task))
    lines = text if isinstance(text, str) else "\n".join(list_texts(text))
    if drawn.view.needs_text and drawn.view.suits(task) and not lines.strip():
        lines, options = with_example(task, picture, options)
    data = picture_data(task, picture, lines, **options)
    if beside:
        from stairs.training.run import load

        shown = {str(task.folder): data, **{str(run): picture_data(load(run), picture, lines) for run in beside}}
        data = side_by_side(cast("dict[str, TokensData]", shown))
    return Drawing(picture, data, drawn.draw(data))


def with_example(task: "Task", picture: str, options: dict[str, object]) -> tuple[str, dict[str, object]]:
    """A text that the run knows, and the options that belong to it; no text if there is none."""
    from stairs.pictures.default_text import default_example
    from stairs.progress import say

    example = default_example(task, picture)
    if example is None:
        return "", options
    say(f"no text given; an example is drawn: {' / '.join(example.text.splitlines())}")
    return example.text, {**example.options, **options}


def convert(task: "Task", format: str, out: str | Path) -> "Written":
    """The run in another tool's format."""
    from stairs.convert_job import convert_run

    return convert_run(task, format, str(out))


def check_folder(task: "Task") -> Path:
    """The folder of the run that the task was loaded from, which must still be there."""
    if task.folder is None:
        raise BadInput("this task was not loaded from a run; use stairs.load, or what stairs.train returned")
    if not task.folder.exists():
        raise BadInput(f"{task.folder} is gone, and this task was loaded from it; load the run from where it is now")
    return task.folder


def run_path(run: "str | Path | Task") -> str:
    """The folder of a run, of a task too."""
    if not is_path(run) and not hasattr(run, "folder"):
        raise BadInput(f"the run is {describe(run)}; give a run folder, a task, or the name of a model that needs none, such as tfidf")
    return str(run) if is_path(run) else str(check_folder(run))  # type: ignore[arg-type]
