"""Words as codes of their letters, for models that read those: [BEGIN, letters, END], filled up with PAD.

A letter is a code point, or a byte of UTF-8; a special token is a letter of its own.
"""

from typing import Literal

from stairs.text.tokenizers.spec import SPECIAL_TOKENS

Letters = Literal["unicode", "bytes"]
PAD, BEGIN, END, FIRST = range(4)  # no letter, the marks around a word, and the first thing that can stand between them: a special token
OWN = FIRST + len(SPECIAL_TOKENS)  # the first letter
CODES = {"unicode": OWN + (1 << 16), "bytes": OWN + (1 << 8)}  # how many there are; beyond the basic plane, letters share the codes of others


def coded(word: str, letters: Letters, longest: int) -> list[int]:
    """The codes of as many letters as can be read, without the marks."""
    codes = [ord(letter) & 0xFFFF for letter in word[:longest]] if letters == "unicode" else list(word.encode()[:longest])
    return [OWN + code for code in codes]
