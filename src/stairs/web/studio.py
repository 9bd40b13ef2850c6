"""What a page asks of a run: a picture, as data, SVG or PNG, or an answer."""

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from stairs.errors import StairsError
from stairs.pictures.pages import PAGES, Page, default_page
from stairs.web.opened_run import OpenedRun
from stairs.web.requests import RequestError, json_safe

if TYPE_CHECKING:
    from stairs.inspection.views import View
    from stairs.pictures.catalogue import Picture
    from stairs.tasks import Task
    from stairs.tasks.answers import Answer, ContinuationAnswer

SERVER_OPTIONS = ("run", "labels")  # options that name a folder or a file: the explorer sets them, never a request
CACHE_SIZE = 16  # pictures whose data is kept, so that the buttons below a picture need not compute it again
MAX_SVG_BYTES = 8 << 20  # that a browser still draws at once
ANSWER_DEFAULTS = {"top": 8, "length": 20, "details": False}  # alternatives in an answer, tokens of a continuation, and no search tree


def pictures() -> "dict[str, Picture]":
    """Imported when first used: the catalogue needs torch, and the first page must not wait for it."""
    from stairs.pictures.catalogue import PICTURES

    return PICTURES


def find_picture(name: str) -> "Picture":
    if name not in pictures():
        raise RequestError(404, "picture", f"there is no picture {name[:40]!r}; there are {', '.join(pictures())}")
    return pictures()[name]


def page_options(view: "View[..., object]") -> tuple[str, ...]:
    return tuple(option for option in view.options if option not in SERVER_OPTIONS)


def available_pictures(run: OpenedRun) -> dict[str, object] | None:
    """The pictures that suit a run, each with its options; None until its model is loaded."""
    if run.task is None:
        return None
    views = {name: picture.view for name, picture in pictures().items() if picture.view.suits(run.task)}
    return {name: {"options": list(page_options(view)), "needs_text": view.needs_text} for name, view in views.items()}


def default_pages(names: Sequence[str]) -> dict[str, Page]:
    """The pages of pictures that have no texts of their own: the docstring of the view describes them."""
    return {name: default_page(name, pictures()[name].view.function.__doc__ or "") for name in names if name not in PAGES}


class Studio:
    """Draws, and keeps the data of the last pictures. `labels` is a file of labelled examples, if one was given."""

    def __init__(self, labels: str = "") -> None:
        self.labels = labels
        self.cache: OrderedDict[str, Any] = OrderedDict()
        self.lock = threading.Lock()

    def data(self, run: OpenedRun, name: str, text: str, options: dict[str, object]) -> Any:
        """What a picture shows."""
        with run.open_task() as task:
            key = json.dumps([run.name, run.model_version, name, text, options], sort_keys=True)
            with self.lock:
                if key in self.cache:
                    self.cache.move_to_end(key)
                    return self.cache[key]
            data = self.compute(run, task, name, text, options)
        with self.lock:
            self.cache[key] = data
            while len(self.cache) > CACHE_SIZE:
                self.cache.popitem(last=False)
        return data

    def compute(self, run: OpenedRun, task: "Task", name: str, text: str, options: dict[str, object]) -> Any:
        view = find_picture(name).view
        if not view.suits(task):
            raise RequestError(422, "picture", f"a {task.name} run of {task.model_name} has no {name} to draw; choose another run", "run")
        own = dict(zip(SERVER_OPTIONS, (str(run.folder), self.labels), strict=True))
        try:
            return json_safe(view.function(task, text, **options, **{name: own[name] for name in view.options if name in own}))
        except StairsError:
            raise
        except (TypeError, ValueError, IndexError, KeyError) as error:
            if not options:
                raise
            raise RequestError(422, "option", f"{name} cannot be drawn with this {', '.join(options)}; change it", "options") from error

    def side_by_side(self, runs: Sequence[OpenedRun], name: str, text: str) -> Any:
        """The same picture of several runs in one."""
        if name != "tokens":
            raise RequestError(422, "side_by_side", f"{name} shows one run at a time; leave the others out", "side_by_side")
        from stairs.inspection.tokens import side_by_side

        return side_by_side({run.name: self.data(run, name, text, {}) for run in runs})


def render(chart: Any, kind: str) -> bytes:
    """As SVG or PNG."""
    from stairs.pictures import charts

    try:
        return charts.render(chart, f".{kind}")
    except ValueError as error:  # Vega fails on words such as constructor, which are names of its own
        raise RequestError(422, "drawing", "a word in this picture cannot be drawn; change the text, or save the data as JSON", "text") from error


def answer(task: "Task", text: str, second: str) -> "Answer":
    """`task.answer`, with blanks as each task needs them: a masked language model fills them, a left-to-right model continues the text before the
    first one, and word vectors leave them out."""
    from stairs.tasks.parts.blanks import BLANK

    known = task.answer_options()
    options: dict[str, object] = {name: value for name, value in ANSWER_DEFAULTS.items() if name in known}
    if task.takes_pairs and second.strip():
        options["second"] = second
    if task.predicts_next and not (task.fills_blanks and BLANK.search(text)):
        return with_readable_tokens(task, next(task.answers([BLANK.split(text)[0].rstrip()], **options)))
    return next(task.answers([BLANK.sub(" ", text) if task.has_word_vectors else text], **options))


def with_readable_tokens(task: "Task", content: "Answer") -> "Answer":
    """Each next token also as people read it: byte-level BPE writes bytes as other characters."""
    from stairs.inspection.probabilities import readable_vocabulary_token

    entries = cast("ContinuationAnswer", content)["next"]
    return {**content, "next": [{**entry, "readable": readable_vocabulary_token(task, entry["token"])} for entry in entries]}
