"""The names of what can be chosen in an attention, and which widths a score takes; without torch, so that settings can be checked at once."""

from typing import Literal

from stairs.errors import BadInput

ScoreName = Literal["dot", "scaled", "additive", "bilinear", "scaled-bilinear", "projected", "scaled-projected"]
SharedProjections = Literal["none", "qk", "kv", "all"]
PositionName = Literal["learned", "sinusoidal", "rotary", "relative", "buckets", "transformer-xl", "none"]
PatternName = Literal["full", "window", "sparse", "linformer"]
ADDED_POSITIONS = ("learned", "sinusoidal", "none")  # added to the token vectors, or nothing; the others work inside the attention


def check_score_widths(name: str, query_width: int, key_width: int) -> None:
    """Refuse a score without weights for a query and keys of different widths."""
    if name in ("dot", "scaled") and query_width != key_width:
        raise BadInput(
            f"attention {name} multiplies a query by keys as wide as it, not a query of width {query_width} by keys of width {key_width};"
            " make them equally wide, or take additive, bilinear or projected"
        )
