"""TF-IDF of words and pairs of words, cut by our own tokenizer, so that Chinese has words, too (Spärck Jones 1972; Salton & Buckley 1988).

    tfidf(t, text) = (1 + ln n(t, text)) idf(t)                        each text scaled to length 1
    idf(t)         = 1 + ln((1 + texts) / (1 + texts with t))          terms of no training text count nothing

The same numbers, but for the last bit of a length, as scikit-learn's TfidfVectorizer with sublinear_tf: tests/tasks/test_tfidf.py.
"""

import itertools
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from stairs.text.tokenizers.spaced_chunks import SpacedChunks, has_spaced_chunks
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class SparseRows(NamedTuple):
    """The entries of a sparse matrix, row by row, and within a row by column."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]

    def sort(self) -> "SparseRows":
        """By row, then by column."""
        order = np.lexsort((self.columns, self.rows))
        return self._replace(rows=self.rows[order], columns=self.columns[order], values=self.values[order])

    def times(self, weight: np.ndarray) -> np.ndarray:
        """The product with a dense matrix (K, columns), (rows, K)."""
        products = [np.bincount(self.rows, self.values * own[self.columns], minlength=self.shape[0]) for own in weight]
        return np.stack(products, 1)

    def matrix(self) -> "csr_matrix":
        from scipy.sparse import csr_matrix

        starts = np.searchsorted(self.rows, np.arange(self.shape[0] + 1))
        return csr_matrix((self.values, self.columns.astype(np.int32), starts.astype(np.int32)), shape=self.shape)


class Tfidf:
    """`terms` are words and pairs of words, sorted; `idf` (terms,)."""

    def __init__(self, tokenizer: Tokenizer, terms: Sequence[str], idf: np.ndarray) -> None:
        self.tokenizer, self.terms, self.idf = tokenizer, terms, idf.astype(np.float64)
        self.columns = {term: column for column, term in enumerate(terms)}
        if not len(self.columns) == len(terms) == len(idf):
            raise ValueError(f"{len(self.columns)} different terms of {len(terms)} and {len(idf)} weights of terms")

    @classmethod
    def fit(cls, tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[Self, SparseRows]:
        """From training texts, and the features of these."""
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__  # a new term gets the next number
        counted = count_rows((terms_of(tokenizer, text) for text in texts), numbers.__getitem__)
        terms = sorted(numbers)
        columns = np.argsort(np.array([numbers[term] for term in terms], np.int64))
        counted = counted._replace(columns=columns[counted.columns], shape=(len(texts), len(terms))).sort()
        texts_with_term = np.bincount(counted.columns, minlength=len(terms)).astype(np.float64)
        fitted = cls(tokenizer, terms, np.log((len(texts) + 1) / (texts_with_term + 1)) + 1)
        return fitted, fitted.weigh(counted)

    def features(self, texts: Sequence[str]) -> SparseRows:
        """(texts, terms)."""
        if has_spaced_chunks(self.tokenizer, texts):
            return self.weigh(self.count_many(texts))
        counted = count_rows((terms_of(self.tokenizer, text) for text in texts), self.columns.get)
        return self.weigh(counted._replace(shape=(len(texts), len(self.terms))).sort())

    def count_many(self, texts: Sequence[str]) -> SparseRows:
        """What `count_rows` gives, sorted: words are looked up once, and pairs of them by the numbers of the two words."""
        words, lengths = self.word_columns.number_texts(texts)
        rows = np.repeat(np.arange(len(texts)), lengths)
        keys, columns = self.pair_columns
        pairs = words[:-1] * len(self.terms) + words[1:]
        is_pair = (words[:-1] >= 0) & (words[1:] >= 0) & (rows[:-1] == rows[1:])
        candidates, pair_rows = pairs[is_pair], rows[:-1][is_pair]
        found = np.minimum(np.searchsorted(keys, candidates), max(len(keys) - 1, 0))
        is_term = keys[found] == candidates if len(keys) else np.zeros(0, bool)
        is_word = words >= 0
        entries = np.concatenate([rows[is_word], pair_rows[is_term]]) * len(self.terms)
        entries += np.concatenate([words[is_word], columns[found[is_term]]])
        distinct, counts = np.unique(entries, return_counts=True)
        return SparseRows(*np.divmod(distinct, max(len(self.terms), 1)), counts.astype(np.float64), (len(texts), len(self.terms)))

    @cached_property
    def word_columns(self) -> SpacedChunks:
        """The column of each word of a chunk; -1 for a word that is no term."""
        return SpacedChunks(lambda chunk: [self.columns.get(word, -1) for word in self.tokenizer.words(chunk)])

    @cached_property
    def pair_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each pair of words that is a term: the column of the first word times the number of terms, plus that of the second; and its own."""
        keys = {}
        for column, term in enumerate(self.terms):
            first, space, second = term.partition(" ")
            if space and first in self.columns and second in self.columns:
                keys[self.columns[first] * len(self.terms) + self.columns[second]] = column
        order = sorted(keys)
        return np.array(order, np.int64), np.array([keys[key] for key in order], np.int64)

    def weigh(self, counted: SparseRows) -> SparseRows:
        values = (np.log(counted.values) + 1) * self.idf[counted.columns]
        lengths = np.sqrt(np.bincount(counted.rows, values * values, minlength=counted.shape[0]))
        return counted._replace(values=values / lengths[counted.rows])


def terms_of(tokenizer: Tokenizer, text: str) -> list[str]:
    words = tokenizer.words(text)
    return words + [f"{a} {b}" for a, b in itertools.pairwise(words)]


def count_rows(texts: Iterable[list[str]], number: Callable[[str], int | None]) -> SparseRows:
    """How often each term that has a number occurs in each text; the rows are in order, not yet the columns."""
    columns, counts, lengths = array("q"), array("q"), array("q")
    for terms in texts:
        own = Counter(map(number, terms))
        own.pop(None, None)
        columns.extend(own.keys())  # type: ignore[arg-type]  # None is gone
        counts.extend(own.values())
        lengths.append(len(own))
    rows = np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64))
    return SparseRows(rows, np.array(columns, np.int64), np.array(counts, np.float64), (len(lengths), 0))
