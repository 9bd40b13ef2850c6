"""Words as codes of their letters, for models that read those: [BEGIN, letters, END], filled up with PAD.

A letter is a code point, or a byte of UTF-8; a special token is a letter of its own.
"""

from typing import Literal

from stairs.text.special import SPECIAL_TOKENS

CharacterSet = Literal["unicode", "bytes"]
# no letter, the marks around a word, and the first thing that can stand between them: a special token
PAD_CHARACTER, WORD_BEGIN, WORD_END, FIRST_SPECIAL = range(4)
FIRST_CHARACTER = FIRST_SPECIAL + len(SPECIAL_TOKENS)  # the first letter
# how many there are; beyond the basic plane, letters share the codes of others
CHARACTER_ID_COUNTS = {"unicode": FIRST_CHARACTER + (1 << 16), "bytes": FIRST_CHARACTER + (1 << 8)}


def character_ids(word: str, character_set: CharacterSet, max_characters: int) -> list[int]:
    """The codes of as many letters as can be read, without the marks."""
    codes = [ord(letter) & 0xFFFF for letter in word[:max_characters]] if character_set == "unicode" else list(word.encode()[:max_characters])
    return [FIRST_CHARACTER + code for code in codes]
