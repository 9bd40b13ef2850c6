"""Tokens become text again: spaces stand where a person would write them, in English and Chinese."""

import re
from collections.abc import Sequence

from tokenizers import decoders

from stairs.text.chinese import CJK, CJK_CHARACTER
from stairs.text.special import SPECIAL_TOKENS

NO_SPACE_BEFORE = set(".,;:!?)]}%…’”»°") | {"n't"}
NO_SPACE_AFTER = set("([{$#“‘«£€@")
NO_SPACE_AROUND = set("-/_–=*+\\~^|<>&")  # written without spaces more often than with them
AFTER_APOSTROPHE = {"s", "t", "re", "ve", "m", "ll", "d", "S", "T"}  # endings inside a word: it's, don't
CJK_OR_QUOTE = re.compile(f"[{CJK}—…“”‘’·]")


def join_tokens(tokens: Sequence[str], kind: str) -> str:
    """The text of tokens of a kind."""
    if kind == "characters":
        return "".join(tokens)
    if kind == "byte-bpe":
        return decoders.ByteLevel().decode(list(tokens))
    if kind == "unigram":
        return "".join(tokens).replace("▁", " ").removeprefix(" ")
    if kind == "bpe":
        ended = "".join(token + "</w>" if token in SPECIAL_TOKENS else token for token in tokens)
        return join_words(ended.removesuffix("</w>").split("</w>")) if ended else ""
    words: list[str] = []
    for token in tokens:
        if kind == "wordpiece" and token.startswith("##") and words:
            words[-1] += token[2:]
        else:
            words.append(token)
    return join_words(words)


def join_words(words: Sequence[str]) -> str:
    """`["He", "said", ":", "it", "'", "s", "3", ".", "5", "!"]` -> `He said: it's 3.5!`"""
    text: list[str] = []
    in_quotes = {'"': False, "'": False}
    no_space = True  # whether the next word follows without a space
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        after = words[at + 1] if at + 1 < len(words) else ""
        if word == "'" and before[-1:].isalnum() and after in AFTER_APOSTROPHE:
            tight, no_space_next = True, True
        elif word in in_quotes:
            tight, no_space_next = no_space or in_quotes[word], not in_quotes[word]
            in_quotes[word] = not in_quotes[word]
        elif word in NO_SPACE_AROUND:
            tight, no_space_next = True, True
        else:
            number = before in (".", ",", ":") and at > 1 and words[at - 2][-1:].isdigit() and word[:1].isdigit()
            tight = no_space or word in NO_SPACE_BEFORE or touches_cjk(before, word) or (number and (before != "," or len(word) == 3))
            no_space_next = word in NO_SPACE_AFTER
        if text and not tight:
            text.append(" ")
        text.append(word)
        no_space = no_space_next
    return "".join(text)


def touches_cjk(before: str, word: str) -> bool:
    """Whether either of the two sides is Chinese: `2003` `年`, `。` `他`."""
    if before.isascii() and word.isascii():
        return False
    return bool(CJK_CHARACTER.match(before[-1:]) or CJK_CHARACTER.match(word) or (CJK_OR_QUOTE.match(before[-1:]) and CJK_OR_QUOTE.match(word)))
