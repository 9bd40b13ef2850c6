"""The text of a picture for which none was given: the first example of its page, in the language of the run, whose words the run knows.

Pictures of single words leave out those that the run does not know, and take words of its own vocabulary if it knows none.
"""

import re
from typing import NamedTuple

from stairs.inspection.words import in_vocabulary
from stairs.pictures.pages import PAGES
from stairs.tasks import Task
from stairs.tasks.parts.blanks import BLANK
from stairs.text.chinese import has_han
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.tokenizer import Tokenizer

TOKENS_CHECKED = 2000  # of the vocabulary, spread evenly, to tell its language
SIGNS = re.compile(r"(?<=\s)(?:[+-]|->)(?=\s)")  # of a sum of words, and before a translation: not words themselves
LETTER = re.compile(r"[A-Za-z]")
PICTURES_OF_WORDS = ("windows", "update", "onehot")
OWN_WORDS, FIRST_RANK = 6, 100  # how many words of the vocabulary, and the rank by frequency of the first: those before mean little by themselves


class Example(NamedTuple):
    text: str
    options: dict[str, str]  # of the picture


def default_example(task: Task, picture: str) -> Example | None:
    """None if the run knows no example, or the picture has none."""
    page = PAGES.get(picture)
    if page is None:
        return None
    language = "zh" if reads_chinese(task.tokenizer) else "en"
    presets, tokenizer = page["presets"][language], task.tokenizer
    text = next((text for text in presets if knows_words(tokenizer, text)), None)
    if text is None and picture in PICTURES_OF_WORDS and tokenizer.spec.kind == "words":
        text = next(filter(None, (known_part(tokenizer, text) for text in presets)), None) or own_words(tokenizer)
    return None if text is None else Example(text, {name: values[language] for name, values in page["options"].items()})


def knows_words(tokenizer: Tokenizer, text: str) -> bool:
    ids = tokenizer.encode(SIGNS.sub("", BLANK.sub("", text)))
    return bool(ids) and tokenizer.unknown not in ids


def known_part(tokenizer: Tokenizer, text: str) -> str:
    """The words of a text that the run knows; none if there are fewer than two."""
    words = [word for word in tokenizer.words(text) if in_vocabulary(tokenizer, word)]
    return " ".join(words) if len(words) > 1 else ""


def own_words(tokenizer: Tokenizer) -> str:
    words = tokenizer.vocabulary[len(SPECIAL_TOKENS) :]
    start = min(FIRST_RANK, len(words) // 2)
    return " ".join(words[start : start + OWN_WORDS])


def reads_chinese(tokenizer: Tokenizer) -> bool:
    """Whether more tokens have Chinese characters than Latin letters."""
    size = tokenizer.vocab_size
    tokens = [tokenizer.display_token(i) for i in range(len(SPECIAL_TOKENS), size, max(size // TOKENS_CHECKED, 1))]
    return sum(map(has_han, tokens)) > sum(bool(LETTER.search(token)) for token in tokens)
