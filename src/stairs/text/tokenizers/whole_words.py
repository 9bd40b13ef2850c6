"""Where the words begin in a text of which only the ids are left: a word is left out with all its pieces, and so is a Chinese word of several
characters (Cui et al. 2019, "Pre-Training with Whole Word Masking for Chinese BERT").

For word pieces and words it is read off the ids, and only Chinese words are looked up in jieba's dictionary; for other tokenizers the text is
put together again.
"""

import functools
from itertools import accumulate

import numpy as np

from stairs.text.chinese import HAN_RUN, segment
from stairs.text.tokenizers.tokenizer import Tokenizer

CACHED_RUNS = 1 << 16  # runs of Chinese characters whose words are not looked up again


class WholeWords:
    """The words of one tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.reads_pieces = tokenizer.spec.kind in ("wordpiece", "words")
        vocabulary = tokenizer.vocabulary
        self.continues_word = np.array([token.startswith("##") and len(token) > 2 for token in vocabulary]) & (tokenizer.spec.kind == "wordpiece")
        self.is_han = np.array([len(token) == 1 and HAN_RUN.match(token) is not None for token in vocabulary])

    def word_starts(self, ids: np.ndarray) -> np.ndarray:
        """Whether each id of a sentence begins a word, (T,) bool."""
        if not self.reads_pieces:
            return self.starts_by_text(ids)
        found = ~self.continues_word[ids]
        han = self.is_han[ids]
        if han.any():
            edges = np.flatnonzero(np.diff(np.concatenate([[False], han, [False]]).astype(np.int8)))
            for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
                run = "".join([self.tokenizer.vocabulary[i] for i in ids[start:stop].tolist()])
                found[start:stop] = False
                found[start + np.array(chinese_word_starts(run))] = True
        if len(found):
            found[0] = True
        return found

    def starts_by_text(self, ids: np.ndarray) -> np.ndarray:
        """By the text of the ids, if that is cut into as many again; else every id is a word."""
        text = self.tokenizer.decode(ids.tolist())
        groups = np.array(self.tokenizer.word_ids(text), np.int64)
        if len(groups) != len(ids) or self.tokenizer.encode(text) != ids.tolist():
            return np.ones(len(ids), bool)
        return np.diff(groups, prepend=-1) != 0


@functools.lru_cache(CACHED_RUNS)
def chinese_word_starts(run: str) -> list[int]:
    """Where the words of a run of Chinese characters begin."""
    return [0] if len(run) == 1 else list(accumulate((len(word) for word in segment(run)), initial=0))[:-1]
