"""A text as tokenizers split it."""

from stairs.inspection.tokens import TokensData
from stairs.pictures.charts import BLUE, GREY, ORANGE, Chart, RibbonBox, display_token, ribbon

MAX_HEADING_LENGTH = 80  # characters


def tokens(data: TokensData) -> Chart:
    """A ribbon for each tokenization; unknown tokens are orange."""
    ribbons: list[tuple[str, list[RibbonBox]]] = []
    for tokenization in data["tokenizations"]:
        boxes: list[RibbonBox] = [
            {"name": display_token(span["token"]), "colour": ORANGE if span["unknown"] else (BLUE, GREY)[number % 2], "strength": 0.3,
             "tooltip": f"token {number}" + (", unknown" if span["unknown"] else "")}
            for number, span in enumerate(tokenization["tokens"])
        ]  # fmt: skip
        ribbons.append((f"{shorten_runs(tokenization['name'])}: {len(boxes)} tokens", boxes))
    return ribbon(*ribbons)


def shorten_runs(names: str) -> str:
    """As many names of runs as fit on a line."""
    return names if len(names) <= MAX_HEADING_LENGTH else names[: names.rfind(", ", 0, MAX_HEADING_LENGTH)] + ", …"
