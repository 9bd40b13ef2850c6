"""The language of texts, as far as a climb needs to know it: English, Chinese, or neither for certain.

Chinese is what is written in Han characters for more than half of its letters, which Japanese is not. English is told from other languages of the
same letters by its commonest words, leaving out those that German, Dutch, French or Spanish have as well, such as "in", "was" and "a".
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeVar

from stairs.text.chinese import HAN
from stairs.text.examples import Example, TranslationPair, example_texts

Language = Literal["en", "zh"]
E = TypeVar("E")
SAMPLED_EXAMPLES, SAMPLED_CHARACTERS = 500, 400  # of so many examples, so much of each text
MIN_ENGLISH_SHARE = 0.06  # of the words; prose has a fifth, tables of sports results a tenth, other languages up to a thirtieth
LETTERS = re.compile(r"[^\W\d_]+")
HAN_CHARACTER = re.compile(f"[{HAN}]")
ENGLISH_WORDS = {
    "the", "of", "and", "to", "is", "that", "it", "for", "with", "this", "are", "be", "by", "not", "from", "have", "which", "you", "they", "has",
    "its", "at", "been", "their", "would", "there", "about", "after", "than",
}  # fmt: skip


def language_of(texts: Sequence[str]) -> Language | None:
    """Of all of them together; None if it is neither English nor Chinese for certain."""
    words = [word.lower() for text in texts for word in LETTERS.findall(text[:SAMPLED_CHARACTERS])]
    letters = sum(map(len, words))
    if not letters:
        return None
    if sum(len(HAN_CHARACTER.findall(word)) for word in words) > letters / 2:
        return "zh"
    return "en" if sum(word in ENGLISH_WORDS for word in words) >= MIN_ENGLISH_SHARE * len(words) else None


def examples_language(examples: Sequence[Example]) -> Language | None:
    """Of the texts of labelled examples, by some of them."""
    return language_of([text for example in sample(examples) for text in example_texts(example)])


def have_chinese(pairs: Sequence[TranslationPair]) -> bool:
    """Whether one side of translations is Chinese, by some of them."""
    some = sample(pairs)
    return "zh" in (language_of([pair.source for pair in some]), language_of([pair.target for pair in some]))


def sample(examples: Sequence[E]) -> Sequence[E]:
    """Some that are spread over all."""
    return examples[:: max(len(examples) // SAMPLED_EXAMPLES, 1)]
