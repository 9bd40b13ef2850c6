"""Probabilities of a language model: bits and n-gram orders below each token, and bars for next tokens and blanks."""

from stairs.inspection.probabilities import BackoffData, NextData, SurpriseData
from stairs.pictures.charts import BLUE, GREY, ORANGE, Chart, RibbonBox, bars, display_token, percent, ribbon
from stairs.tasks.answers import BlanksAnswer

ORDER_COLOURS = (GREY, "#1fa187", BLUE, "#8a5cd6", "#c2409a", "#d43d51")  # from unigrams to long n-grams


def surprise(data: SurpriseData) -> Chart:
    """The more bits, the more orange; the number is below."""
    bits = [token["bits"] for token in data["tokens"]]
    largest, total = max(bits, default=0.0) or 1.0, sum(bits)
    boxes: list[RibbonBox] = [
        {"name": display_token(token["token"]), "colour": ORANGE, "strength": token["bits"] / largest, "note": f"{token['bits']:.1f}",
         "tooltip": f"{token['bits']:.2f} bits"}
        for token in data["tokens"]
    ]  # fmt: skip
    unit = "bits, each token given all others" if "measure" in data else "bits"
    return ribbon((f"{total:.0f} {unit}; {total / max(len(boxes), 1):.1f} per token", boxes))


def backoff(data: BackoffData) -> Chart:
    """The colour is the order of the n-gram behind each probability; order and probability are below."""
    boxes: list[RibbonBox] = [
        {
            "name": display_token(token["token"]),
            "colour": ORDER_COLOURS[min(token["order"], len(ORDER_COLOURS)) - 1],
            "strength": 0.6,
            "note": f"{token['order']} · {percent(token['probability'])}",
            "tooltip": f"{token['order']}-gram, probability {token['probability']:.2g}",
        }
        for token in data["tokens"]
    ]
    return ribbon(("below each token: the order of the longest n-gram found, and the probability", boxes))


def next_tokens(data: NextData) -> Chart:
    """The most probable next tokens."""
    return bars([("next token", [{"word": display_token(entry["token"]), "value": entry["probability"]} for entry in data["next"]])], "probability")


def blanks(data: BlanksAnswer) -> Chart:
    """The most probable words for each blank."""
    groups = [(f"blank {number}", blank["words"]) for number, blank in enumerate(data["blanks"], 1)]
    return bars([(name, [{"word": entry["word"], "value": entry["probability"]} for entry in words]) for name, words in groups], "probability")
