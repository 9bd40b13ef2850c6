"""Leaving well: SIGTERM and Ctrl-C let the step in hand finish and be saved; a second Ctrl-C leaves at once."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn


class Abandon(BaseException):
    """Raised out of work that changes nothing, such as an evaluation, so that leaving need not wait for it."""


class StopRequest:
    """Whether somebody asked for the training to end, and how."""

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
        """Around work that may be dropped half way. Among many workers it may not, or the others would wait for ever."""
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
        """End as the signal would have ended it; a worker that got none follows the others."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + signal.SIGTERM)


@contextmanager
def catch_signals() -> Iterator[StopRequest]:
    """Signals become wishes inside the `with`; only the main thread can receive any."""
    wish = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return
    before: dict[int, Any] = {number: signal.signal(number, wish.on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
