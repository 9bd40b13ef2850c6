"""Every picture of a run by its name: the view that gives its data, and the function that draws it.

draw(stairs.load("runs/notes-gpt"), "attention", "the cat sat", layer=1)              # a chart: a notebook shows it, `charts.save` writes it
picture_data(stairs.load("runs/notes-gpt"), "attention", "the cat sat", layer=1)      # what it shows: {"tokens": [...], "weights": [[...]], ...}

A new picture is a view in inspection/, a drawing function in pictures/ and a line here; see docs/recipes.md.
"""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Generic, NamedTuple, TypeVar

from stairs.errors import BadInput, Unsupported
from stairs.inspection import attention, labels, layers, probabilities, tokens, translation, words
from stairs.inspection.views import View
from stairs.pictures import attention as draw_attention
from stairs.pictures import labels as draw_labels
from stairs.pictures import layers as draw_layers
from stairs.pictures import probabilities as draw_probabilities
from stairs.pictures import tokens as draw_tokens
from stairs.pictures import translation as draw_translation
from stairs.pictures import words as draw_words
from stairs.pictures.charts import Chart
from stairs.tasks import Task

Data = TypeVar("Data")


class Picture(NamedTuple, Generic[Data]):
    view: View[..., Data]
    draw: Callable[[Data], Chart]


PICTURES: dict[str, Picture[Any]] = {
    "tokens": Picture(tokens.tokens, draw_tokens.tokens),
    "backoff": Picture(probabilities.backoff, draw_probabilities.backoff),
    "surprise": Picture(probabilities.surprise, draw_probabilities.surprise),
    "next": Picture(probabilities.next_tokens, draw_probabilities.next_tokens),
    "blanks": Picture(probabilities.blanks, draw_probabilities.blanks),
    "neighbours": Picture(words.neighbours_view, draw_words.neighbours),
    "strips": Picture(words.strips, draw_words.strips),
    "map": Picture(words.words_map, draw_words.words_map),
    "analogy": Picture(words.analogy, draw_words.analogy),
    "alignment": Picture(translation.alignment, draw_translation.alignment),
    "tree": Picture(translation.beam_tree, draw_translation.beam_tree),
    "positions": Picture(attention.positions, draw_attention.positions),
    "mask": Picture(attention.mask, draw_attention.mask),
    "attention": Picture(attention.attention, draw_attention.attention),
    "lines": Picture(attention.lines, draw_attention.lines),
    "heads": Picture(attention.heads, draw_attention.heads),
    "layers": Picture(layers.layers, draw_layers.layers),
    "mix": Picture(layers.mix, draw_layers.mix),
    "senses": Picture(layers.senses, draw_layers.senses),
    "reasons": Picture(labels.reasons, draw_labels.reasons),
    "nearest": Picture(labels.nearest, draw_labels.nearest),
    "confusion": Picture(labels.confusion, draw_labels.confusion),
}


def suitable_pictures(task: Task) -> list[str]:
    """The names of the pictures that a task has something to show in."""
    return [name for name, picture in PICTURES.items() if picture.view.suits(task)]


def find_picture(name: str) -> Picture[Any]:
    if name not in PICTURES:
        similar = get_close_matches(name, PICTURES, 1)
        raise BadInput(f"there is no picture {name!r}; " + (f"did you mean {similar[0]}?" if similar else f"there are {', '.join(PICTURES)}"))
    return PICTURES[name]


def picture_data(task: Task, name: str, text: str = "", **options: Any) -> Any:
    """What a picture shows, as plain data."""
    view = find_picture(name).view
    if not view.suits(task):
        raise Unsupported(f"a {task.name} run of {task.model_name} has no {name} to draw; it has {', '.join(suitable_pictures(task))}")
    unknown = next((option for option in options if option not in view.options), None)
    if unknown is not None:
        raise BadInput(f"--{unknown} is not for {name}" + (f", which takes {', '.join(view.options)}" if view.options else "; leave it out"))
    if view.needs_text and not text.strip():
        raise BadInput(f"{name} is a picture of a text, and none was given; give one")
    return view.function(task, text, **options)


def draw(task: Task, name: str, text: str = "", **options: Any) -> Chart:
    """A picture of a run."""
    return PICTURES[name].draw(picture_data(task, name, text, **options))
