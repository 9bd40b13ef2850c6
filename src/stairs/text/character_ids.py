"""Words as character ids, for models that read characters: [WORD_BEGIN, characters, WORD_END], filled up with PAD_CHARACTER.

A character is a code point, or a byte of UTF-8; a special token is a character of its own.
"""

from typing import Literal

from stairs.text.special import SPECIAL_TOKENS

CharacterSet = Literal["unicode", "bytes"]
PAD_CHARACTER, WORD_BEGIN, WORD_END, FIRST_SPECIAL = range(4)
FIRST_CHARACTER = FIRST_SPECIAL + len(SPECIAL_TOKENS)
CHARACTER_ID_COUNTS = {
    "unicode": FIRST_CHARACTER + (1 << 16),  # beyond the basic plane, characters share the ids of others
    "bytes": FIRST_CHARACTER + (1 << 8),
}


def character_ids(word: str, character_set: CharacterSet, max_characters: int) -> list[int]:
    """The ids of at most so many characters, without the marks around them."""
    is_unicode = character_set == "unicode"
    codes = [ord(character) & 0xFFFF for character in word[:max_characters]] if is_unicode else list(word.encode()[:max_characters])
    return [FIRST_CHARACTER + code for code in codes]
