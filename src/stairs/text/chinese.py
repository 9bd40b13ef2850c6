"""What a Chinese character is, for the whole project, and Chinese words: runs of Han characters segmented by jieba's dictionary.

rjieba, where it is installed, finds the same words faster. Only runs of Han characters go through the dictionary; everything else is left to the
tokenizer. Nothing but spaces is ever added, and no character is lost.
"""

import functools
import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from typing import NamedTuple

from stairs.cache import cache_folder

# Unicode's unified ideographs with their extensions A to H, the compatibility ideographs, and 〇
HAN_RANGES = (
    (0x3007, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2EBEF), (0x2F800, 0x2FA1F),
    (0x30000, 0x323AF),
)  # fmt: skip
HAN = "".join(f"{chr(first)}-{chr(last)}" for first, last in HAN_RANGES)  # within the brackets of a regular expression
HAN_RUN = re.compile(f"[{HAN}]+")
CJK = HAN + "\u3000-\u303f\u3040-\u30ff\uff00-\uffef"  # with CJK punctuation, kana and full-width forms: what is written without spaces
CJK_CHARACTER = re.compile(f"[{CJK}]")
CACHED_RUNS = 1 << 16  # runs of Han characters whose words are not looked up again


class Segmenter(NamedTuple):
    name: str
    segment: Callable[[str], list[str]]  # the words of a run of Han characters


@functools.cache
def segmenter() -> Segmenter:
    """The dictionary program that is installed: `segmenter().segment("清华大学生")`."""
    return Segmenter("rjieba", import_module("rjieba").cut) if segmenter_name() == "rjieba" else Segmenter("jieba", load_jieba())


def segmenter_name() -> str:
    """Which one it is, without loading its dictionary."""
    return "rjieba" if find_spec("rjieba") else "jieba"


def load_jieba() -> Callable[[str], list[str]]:
    import jieba

    jieba.setLogLevel("WARNING")
    dictionary = jieba.Tokenizer()
    cache_folder().mkdir(parents=True, exist_ok=True)
    dictionary.tmp_dir = str(cache_folder())  # its default is shared by all users
    segment: Callable[[str], list[str]] = dictionary.lcut
    return segment


def has_han(text: str) -> bool:
    return not text.isascii() and HAN_RUN.search(text) is not None


def is_cjk(character: str) -> bool:
    """Whether it is a Han character, kana, CJK punctuation or a full-width form."""
    return CJK_CHARACTER.match(character) is not None


@functools.lru_cache(CACHED_RUNS)
def chinese_word_starts(run: str) -> list[int]:
    """Where the words of a run of Han characters begin."""
    return [0] if len(run) == 1 else list(accumulate(map(len, segmenter().segment(run)), initial=0))[:-1]


def space_words(text: str, space: str = " ") -> str:
    """The text with spaces around every Chinese word."""
    if text.isascii():
        return text
    return HAN_RUN.sub(lambda run: f"{space}{space.join(segmenter().segment(run[0]))}{space}", text)


def chinese_word_spans(text: str) -> list[tuple[int, int]]:
    """Where each Chinese word of the text starts and ends."""
    spans = []
    for run in HAN_RUN.finditer(text):
        start = run.start()
        for word in segmenter().segment(run[0]):
            spans.append((start, start + len(word)))
            start += len(word)
    return spans
