"""One text, asked of any run: what it is asked follows from what it can do."""

from typing import Any

from stairs.inspection.probabilities import readable_vocabulary_token
from stairs.tasks.parts.blanks import BLANK

TOP, LENGTH = 8, 20  # answers that are listed, and tokens that are said


def answer(task: Any, text: str, second: str) -> dict[str, Any]:
    """`task.nearest_other`, with a blank as each task understands it: filled by one that looks both ways, the place to go on from for one that reads
    from the left, and nothing for one that knows words only."""
    beside = {"second": second} if second.strip() else {}
    if task.name == "masked-token":
        return task.sentence_pair(text, second) if beside else task.answer(text, top=TOP)
    if task.name in ("compare", "bi-encoder", "find-span", "similar"):
        return task.answer(text, **beside)
    if task.name in ("next-token", "bidirectional-lm"):
        return with_readable_tokens(task, task.answer(BLANK.split(text)[0].rstrip(), top=TOP, length=LENGTH))
    if task.name == "word-vectors":
        return task.answer(BLANK.sub(" ", text), top=TOP)
    if task.name == "translate":
        return task.answer(text, details=False)
    return task.answer(text)


def with_readable_tokens(task: Any, found: dict[str, Any]) -> dict[str, Any]:
    """With each next token as people read it besides: those of byte-level BPE are written in letters that stand for bytes."""
    return {**found, "next": [{**entry, "shown": readable_vocabulary_token(task, entry["token"])} for entry in found["next"]]}
