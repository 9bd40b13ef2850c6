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
class Look:
    data: Callable[..., Data]  # of a task and a text
    suits: Callable[[Any], bool]  # whether a task has something to show
    takes: tuple[str, ...] = ()  # the options it knows
    reads: bool = True  # whether it is of a text


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
    return model(task) is not None and model(task).can("encode")


LOOKS: dict[str, Look] = {
    "tokens": Look(tokens.tokens, lambda task: True),
    "backoff": Look(probabilities.backoff, counts),
    "surprise": Look(probabilities.surprise, lambda task: speaks(task) or fills(task)),
    "next": Look(probabilities.following, speaks, ("top",)),
    "blanks": Look(probabilities.blanks, fills, ("top",)),
    "neighbours": Look(word_looks.near, has_words, ("top",)),
    "strips": Look(word_looks.strips, has_words, ("top",)),
    "map": Look(word_looks.words_map, has_words, ("top",)),
    "analogy": Look(word_looks.analogy, has_words, ("top",)),
    "alignment": Look(translation.alignment, aligns, ("layer", "head")),
    "tree": Look(translation.tree, translates),
    "positions": Look(attention.positions, lambda task: attention.table_of(model(task)) is not None, reads=False),
    "mask": Look(attention.mask, lambda task: attends(task) or getattr(model(task), "name", "") in attention.WITHOUT_ATTENTION),
    "attention": Look(attention.attention, attends, ("layer", "head", "second")),
    "lines": Look(attention.lines, attends, ("layer", "head", "word", "second")),
    "heads": Look(attention.heads, attends, ("second",)),
    "layers": Look(layers.layers, lambda task: model(task) is not None and model(task).depth > 1, ("second",)),
    "mix": Look(layers.mix, lambda task: bool(getattr(getattr(task, "feature_extractor", None), "mixes", ())), reads=False),
    "senses": Look(layers.senses, encodes, ("word",)),
    "reasons": Look(labels.reasons, gives_labels),
    "nearest": Look(nearest.nearest, lambda task: gives_labels(task) and hasattr(task, "text_features"), ("labels", "top")),
    "confusion": Look(labels.confusion, lambda task: task.example_kind in ("classify", "compare"), ("run",), reads=False),
}


def fitting(task: Any) -> list[str]:
    """The pictures that a run can give."""
    return [name for name, look in LOOKS.items() if look.suits(task)]


def chosen(name: str) -> Look:
    if name not in LOOKS:
        near = get_close_matches(name, LOOKS, 1)
        raise BadInput(f"there is no picture {name!r}; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(LOOKS)}"))
    return LOOKS[name]


def look(task: Any, name: str, text: str = "", **options: Any) -> Data:
    """What a picture shows, as plain data."""
    found = chosen(name)
    if not found.suits(task):
        raise Unsupported(f"a {task.name} run of {task.model_name} has nothing to show as {name}; it has {', '.join(fitting(task))}")
    strange = next((option for option in options if option not in found.takes), None)
    if strange is not None:
        raise BadInput(f"--{strange} is not for {name}" + (f", which takes {', '.join(found.takes)}" if found.takes else "; leave it out"))
    if found.reads and not text.strip():
        raise BadInput(f"{name} is a picture of a text, and none came; give one")
    return found.data(task, text, **options)
