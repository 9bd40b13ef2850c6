"""The verbs of a task that need more than the task itself: another run, a file, a picture, another tool's format.

They are functions of the front door, `stairs.api`, with the task as their first argument, and no other module of this folder knows it. The commands
of the shell call the same functions.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from stairs.errors import BadInput
from stairs.fast.precision import Precision
from stairs.models.transfer_options import TransferMode
from stairs.session import python_verb
from stairs.tasks import TunedTask
from stairs.tasks.answers import TextNeighbour, WordNeighbour
from stairs.tasks.availability import check_verb, shown_names
from stairs.tasks.measurements import Measurements
from stairs.tasks.portable import Portable
from stairs.tasks.row_predictions import PredictionSummary
from stairs.text.input_options import Column
from stairs.text.python_data import Data
from stairs.text.python_rows import Texts, list_texts
from stairs.text.windows import LongTextRule

if TYPE_CHECKING:
    from stairs.pictures.drawing import Drawing
    from stairs.tasks.task import Task

MAX_TOP = 1 << 24


class RunVerbs(Portable):
    """Each is explained by `help`, as in help(bert.tune)."""

    @python_verb
    def embed(
        self, texts: Texts, *, layer: int | None = None, long_text: LongTextRule | None = None, precision: Precision | None = None
    ) -> np.ndarray:
        """The vectors of texts as an array (N, D); of one text, (D,). `layer` counts from 0, -1 is the last one.

        >>> bert.embed(["a cat", "a dog"]).shape
        (2, 32)
        """
        from stairs import api

        vectors = api.embed(self.require("embed"), list_texts(texts), layer=layer, long_text=long_text, precision=precision)
        return vectors[0] if isinstance(texts, str) else vectors

    @python_verb
    def embed_tokens(
        self, texts: Texts, *, layer: int | None = None, long_text: LongTextRule | None = None, precision: Precision | None = None
    ) -> list[tuple[list[str], np.ndarray]]:
        """For each text its tokens, and their vectors as an array (T, D).

        >>> [(tokens, vectors)] = bert.embed_tokens("the cat")
        >>> len(tokens), vectors.shape
        (2, (2, 32))
        """
        from stairs import api

        return api.embed_tokens(self.require("embed_tokens"), list_texts(texts), layer=layer, long_text=long_text, precision=precision)

    @python_verb
    def nearest(self, query: str, *, top: int = 10) -> list[WordNeighbour] | list[TextNeighbour]:
        """The words nearest to a word, to a sum such as "king - man + woman" or to a text, with their cosines. A run tuned for the task `similar`
        gives the nearest of its texts.

        >>> len(vectors.nearest("cat - dog + bird", top=2))
        2
        """
        from stairs import api

        check_top(top)
        return api.nearest(self.require("nearest"), query, top=top)

    @python_verb
    def tune(
        self,
        data: Data,
        labels: Sequence[object] | None = None,
        *,
        text: Column | None = None,
        label: Column | None = None,
        second_column: Column | None = None,
        group: Column | None = None,
        id: Column | None = None,
        task: TunedTask | None = None,
        dev: Data | None = None,
        test: Data | None = None,
        limit: int | None = None,
        epochs: float | None = None,
        learning_rate: float | None = None,
        transfer: TransferMode | None = None,
        metric: str | None = None,
        seed: int = 0,
        out: str | Path | None = None,
        **settings: object,
    ) -> "Task":
        """This run fine-tuned on labelled rows, as a new task. `help(stairs.tune)` explains the arguments.

        >>> reviews = bert.tune("reviews.csv", epochs=1, out="runs/reviews-bert")
        >>> reviews.labels
        ['neg', 'pos']
        """
        from stairs import api

        return api.tune(
            self.require("tune"), data, labels, text=text, label=label, second_column=second_column, group=group, id=id, task=task, dev=dev,
            test=test, limit=limit, epochs=epochs, learning_rate=learning_rate, transfer=transfer, metric=metric, seed=seed, out=out, **settings,
        )  # fmt: skip

    @python_verb
    def evaluate(
        self,
        data: Data,
        labels: Sequence[object] | None = None,
        *,
        text: Column | None = None,
        label: Column | None = None,
        second_column: Column | None = None,
        id: Column | None = None,
        encoding: str | None = None,
        beam_size: int | None = None,
    ) -> Measurements:
        """The metrics on a file, a data frame or a list, each a value with its 95 % interval: of labelled rows those of the run's task, of plain text
        bits per character and perplexity. `text`, `label` and `second_column` name columns, which are guessed if they are not given.

        >>> sorted(reviews.evaluate("reviews.csv")["accuracy"])
        ['high', 'low', 'value']
        """
        from stairs import api

        columns = {"text": text, "label": label, "second_column": second_column, "id": id}
        return api.evaluate(self.require("evaluate"), data, labels, **columns, encoding=encoding, beam_size=beam_size)

    @python_verb
    def predict_file(
        self,
        file: str | Path,
        out: str | Path,
        *,
        text: Column | None = None,
        second_column: Column | None = None,
        encoding: str | None = None,
        threshold: float | None = None,
        positive: str | None = None,
        unsure_below: float | None = None,
        all_labels: bool = False,
        why: bool = False,
    ) -> PredictionSummary:
        """The rows of a table with a prediction for each, written to `out`, whose suffix tells the format: .csv, .tsv, .jsonl, .xlsx or .parquet.
        All columns are kept. It returns how many rows there were, and how often each label was predicted; docs/predict.md explains the options.

        >>> reviews.predict_file("reviews.csv", "predictions.csv")["rows"]
        48
        """
        from stairs import api
        from stairs.tasks.prediction_options import PredictionOptions

        own = PredictionOptions(threshold=threshold, positive=positive, unsure_below=unsure_below, all_labels=all_labels, why=why)
        return api.predict_file(self.require("predict_file"), str(file), str(out), own, text=text, second_column=second_column, encoding=encoding)

    @python_verb
    def draw(
        self,
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
        """A picture of what happens inside, such as "attention", "tokens", "next", "neighbours" or "layers"; another name lists them all. A notebook
        shows it, and `save` writes it as SVG, PNG or HTML. Without a text, an example is drawn
        whose words the run knows. `beside` are other runs, whose tokens are shown below.

        >>> bert.draw("attention", "the cat sat .", layer=1).save("attention.svg")
        """
        from stairs import api

        task, given = self.require("draw"), {"layer": layer, "head": head, "top": top, "seed": seed}
        return api.draw(task, picture, text, word=word, second=second, dimensions=dimensions, labels=labels, beside=beside, **given)

    @python_verb
    def convert(
        self,
        format: Literal["arpa", "word2vec", "word2vec-binary", "glove", "huggingface", "sentence-transformers", "sentencepiece", "file", "python"],
        out: str | Path,
    ) -> dict[str, object]:
        """Write this run in another tool's format, or as one file to ship, and return facts about it; it is read back and compared.

        >>> bert.convert("huggingface", "folder")["architecture"]
        'BertForPreTraining'
        """
        from stairs import api

        return dict(api.convert(self.require("convert"), format, out).facts)

    def require(self, verb: str) -> "Task":
        """This task, if it has the verb."""
        task = as_task(self)
        check_verb(task, verb)
        return task

    def __dir__(self) -> list[str]:
        """For completion: the verbs that it has."""
        return [*shown_names(as_task(self)), *(name for name in object.__dir__(self) if name.startswith("__"))]


def as_task(verbs: RunVerbs) -> "Task":
    """The task that has the verbs: every one inherits them."""
    return cast("Task", verbs)


def check_top(top: int) -> None:
    if not 1 <= top <= MAX_TOP:
        raise BadInput(f"top {top} is not between 1 and {MAX_TOP:,}")
