"""Whether a run knows the words of a file: predictions for a text in another language than that of its training mean little."""

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from stairs.errors import BadInput
from stairs.progress import say

if TYPE_CHECKING:
    from stairs.tasks.task import Task
    from stairs.text.tokenizers.tokenizer import Tokenizer

SAMPLE_TEXTS, SAMPLE_CHARACTERS = 500, 2000  # that are looked at, and characters of each
MIN_TOKENS = 20  # fewer tell nothing
MAX_UNKNOWN = 0.5  # of the tokens: in training it is a few in a hundred at most
BYTES_APART = 0.8  # tokens for each byte of a text, from which a vocabulary of bytes knows no words of it
WORD_KINDS = ("words", "wordpiece")  # whose unknown tokens are words; those of others are characters


def check_vocabulary(task: "Task", texts: Iterable[object], name: str) -> None:
    """Warn of a file most of whose words are unknown, and refuse one of which nothing is known."""
    sample = [str(text)[:SAMPLE_CHARACTERS] for text in islice((text for text in texts if text), SAMPLE_TEXTS)]
    unknown, count = count_unknown(task.tokenizer, [text for text in sample if text.strip()])
    if count < MIN_TOKENS or unknown <= MAX_UNKNOWN * count:
        return
    what = "words" if task.tokenizer.kind in WORD_KINDS else "characters"
    run = str(task.folder or f"this {task.model_name}")
    if unknown == count:
        raise BadInput(f"{name}: none of the {what} are known to {run}; give a file in the language of its training")
    say(f"{name}: {unknown / count:.0%} of the {what} are unknown to {run}; if they are of another language or topic, the predictions mean little")


def count_unknown(tokenizer: "Tokenizer", texts: list[str]) -> tuple[int, int]:
    """How many tokens of the texts are unknown, and how many there are."""
    closed: Tokenizer = getattr(tokenizer, "closed_tokenizer", tokenizer)  # an open vocabulary gives an id to every word
    rows = closed.encode_batch(texts)
    count = sum(map(len, rows))
    if closed.kind == "byte-bpe" and count > BYTES_APART * sum(len(text.encode()) for text in texts):
        return count, count
    return sum(ids.count(closed.unknown) for ids in rows), count
