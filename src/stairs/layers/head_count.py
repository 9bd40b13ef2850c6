"""How many heads fit a width; without torch, so that settings can be checked at once."""

from stairs.errors import BadInput


def check_heads(width: int, heads: int) -> None:
    """BadInput with the nearest number of heads that divides the width."""
    if width < 1 or heads < 1 or width % heads:
        fits = [number for number in range(1, max(width, 1) + 1) if width % number == 0]
        advice = f"; try {min(fits, key=lambda number: (abs(number - heads), -number))} heads" if fits else ""
        raise BadInput(f"{heads} heads cannot share a width of {width}, which must be a multiple of them{advice}")
