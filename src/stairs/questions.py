"""Where a file can be read in several ways, somebody must choose: a flag, the user at the terminal, or --yes; otherwise it is refused."""

import sys
from collections.abc import Sequence
from typing import NamedTuple

from stairs import progress
from stairs.errors import BadInput

assume_yes = False  # --yes: take the most likely interpretation without a question; set by the command line
ANSWERS: dict[tuple[str, ...], int] = {}  # of this process, so that the same question is not asked again for the test file


class AmbiguousInput(BadInput):
    """Several interpretations fit, and nobody chose one."""


class Interpretation(NamedTuple):
    """One way to read a file."""

    description: str  # as in "text from 'review', label from 'stars'"
    flags: str  # that choose it without a question


def choose_interpretation(where: str, why: str, interpretations: Sequence[Interpretation]) -> int:
    """The index of the interpretation to use; the first is the most likely. `why` says what is ambiguous."""
    key = tuple(interpretation.flags for interpretation in interpretations)
    if key in ANSWERS:
        return ANSWERS[key]
    if assume_yes:
        progress.say(f"{where}: {why}; --yes takes {interpretations[0].description}")
        return 0
    if is_interactive():
        ANSWERS[key] = ask_user(where, why, interpretations)
        return ANSWERS[key]
    choices = " or ".join(interpretation.description for interpretation in interpretations)
    raise AmbiguousInput(f"{where}: {why}: {choices}? Choose with {' or '.join(key)}, or take the first with --yes")


def is_interactive() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def ask_user(where: str, why: str, interpretations: Sequence[Interpretation]) -> int:
    """Yes or no to a single interpretation, or the number of one of several."""
    is_single = len(interpretations) == 1
    lines = [f"{where}: {why}:"] + [f"  {number}  {one.description}   ({one.flags})" for number, one in enumerate(interpretations, 1)]
    print("\n".join(lines), file=sys.stderr)
    while True:
        print("Is that right? yes or no: " if is_single else f"Which one? 1 to {len(interpretations)}: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        answer = line.strip().casefold()
        if is_single and answer in ("y", "yes", "是"):
            return 0
        if not line or answer in ("n", "no", "否"):
            raise AmbiguousInput(f"{where}: not read, since {why}; choose with {interpretations[0].flags.split('=')[0]}=...")
        if answer.isdecimal() and 1 <= int(answer[:4]) <= len(interpretations):
            return int(answer) - 1
