"""Everything that can be seen of a run, by name: from a task and a text to plain data, which `pictures.PICTURES` draws under the same name.

look(task, "attention", "the cat sat", layer=1, head=0)      # {"tokens": [...], "weights": [[...]], ...}
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from stairs.errors import BadInput, Unsupported
from stairs.inspection import attention, labels, layers, nearest, probabilities, tokens, translation, word_looks
from stairs.inspection.tokens import Data


@dataclass(frozen=True)
class View:
    data: Callable[..., Data]  # of a task and a text
    suits: Callable[[Any], bool]  # whether a task has something to show
    options: tuple[str, ...] = ()  # the options it knows
    needs_text: bool = True  # whether it is of a text


def model(task: Any) -> Any:
    """None for classifiers that have none, or one for each label."""
    return getattr(task, "model", None)


def attends(task: Any) -> bool:
    return hasattr(model(task), "blocks")


def speaks(task: Any) -> bool:
    return task.name in ("next-token", "bidirectional-lm")


def fills(task: Any) -> bool:
    return task.name == "masked-token" and model(task).word_head is not None


def counts(task: Any) -> bool:
    return speaks(task) and hasattr(model(task), "target_scores")


def gives_labels(task: Any) -> bool:
    return task.example_kind == "classify" and hasattr(task, "probabilities")


def translates(task: Any) -> bool:
    return task.name == "translate"


def aligns(task: Any) -> bool:
    return translates(task) and getattr(model(task), "attends", True)


def has_words(task: Any) -> bool:
    return task.name == "word-vectors"


def encodes(task: Any) -> bool:
    return model(task) is not None and model(task).encodes


VIEWS: dict[str, View] = {
    "tokens": View(tokens.tokens, lambda task: True),
    "backoff": View(probabilities.backoff, counts),
    "surprise": View(probabilities.surprise, lambda task: speaks(task) or fills(task)),
    "next": View(probabilities.next_tokens, speaks, ("top",)),
    "blanks": View(probabilities.blanks, fills, ("top",)),
    "neighbours": View(word_looks.neighbours_view, has_words, ("top",)),
    "strips": View(word_looks.strips, has_words, ("top",)),
    "map": View(word_looks.words_map, has_words, ("top",)),
    "analogy": View(word_looks.analogy, has_words, ("top",)),
    "alignment": View(translation.alignment, aligns, ("layer", "head")),
    "tree": View(translation.beam_tree, translates),
    "positions": View(attention.positions, lambda task: attention.position_table(model(task)) is not None, needs_text=False),
    "mask": View(attention.mask, lambda task: attends(task) or getattr(model(task), "name", "") in attention.WITHOUT_ATTENTION),
    "attention": View(attention.attention, attends, ("layer", "head", "second")),
    "lines": View(attention.lines, attends, ("layer", "head", "word", "second")),
    "heads": View(attention.heads, attends, ("second",)),
    "layers": View(layers.layers, lambda task: model(task) is not None and model(task).depth > 1, ("second",)),
    "mix": View(layers.mix, lambda task: bool(getattr(getattr(task, "feature_extractor", None), "mixes", ())), needs_text=False),
    "senses": View(layers.senses, encodes, ("word",)),
    "reasons": View(labels.reasons, gives_labels),
    "nearest": View(nearest.nearest, lambda task: gives_labels(task) and hasattr(task, "text_features"), ("labels", "top")),
    "confusion": View(labels.confusion, lambda task: task.example_kind in ("classify", "compare"), ("run",), needs_text=False),
}


def suitable_views(task: Any) -> list[str]:
    """The pictures that a run can give."""
    return [name for name, look in VIEWS.items() if look.suits(task)]


def find_view(name: str) -> View:
    if name not in VIEWS:
        near = get_close_matches(name, VIEWS, 1)
        raise BadInput(f"there is no picture {name!r}; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(VIEWS)}"))
    return VIEWS[name]


def view(task: Any, name: str, text: str = "", **options: Any) -> Data:
    """What a picture shows, as plain data."""
    found = find_view(name)
    if not found.suits(task):
        raise Unsupported(f"a {task.name} run of {task.model_name} has nothing to show as {name}; it has {', '.join(suitable_views(task))}")
    strange = next((option for option in options if option not in found.options), None)
    if strange is not None:
        raise BadInput(f"--{strange} is not for {name}" + (f", which takes {', '.join(found.options)}" if found.options else "; leave it out"))
    if found.needs_text and not text.strip():
        raise BadInput(f"{name} is a picture of a text, and none came; give one")
    return found.data(task, text, **options)
