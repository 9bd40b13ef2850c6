"""A verb as Python calls it: it shows its progress in a notebook or on a terminal, and its errors name keywords where the shell's name flags."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from stairs import progress
from stairs.errors import StairsError

FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
ONLY_SHELL = re.compile(r",? or take the first with --yes")


@contextmanager
def python_verb() -> Iterator[None]:
    """Around a verb; within another one, or where somebody listens already, it changes nothing."""
    before = progress.bars_enabled, progress.messages_enabled, progress.verbose
    if progress.listener is None and not progress.messages_enabled and is_watched():
        progress.bars_enabled = progress.messages_enabled = True
        progress.verbose = False
    try:
        yield
    except StairsError as error:
        raise type(error)(with_keywords(str(error))) from error.__cause__
    finally:
        progress.bars_enabled, progress.messages_enabled, progress.verbose = before


def is_watched() -> bool:
    """Whether somebody sees what is printed."""
    return progress.is_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def with_keywords(sentence: str) -> str:
    """--learning-rate is learning_rate in Python."""
    return FLAG.sub(lambda flag: flag[1].replace("-", "_"), ONLY_SHELL.sub("", sentence))
