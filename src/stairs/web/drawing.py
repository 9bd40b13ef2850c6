"""Between the pages and the pictures: which there are, whom they suit, and one of them as data, SVG or PNG."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stairs.web.opened_run import OpenedRun
from stairs.web.requests import RequestError, json_safe

SERVER_OPTIONS = ("run", "labels")  # options of looks that name the run's folder and a file: what they are, no request decides
CACHE_SIZE = 16  # pictures whose data is kept, so that the buttons below a picture do not compute it again
MAX_SVG_BYTES = 8 << 20  # bytes of an SVG that a browser still draws at once


class Drawable(NamedTuple):
    """What can be looked at: `data` from a task and a text, and a `chart` from that."""

    data: Callable[..., Any]
    chart: Callable[[Any], Any]
    suits: Callable[[Any], bool]  # whether a task has something to show
    options: tuple[str, ...]  # the options that a page may set
    needs_text: bool  # whether it is of a text
    needs: tuple[str, ...]  # the options that only the explorer itself may set


def drawables() -> dict[str, Drawable]:
    """All of them, by name. Imported when first asked for: they bring torch along, and the page must not wait for it."""
    from stairs.inspection.views import VIEWS
    from stairs.pictures.catalogue import PICTURES

    found = {}
    for name, look in VIEWS.items():
        takes, needs = (tuple(option for option in look.options if (option in SERVER_OPTIONS) is ours) for ours in (False, True))
        found[name] = Drawable(look.data, PICTURES[name], look.suits, takes, look.needs_text, needs)
    return found


def available_pictures(run: OpenedRun) -> dict[str, Any] | None:
    """The pictures that suit a run, each with its options; None as long as its model is not there."""
    task = run.task
    if task is None:
        return None
    return {name: {"options": list(drawable.options), "needs_text": drawable.needs_text} for name, drawable in drawables().items()
        if drawable.suits(task)}


class Studio:
    """Draws, and remembers the last few. `labels` is a file of labelled examples, if one was given."""

    def __init__(self, labels: str = "") -> None:
        self.labels = labels
        self.cache: OrderedDict[str, Any] = OrderedDict()
        self.lock = threading.Lock()

    def data(self, run: OpenedRun, name: str, text: str, options: dict[str, Any]) -> Any:
        with run.model() as task:
            key = json.dumps([run.name, run.seen, name, text, options], sort_keys=True)
            with self.lock:
                if key in self.cache:
                    self.cache.move_to_end(key)
                    return self.cache[key]
            drawable = drawables()[name]
            if not drawable.suits(task):
                raise RequestError(422, "picture", f"a {task.name} run of {task.model_name} has no {name} to look at; choose another run", "run")
            try:
                ours = dict(zip(SERVER_OPTIONS, (str(run.folder), self.labels), strict=True))
                found = json_safe(drawable.data(task, text, **options, **{name: ours[name] for name in drawable.needs}))
            except (TypeError, ValueError, IndexError, KeyError) as error:
                if not options:
                    raise
                raise RequestError(422, "option", f"{name} cannot be drawn with {', '.join(options)} as given; change it", "options") from error
        with self.lock:
            self.cache[key] = found
            while len(self.cache) > CACHE_SIZE:
                self.cache.popitem(last=False)
        return found

    def side_by_side(self, runs: Sequence[OpenedRun], name: str, text: str) -> Any:
        """What several runs make of the same text."""
        if name != "tokens":
            raise RequestError(422, "beside", f"{name} is drawn of one run at a time; leave the others out", "beside")
        from stairs.inspection.tokens import side_by_side

        return side_by_side({run.name: self.data(run, name, text, {}) for run in runs})

    def chart(self, name: str, data: Any) -> Any:
        return drawables()[name].chart(data)


def find_drawable(name: str) -> Drawable:
    found = drawables().get(name)
    if found is None:
        raise RequestError(404, "picture", f"there is no picture {name[:40]!r}; there are {', '.join(drawables())}")
    return found


def render(chart: Any, kind: str) -> bytes:
    """As SVG or PNG."""
    from stairs.pictures import image_files

    try:
        return image_files.render(chart, f".{kind}")
    except ValueError as error:  # Vega stumbles over words such as constructor, which are names of its own
        raise RequestError(422, "drawing", "a word in this picture cannot be drawn; change the text, or save the data as JSON", "text") from error
