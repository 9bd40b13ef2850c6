"""Words back into running text: English spacing restored by rule, none around Chinese."""

import re

from stairs.text.chinese import HAN

NO_SPACE_BEFORE = set(".,;:!?)]}%…’”»°") | {"n't"}
NO_SPACE_AFTER = set("([{$#“‘«£€@")
NO_SPACE_AROUND = set("-/_–=*+\\~^|<>&")  # written without spaces more often than with them
AFTER_APOSTROPHE = {"s", "t", "re", "ve", "m", "ll", "d", "S", "T"}  # what follows an apostrophe inside a word
WIDE = re.compile(f"[{HAN}\u3000-\u303f\uff00-\uffef\u3040-\u30ff—…“”‘’·]")
CHINESE = re.compile(f"[{HAN}\u3000-\u303f\uff00-\uffef\u3040-\u30ff]")


def join_words(words: list[str]) -> str:
    """`["He", "said", ":", "it", "'", "s", "3", ".", "5", "!"]` -> `He said: it's 3.5!`"""
    text: list[str] = []
    quoted = {'"': False, "'": False}
    glue = True  # whether the next word follows without a space
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        after = words[at + 1] if at + 1 < len(words) else ""
        if word == "'" and before[-1:].isalnum() and after in AFTER_APOSTROPHE:
            tight, glue_next = True, True
        elif word in quoted:
            tight, glue_next = glue or quoted[word], not quoted[word]
            quoted[word] = not quoted[word]
        elif word in NO_SPACE_AROUND:
            tight, glue_next = True, True
        else:
            number = before in (".", ",", ":") and at > 1 and words[at - 2][-1:].isdigit() and word[:1].isdigit()
            tight = glue or word in NO_SPACE_BEFORE or touches_chinese(before, word) or (number and (before != "," or len(word) == 3))
            glue_next = word in NO_SPACE_AFTER
        if text and not tight:
            text.append(" ")
        text.append(word)
        glue = glue_next
    return "".join(text)


def touches_chinese(before: str, word: str) -> bool:
    """Whether Chinese stands on either side: `2003` `年`, `。` `他`."""
    if before.isascii() and word.isascii():
        return False
    return bool(CHINESE.match(before[-1:]) or CHINESE.match(word) or (WIDE.match(before[-1:]) and WIDE.match(word)))
