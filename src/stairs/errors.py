"""Everything that can go wrong and is not a bug: one sentence for the user, and the exit code of the command."""


class StairsError(Exception):
    """What happened, where, and what to do about it, in one sentence."""

    code = 1


class BadInput(StairsError, ValueError):
    """A file, flag or text of the user is wrong: `BadInput("no text in notes.txt; give a file with text")`. It is a ValueError, too, which is what
    scikit-learn's users expect of wrong arguments."""

    code = 2


class Unsupported(BadInput):
    """The model or task cannot do what was asked of it."""


class EnvironmentFault(StairsError):
    """The disk, the memory, a permission or a port is in the way."""

    code = 3


class Diverged(StairsError):
    """The loss or a gradient is no longer finite."""

    code = 4


class Locked(StairsError):
    """Another process is writing this run."""

    code = 5


def no_tokens(text: str, where: str = "") -> BadInput:
    """`where` is the place of the text, such as list:3, if it is one of several."""
    return BadInput(f"{where + ': ' if where else ''}there are no tokens in {preview(text)}; give a text with words")


def preview(value: object, limit: int = 40) -> str:
    """A value that is safe to print: control characters escaped, long ones shortened."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
