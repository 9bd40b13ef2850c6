"""Progress on stderr for long work, silent unless the command line switches it on.

with track("reading", total=corpus.size, unit="bytes") as advance:
    for block in blocks:
        advance(len(block))
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

bars_enabled = False  # the command line sets it: a library says nothing of its own accord
messages_enabled = False  # whether `say` prints; a terminal is not needed for that
verbose = True  # whether `say_verbose` does as well
listener: Callable[[str], None] | None = None  # hears instead what would be said, and how far work has come
LISTENER_INTERVAL = 0.25  # seconds


def say(sentence: str) -> None:
    """A line of prose for the person at the command line; data goes to stdout, prose to stderr."""
    if listener is not None:
        listener(sentence)
    elif messages_enabled:
        print(sentence, file=sys.stderr, flush=True)


def say_verbose(sentence: str) -> None:
    """A line that only those want who watch every stage of the work."""
    if verbose or listener is not None:
        say(sentence)


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing is said or shown meanwhile: for what has been said already."""
    global listener
    before, listener = listener, lambda sentence: None
    try:
        yield
    finally:
        listener = before


@contextmanager
def track(what: str, total: float | None = None, unit: str = "") -> Iterator[Callable[[float], None]]:
    """Yield `advance(amount)`; on a terminal it moves a bar with a rate and the time left."""
    if listener is not None:
        yield report_to(listener, what, total)
        return
    if not bars_enabled:
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TimeRemainingColumn())
    started = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total, rate="")
        done = 0.0

        def advance(amount: float) -> None:
            nonlocal done
            done += amount
            rate = done / max(time.monotonic() - started, 1e-9)
            progress.update(task, advance=amount, rate=f"{format_count(rate)} {unit}/s" if unit else "")

        yield advance


def report_to(listener: Callable[[str], None], what: str, total: float | None) -> Callable[[float], None]:
    """How far the work has come, in words."""
    started = last = time.monotonic()
    done = 0.0

    def advance(amount: float) -> None:
        nonlocal done, last
        done, now = done + amount, time.monotonic()
        if total and now - last >= LISTENER_INTERVAL:
            last = now
            listener(f"{what}: {min(done / total, 1):.0%}, {max(total - done, 0) * (now - started) / max(done, 1e-9):.0f} s left")

    return advance


def format_count(number: float) -> str:
    """1234567 -> '1.2 M'."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f} {letter}"
    return f"{number:.0f}"
