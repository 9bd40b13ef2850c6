"""Which numbers of attention heads divide a width; without torch, so that settings can be checked at once."""

from stairs.errors import BadInput


def check_heads(width: int, heads: int) -> None:
    """Refuse a number of heads that does not divide the width, and name the nearest that does."""
    if width < 1 or heads < 1 or width % heads:
        divisors = [number for number in range(1, max(width, 1) + 1) if width % number == 0]
        advice = f"; try {min(divisors, key=lambda number: (abs(number - heads), -number))} heads" if divisors else ""
        raise BadInput(f"{heads} heads cannot share a width of {width}, which must be a multiple of them{advice}")
