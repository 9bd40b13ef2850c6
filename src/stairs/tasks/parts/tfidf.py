"""TF-IDF of words and pairs of words, cut by our own tokenizer, so that Chinese has words, too (Spärck Jones 1972; Salton & Buckley 1988).

    tfidf(t, text) = (1 + ln n(t, text)) idf(t)                        each text scaled to length 1
    idf(t)         = 1 + ln((1 + texts) / (1 + texts with t))          terms of no training text count nothing

The same numbers, but for the last bit of a length, as scikit-learn's TfidfVectorizer with sublinear_tf: tests/tasks/test_tfidf.py.
"""

import itertools
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

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
        counted = count_rows((terms_of(self.tokenizer, text) for text in texts), self.columns.get)
        return self.weigh(counted._replace(shape=(len(texts), len(self.terms))).sort())

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
