"""Progress and messages on stderr, silent unless the command line switches them on.

with track("reading", total=corpus.size, unit="bytes") as advance:
    for block in blocks:
        advance(len(block))
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

bars_enabled = False  # set by the command line: a library prints nothing of its own accord
messages_enabled = False  # whether `say` prints; that needs no terminal
verbose = True  # whether `say_verbose` prints as well
listener: Callable[[str], None] | None = None  # receives messages and progress instead of stderr
LISTENER_INTERVAL = 0.25  # seconds between two progress reports to the listener


def say(sentence: str) -> None:
    """Print a message for the user; data goes to stdout, messages to stderr."""
    if listener is not None:
        listener(sentence)
    elif messages_enabled:
        print(sentence, file=sys.stderr, flush=True)


def say_verbose(sentence: str) -> None:
    """Print a message for users who follow every stage of the work."""
    if verbose or listener is not None:
        say(sentence)


@contextmanager
def quiet() -> Iterator[None]:
    """No messages and no progress inside the `with`."""
    global listener
    before, listener = listener, lambda sentence: None
    try:
        yield
    finally:
        listener = before


@contextmanager
def track(what: str, total: float | None = None, unit: str = "") -> Iterator[Callable[[float], None]]:
    """Yield `advance(amount)`; on a terminal it moves a bar with the rate and the time left."""
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
        bar = progress.add_task(what, total=total, rate="")
        done = 0.0

        def advance(amount: float) -> None:
            nonlocal done
            done += amount
            rate = done / max(time.monotonic() - started, 1e-9)
            progress.update(bar, advance=amount, rate=f"{format_count(rate)} {unit}/s" if unit else "")

        yield advance


def report_to(listener: Callable[[str], None], what: str, total: float | None) -> Callable[[float], None]:
    """`advance` for a listener: 'reading: 40%, 3 s left'."""
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
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f} {suffix}"
    return f"{number:.0f}"
