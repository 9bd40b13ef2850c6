"""A verb as Python calls it: its arguments are checked, it shows its progress in a notebook or on a terminal, and its errors name keywords where the
shell's name flags."""

import functools
import inspect
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

from stairs import progress
from stairs.arguments import convert
from stairs.errors import BadInput, StairsError

P = ParamSpec("P")
R = TypeVar("R")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
RESUMED = ("train", "tune", "climb")
ONLY_SHELL = re.compile(r",? or take the first with --yes")

lock = threading.Lock()
running_verbs = 0  # in all threads
running_commands = 0
silent = progress.bars_enabled, progress.messages_enabled, progress.verbose  # before the first of them


def python_verb(function: Callable[P, R]) -> Callable[P, R]:
    """Around a verb, whose arguments are converted by their annotations."""
    signature = inspect.signature(function)
    variable = next((name for name, own in signature.parameters.items() if own.kind is own.VAR_KEYWORD), None)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with in_session(function.__name__):
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise BadInput(f"{function.__name__}: {error}{near_keyword(signature, kwargs)}; help({function.__name__}) explains it") from None
            for name, value in bound.arguments.items():
                if name != variable:
                    bound.arguments[name] = convert(name, value, signature.parameters[name].annotation)
            return function(*bound.args, **bound.kwargs)

    return call


def near_keyword(signature: inspect.Signature, given: dict[str, object]) -> str:
    unknown = next((name for name in given if name not in signature.parameters), None)
    near = get_close_matches(unknown, signature.parameters, 1) if unknown else []
    return f", did you mean {near[0]}" if near else ""


@contextmanager
def in_session(verb: str) -> Iterator[None]:
    """Progress is shown while a verb runs, in any thread; within another verb, or where somebody listens already, nothing changes."""
    global running_verbs, silent
    with lock:
        if not running_verbs:
            silent = progress.bars_enabled, progress.messages_enabled, progress.verbose
            if progress.listener is None and not progress.messages_enabled and is_watched():
                progress.bars_enabled = progress.messages_enabled = True
                progress.verbose = False
        running_verbs += 1
    try:
        yield
    except StairsError as error:
        if running_commands:
            raise
        raise type(error)(with_keywords(str(error))) from error.__cause__
    except KeyboardInterrupt:
        if running_commands:
            raise
        raise KeyboardInterrupt(f"{verb} was stopped" + ("; the same call goes on from what is saved" if verb in RESUMED else "")) from None
    finally:
        with lock:
            running_verbs -= 1
            if not running_verbs:
                progress.bars_enabled, progress.messages_enabled, progress.verbose = silent


@contextmanager
def in_command() -> Iterator[None]:
    """While a command of the shell runs, errors name flags."""
    global running_commands
    running_commands += 1
    try:
        yield
    finally:
        running_commands -= 1


def is_watched() -> bool:
    """Whether somebody sees what is printed."""
    return progress.is_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def with_keywords(sentence: str) -> str:
    """--learning-rate is learning_rate in Python."""
    return FLAG.sub(lambda flag: flag[1].replace("-", "_"), ONLY_SHELL.sub("", sentence))
