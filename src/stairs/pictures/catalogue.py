"""Every picture of a run by its name: the view that gives its data, and the function that draws it.

draw(stairs.load("runs/notes-gpt"), "attention", "the cat sat", layer=1)              # a chart: a notebook shows it, `charts.save` writes it
picture_data(stairs.load("runs/notes-gpt"), "attention", "the cat sat", layer=1)      # what it shows: {"tokens": [...], "weights": [[...]], ...}

A new picture is a view in inspection/, a drawing function in pictures/ and a line here; see docs/recipes.md.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import NamedTuple, TypeVar, cast

from stairs.errors import BadInput, Unsupported
from stairs.inspection import (
    attention,
    attention_arithmetic,
    distribution,
    input_rows,
    labels,
    layers,
    look_alikes,
    masks,
    one_hot,
    positions,
    probabilities,
    receptive_field,
    tokens,
    translation,
    word_training,
    words,
)  # fmt: skip
from stairs.inspection.views import View
from stairs.pictures import attention as draw_attention
from stairs.pictures import attention_arithmetic as draw_attention_arithmetic
from stairs.pictures import distribution as draw_distribution
from stairs.pictures import input_rows as draw_input_rows
from stairs.pictures import labels as draw_labels
from stairs.pictures import layers as draw_layers
from stairs.pictures import look_alikes as draw_look_alikes
from stairs.pictures import masks as draw_masks
from stairs.pictures import one_hot as draw_one_hot
from stairs.pictures import positions as draw_positions
from stairs.pictures import probabilities as draw_probabilities
from stairs.pictures import receptive_field as draw_receptive_field
from stairs.pictures import tokens as draw_tokens
from stairs.pictures import translation as draw_translation
from stairs.pictures import word_training as draw_word_training
from stairs.pictures import words as draw_words
from stairs.pictures.charts import Chart
from stairs.tasks import Task

Data = TypeVar("Data", bound=Mapping[str, object])


class Picture(NamedTuple):
    view: View[..., Mapping[str, object]]
    draw: Callable[[Mapping[str, object]], Chart]  # of what the view gives


def picture(view: View[..., Data], draw: Callable[[Data], Chart]) -> Picture:
    """A view and the drawing of its own kind of data, so that a pair that does not fit is a type error."""
    return Picture(view, lambda data: draw(cast(Data, data)))


PICTURES: dict[str, Picture] = {
    "tokens": picture(tokens.tokens, draw_tokens.tokens),
    "backoff": picture(probabilities.backoff, draw_probabilities.backoff),
    "surprise": picture(probabilities.surprise, draw_probabilities.surprise),
    "next": picture(probabilities.next_tokens, draw_probabilities.next_tokens),
    "blanks": picture(probabilities.blanks, draw_probabilities.blanks),
    "distribution": picture(distribution.distribution, draw_distribution.distribution),
    "windows": picture(word_training.windows, draw_word_training.windows),
    "update": picture(word_training.update, draw_word_training.update),
    "onehot": picture(one_hot.one_hot, draw_one_hot.one_hot),
    "look-alikes": picture(look_alikes.look_alikes, draw_look_alikes.look_alikes),
    "neighbours": picture(words.neighbours_view, draw_words.neighbours),
    "strips": picture(words.strips, draw_words.strips),
    "map": picture(words.words_map, draw_words.words_map),
    "analogy": picture(words.analogy, draw_words.analogy),
    "alignment": picture(translation.alignment, draw_translation.alignment),
    "tree": picture(translation.beam_tree, draw_translation.beam_tree),
    "embeddings": picture(input_rows.embeddings, draw_input_rows.embeddings),
    "training-row": picture(input_rows.training_row, draw_input_rows.training_row),
    "positions": picture(positions.positions, draw_positions.positions),
    "waves": picture(positions.waves, draw_positions.waves),
    "mask": picture(masks.mask, draw_masks.mask),
    "patterns": picture(masks.patterns, draw_masks.patterns),
    "receptive-field": picture(receptive_field.receptive_field, draw_receptive_field.receptive_field),
    "arithmetic": picture(attention_arithmetic.arithmetic, draw_attention_arithmetic.arithmetic),
    "attention": picture(attention.attention, draw_attention.attention),
    "lines": picture(attention.lines, draw_attention.lines),
    "heads": picture(attention.heads, draw_attention.heads),
    "layers": picture(layers.layers, draw_layers.layers),
    "mix": picture(layers.mix, draw_layers.mix),
    "senses": picture(layers.senses, draw_layers.senses),
    "reasons": picture(labels.reasons, draw_labels.reasons),
    "nearest": picture(labels.nearest, draw_labels.nearest),
    "confusion": picture(labels.confusion, draw_labels.confusion),
}


def suitable_pictures(task: Task) -> list[str]:
    """The names of the pictures that a task has something to show in."""
    return [name for name, picture in PICTURES.items() if picture.view.suits(task)]


def find_picture(name: str) -> Picture:
    if name not in PICTURES:
        similar = get_close_matches(name, PICTURES, 1)
        raise BadInput(f"there is no picture {name!r}; " + (f"did you mean {similar[0]}?" if similar else f"there are {', '.join(PICTURES)}"))
    return PICTURES[name]


def picture_data(task: Task, name: str, text: str = "", **options: object) -> Mapping[str, object]:
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


def draw(task: Task, name: str, text: str = "", **options: object) -> Chart:
    """A picture of a run."""
    return PICTURES[name].draw(picture_data(task, name, text, **options))
