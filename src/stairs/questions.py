"""Where a file can be read in several ways, somebody must say which: a flag, the person at the terminal, or --yes; else it is refused."""

import sys
from collections.abc import Sequence
from typing import NamedTuple

from stairs import progress
from stairs.errors import BadInput

assume_yes = False  # --yes: the likeliest reading is taken where nobody can be asked; the command line sets it
ANSWERS: dict[tuple[str, ...], int] = {}  # what was answered in this process: nobody is asked the same of the file to test on


class AmbiguousInput(BadInput):
    """Several readings fit, and nobody said which."""


class Interpretation(NamedTuple):
    """A way to read a file."""

    description: str  # as in "text from 'review', label from 'stars'"
    flags: str  # that choose it without a question


def choose_interpretation(where: str, why: str, readings: Sequence[Interpretation]) -> int:
    """The number of the reading that holds; the first is the likeliest. `why` says what leaves the choice."""
    key = tuple(reading.flags for reading in readings)
    ways = " or ".join(reading.description for reading in readings)
    if key in ANSWERS:
        return ANSWERS[key]
    if assume_yes:
        progress.say(f"{where}: {why}; {readings[0].description} was taken because of --yes")
        return 0
    if is_interactive():
        ANSWERS[key] = ask_user(where, why, readings)
        return ANSWERS[key]
    flags = " or ".join(reading.flags for reading in readings)
    raise AmbiguousInput(f"{where}: {why}: {ways}? Say so with {flags}, or take the first with --yes")


def is_interactive() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def ask_user(where: str, why: str, readings: Sequence[Interpretation]) -> int:
    """The answer of the person at the terminal: yes or no to one reading, a number of several."""
    single = len(readings) == 1
    lines = [f"{where}: {why}:"] + [f"  {number}  {reading.description}   ({reading.flags})" for number, reading in enumerate(readings, 1)]
    print("\n".join(lines), file=sys.stderr)
    while True:
        print("Is that so? yes or no: " if single else f"Which is meant? 1 to {len(readings)}: ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        said = answer.strip().casefold()
        if single and said in ("y", "yes", "是"):
            return 0
        if not answer or said in ("n", "no", "否"):
            raise AmbiguousInput(f"{where}: not read, as {why}; say what is meant with {readings[0].flags.split('=')[0]}=...")
        if said.isdecimal() and 1 <= int(said[:4]) <= len(readings):
            return int(said) - 1
