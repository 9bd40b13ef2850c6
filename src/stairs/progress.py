"""What long work owes its user: progress and messages on stderr or in a notebook, silent unless a command or a verb of `stairs.api` switches them
on, and a way to stop it.

with track("reading", total=corpus.size, unit="bytes") as advance:
    for block in blocks:
        advance(len(block))

SIGTERM and Ctrl-C let the current step finish and be saved; a second Ctrl-C stops at once.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

bars_enabled = False  # set by the command line and by `session.python_verb`: inner functions print nothing of their own accord
messages_enabled = False  # whether `say` prints; that needs no terminal
verbose = True  # whether `say_verbose` prints as well
listener: Callable[[str], None] | None = None  # receives messages and progress instead of stderr
LISTENER_INTERVAL = 0.25  # seconds between two progress reports to the listener
BAR_CELLS = 30  # of a bar in a notebook


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
    if is_notebook():
        with notebook_bar(what, total, unit) as advance:
            yield advance
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


def is_notebook() -> bool:
    """Whether the process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def notebook_bar(what: str, total: float | None, unit: str) -> Iterator[Callable[[float], None]]:
    """One line of output that is replaced as the work goes on: 'training ████░░░░ 40%  1:20 left  12 k tokens/s'."""
    from IPython.display import display

    started = last = time.monotonic()
    done = 0.0
    line = display({"text/plain": what}, raw=True, display_id=True)

    def show(ending: str) -> None:
        filled = round(BAR_CELLS * min(done / total, 1)) if total else 0
        bar = f" {'█' * filled}{'░' * (BAR_CELLS - filled)} {min(done / total, 1):4.0%}" if total else ""
        rate = f"  {format_count(done / max(time.monotonic() - started, 1e-9))} {unit}/s" if unit else ""
        line.update({"text/plain": f"{what}{bar}  {ending}{rate}"}, raw=True)

    def advance(amount: float) -> None:
        nonlocal done, last
        done, now = done + amount, time.monotonic()
        if now - last >= LISTENER_INTERVAL:
            last = now
            left = max(total - done, 0) * (now - started) / max(done, 1e-9) if total else 0.0
            show(f"{minutes(left)} left" if total else "")

    try:
        yield advance
    finally:
        show(minutes(time.monotonic() - started))


def minutes(seconds: float) -> str:
    """75 -> '1:15'."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


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


class Abandon(BaseException):
    """Raised out of work that changes nothing, such as an evaluation, so that a stop need not wait for it."""


class StopRequest:
    """Whether a signal asked the training to stop, and which."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.may_abandon = False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
        if self.may_abandon:
            raise Abandon

    @contextmanager
    def abandonable(self, allowed: bool = True) -> Iterator[None]:
        """Around work that may be abandoned half-way. Not allowed with several workers, since the others would wait for ever."""
        self.may_abandon = allowed
        try:
            if allowed and self.signal is not None:
                raise Abandon
            yield
        except Abandon:
            pass
        finally:
            self.may_abandon = False

    def exit(self) -> NoReturn:
        """End as the signal would have ended the process; a worker that got no signal follows the others."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + signal.SIGTERM)


@contextmanager
def catch_signals(request: StopRequest) -> Iterator[None]:
    """SIGTERM and SIGINT become a stop request inside the `with`; only the main thread receives signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.signal(number, request.on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
