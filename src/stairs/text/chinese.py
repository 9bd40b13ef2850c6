"""Chinese words: runs of Han characters cut by jieba's dictionary, with rjieba where it is installed (the same words, faster).

Only Han runs go through the dictionary; everything else is left to the tokenizer, and no character is added or lost but spaces.
"""

import functools
import os
import re
from collections.abc import Callable
from pathlib import Path

HAN = (
    "\u3007\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b820-\U0002ceaf\U0002ceb0-\U0002ebef\U0002f800-\U0002fa1f\U00030000-\U000323af"
)
HAN_RUN = re.compile(f"[{HAN}]+")


@functools.cache
def segmenter() -> tuple[str, Callable[[str], list[str]]]:
    """The name of the dictionary program at hand, and its cut."""
    try:
        import rjieba

        return "rjieba", rjieba.cut
    except ImportError:
        import jieba

        jieba.setLogLevel("WARNING")
        dictionary = jieba.Tokenizer()
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stairs"  # its default is shared by all users
        folder.mkdir(parents=True, exist_ok=True)
        dictionary.tmp_dir = str(folder)
        return "jieba", dictionary.lcut


def has_han(text: str) -> bool:
    return not text.isascii() and HAN_RUN.search(text) is not None


def segment(run: str) -> list[str]:
    """The words of a run of Han characters: `words("清华大学生")`."""
    return segmenter()[1](run)


def space_words(text: str, space: str = " ") -> str:
    """The text with spaces around every Chinese word."""
    if text.isascii():
        return text
    return HAN_RUN.sub(lambda run: f"{space}{space.join(segment(run[0]))}{space}", text)


def chinese_word_spans(text: str) -> list[tuple[int, int]]:
    """Where each Chinese word of the text starts and ends."""
    spans = []
    for run in HAN_RUN.finditer(text):
        start = run.start()
        for word in segment(run[0]):
            spans.append((start, start + len(word)))
            start += len(word)
    return spans
