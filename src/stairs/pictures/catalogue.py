"""Every picture of a run by its name: what `inspection.looks.MAX_EVALUATIONS` gives under a name, the function of that name here draws.

draw(stairs.load("runs/notes-gpt"), "attention", "the cat sat", layer=1)      # a chart: a notebook shows it, `saving.save` keeps it
"""

from collections.abc import Callable
from typing import Any

from stairs.inspection.views import view
from stairs.pictures import attention, labels, layers, tokens, translation, words

PICTURES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "tokens": tokens.tokens,
    "backoff": tokens.backoff,
    "surprise": tokens.surprise,
    "next": tokens.next_tokens,
    "blanks": tokens.blanks,
    "neighbours": tokens.neighbours,
    "strips": lambda data: words.strips(data["words"], data["matrix"]),
    "map": lambda data: words.words_map(data["points"]),
    "analogy": lambda data: words.analogy(data["points"], [(tail, head) for tail, head in data["arrows"]]),
    "alignment": lambda data: translation.alignment(data["source"], data["target"], data["weights"]),
    "tree": lambda data: translation.beam_tree(data["steps"]),
    "positions": attention.positions,
    "mask": attention.mask,
    "attention": attention.attention,
    "lines": attention.lines,
    "heads": attention.heads,
    "layers": layers.layers,
    "mix": layers.mix,
    "senses": layers.senses,
    "reasons": tokens.reasons,
    "nearest": labels.nearest,
    "confusion": labels.confusion,
}


def draw(task: Any, name: str, text: str = "", **options: Any) -> Any:
    """A picture of a run."""
    return PICTURES[name](view(task, name, text, **options))
