"""Word vectors to look at: neighbours, their vectors as they are, a map, and an analogy. Each line of a text is a question, see `neighbours.py`."""

from typing import Any

import numpy as np

from stairs.errors import BadInput
from stairs.inspection.flat import points, project_pca, project_tsne
from stairs.inspection.tokens import Data
from stairs.inspection.words import neighbours, words_to_draw


def neighbours_view(task: Any, text: str, *, top: int = 10) -> Data:
    return {"answers": nearest_to_each(task, text, top)}


def strips(task: Any, text: str, *, top: int = 5) -> Data:
    return strips_data(task, nearest_to_each(task, text, top))


def words_map(task: Any, text: str, *, top: int = 10) -> Data:
    return map_data(task, nearest_to_each(task, text, top))


def analogy(task: Any, text: str, *, top: int = 5) -> Data:
    """Of `king - man + woman`: man to king, and woman to the sum."""
    found = nearest_to_each(task, text, top)
    if len(found) != 1 or len(found[0]["words"]) != 3:
        raise BadInput('an analogy has three words, as in "king - man + woman"')
    return analogy_data(task, found)


def nearest_to_each(task: Any, text: str, top: int) -> list[Data]:
    asked = list(filter(str.strip, text.splitlines()))
    if not asked:
        raise BadInput('no word came; give one, or a sum such as "king - man + woman"')
    return [neighbours(task, line, top) for line in asked]


def strips_data(task: Any, found: list[Data]) -> Data:
    """The vectors of some answers' words."""
    shown = words_to_draw(task, found)
    return {"words": list(shown), "matrix": [[float(number) for number in word.vector] for word in shown.values()]}


def map_data(task: Any, found: list[Data], tsne: bool = False) -> Data:
    """Some answers' words, each with a place on paper and the question it belongs to."""
    shown = words_to_draw(task, found)
    places = (project_tsne if tsne else project_pca)(np.stack([word.vector for word in shown.values()]))
    return {"points": [{**point, "group": shown[str(point["word"])].group} for point in points(list(shown), places)]}


def analogy_data(task: Any, found: list[Data]) -> Data:
    second, first, third = found[0]["words"]
    return {**map_data(task, found), "arrows": [[first, second], [third, found[0]["query"]]], "near": found[0]["near"]}
