"""Everything that can go wrong and is not a bug: one sentence for the user, and the exit code it ends the command with."""


class StairsError(Exception):
    """What came, where it stood, and what to do about it, in one sentence."""

    code = 1


class BadInput(StairsError):
    """The user's file, flag or text does not fit: `BadInput("no text in notes.txt; give a file with text")`."""

    code = 2


class Unsupported(BadInput):
    """A step was asked for something it cannot do."""


class EnvironmentFault(StairsError):
    """The disk, the memory, a permission or a port is in the way."""

    code = 3


class Diverged(StairsError):
    """The loss or a gradient stopped being a number."""

    code = 4


class Locked(StairsError):
    """Another process is writing this run."""

    code = 5


def preview(value: object, limit: int = 40) -> str:
    """A value made safe to print: control characters escaped, long ones cut."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
