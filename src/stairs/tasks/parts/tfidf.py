"""TF-IDF of words, of words in a row and of the characters within words, cut by our own tokenizer, so that Chinese has words, too
(Spärck Jones 1972; Salton & Buckley 1988).

    tfidf(t, text) = (1 + ln n(t, text)) idf(t)                        each text scaled to length 1
    idf(t)         = 1 + ln((1 + texts) / (1 + texts with t))          terms of no training text count nothing

With n-grams of characters, words and characters are each scaled to length 1. In Chinese a pair of characters may also be the last of a word and the
first of the next one, since nobody agrees on where words end. The same numbers, but for the last bit of a length, as those of
scikit-learn's TfidfVectorizer with sublinear_tf, and of a FeatureUnion of two: tests/tasks/test_tfidf.py.
"""

import itertools
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from stairs.text.chinese import has_han
from stairs.text.tokenizers.spaced_chunks import SpacedChunks, has_spaced_chunks
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

CHARACTERS = "\t"  # begins each n-gram of characters among the terms; no word has white space
NGRAM_SIZES, HAN_SIZES = (3, 4, 5), (1, 2)  # in characters: of a word with the spaces around it, and of a Chinese word without
CODE_BITS = 32  # of a character


class TermKinds(NamedTuple):
    """Which terms a text has."""

    words: int = 2  # in a row, at most
    characters: bool = False  # n-grams of characters within a word, too
    min_texts: int = 1  # that have a term, unless it is a single word: what one text alone has tells little about others


WORD_PAIRS = TermKinds()


class SparseRows(NamedTuple):
    """The entries of a sparse matrix, row by row, and within a row by column."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def count_entries(cls, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Self:
        """How often each column occurs in each row."""
        distinct, counts = np.unique(rows * max(shape[1], 1) + columns, return_counts=True)
        return cls(*np.divmod(distinct, max(shape[1], 1)), counts.astype(np.float64), shape)

    def select(self, columns: np.ndarray) -> "SparseRows":
        """Some columns alone, in their order; `columns` is true for each of them."""
        is_kept = columns[self.columns]
        numbers = (np.cumsum(columns) - 1)[self.columns[is_kept]]
        return SparseRows(self.rows[is_kept], numbers, self.values[is_kept], (self.shape[0], int(columns.sum())))

    def append(self, below: "SparseRows") -> "SparseRows":
        """The rows of both."""
        rows = np.concatenate([self.rows, below.rows + self.shape[0]])
        columns, values = np.concatenate([self.columns, below.columns]), np.concatenate([self.values, below.values])
        return SparseRows(rows, columns, values, (self.shape[0] + below.shape[0], self.shape[1]))

    def times(self, weight: np.ndarray) -> np.ndarray:
        """The product with a dense matrix (K, columns), (rows, K)."""
        products = [np.bincount(self.rows, self.values * own[self.columns], minlength=self.shape[0]) for own in weight]
        return np.stack(products, 1)

    def matrix(self) -> "csr_matrix":
        from scipy.sparse import csr_matrix

        starts = np.searchsorted(self.rows, np.arange(self.shape[0] + 1))
        return csr_matrix((self.values, self.columns.astype(np.int32), starts.astype(np.int32)), shape=self.shape)


class Tfidf:
    """`terms` are those of characters, sorted, and then those of words, sorted; `idf` (terms,)."""

    def __init__(self, tokenizer: Tokenizer, terms: Sequence[str], idf: np.ndarray) -> None:
        self.tokenizer, self.terms, self.idf = tokenizer, terms, idf.astype(np.float64)
        self.columns = {term: column for column, term in enumerate(terms)}
        if not len(self.columns) == len(terms) == len(idf):
            raise ValueError(f"{len(self.columns)} different terms of {len(terms)} and {len(idf)} weights of terms")
        self.first_word = first_word(terms)
        self.order = 1 + max((term.count(" ") for term in terms[self.first_word :]), default=0)

    @classmethod
    def fit(cls, tokenizer: Tokenizer, texts: Sequence[str], kinds: TermKinds = WORD_PAIRS) -> tuple[Self, SparseRows]:
        """From training texts, and the features of these."""
        from stairs.tasks.parts.term_counts import count_terms  # an answer counts known terms only

        terms, counts = count_terms(tokenizer, texts, kinds)
        fitted = cls(tokenizer, terms, inverse_frequencies(counts))
        return fitted, fitted.weigh(counts)

    def features(self, texts: Sequence[str]) -> SparseRows:
        """(texts, terms)."""
        return self.weigh(self.count(texts))

    def count(self, texts: Sequence[str]) -> SparseRows:
        """How often each term occurs in each text."""
        if has_spaced_chunks(self.tokenizer, texts):
            return self.count_many(texts)
        return count_rows((self.terms_of(self.tokenizer.words(text)) for text in texts), self.columns.get, len(self.terms))

    def terms_of(self, words: list[str]) -> list[str]:
        characters = [*itertools.chain.from_iterable(map(character_terms, words)), *joint_terms(words)] if self.first_word else []
        return characters + word_terms(words, self.order)

    def count_many(self, texts: Sequence[str]) -> SparseRows:
        """What `count_rows` gives: words are looked up once, and words in a row by the column of all but the last, and that of the last."""
        words, lengths = self.word_columns.number_texts(texts)
        rows, keys, columns = np.repeat(np.arange(len(texts)), lengths), *self.longer_terms
        entries = [(rows[words >= 0], words[words >= 0])]
        before, last_row = words, rows
        for longer in range(1, self.order if len(keys) else 1):
            before, last_row, word = before[:-1], last_row[:-1], words[longer:]
            is_candidate = (before >= 0) & (word >= 0) & (last_row == rows[longer:])
            candidates = before[is_candidate] * len(self.terms) + word[is_candidate]
            found = np.minimum(np.searchsorted(keys, candidates), len(keys) - 1)
            before = np.full(len(before), -1)
            before[is_candidate] = np.where(keys[found] == candidates, columns[found], -1)
            entries.append((last_row[before >= 0], before[before >= 0]))
        if self.first_word:
            characters, lengths = self.character_columns.number_texts(texts)
            entries.append((np.repeat(np.arange(len(texts)), lengths), characters))
            codes, columns = self.joints
            if len(codes):
                joint_rows, joints = join_edges(self.word_edges.number_texts(texts)[0], rows)
                found = np.minimum(np.searchsorted(codes, joints), len(codes) - 1)
                is_term = codes[found] == joints
                entries.append((joint_rows[is_term], columns[found[is_term]]))
        every_row, every_column = map(np.concatenate, zip(*entries, strict=True))
        return SparseRows.count_entries(every_row, every_column, (len(texts), len(self.terms)))

    @cached_property
    def word_columns(self) -> SpacedChunks:
        """The column of each word of a chunk; -1 for a word that is no term."""
        return SpacedChunks(lambda chunk: [self.columns.get(word, -1) for word in self.tokenizer.words(chunk)])

    @cached_property
    def character_columns(self) -> SpacedChunks:
        """The columns of the n-grams of characters of a chunk that are terms."""

        def number(chunk: str) -> list[int]:
            terms = (term for word in self.tokenizer.words(chunk) for term in character_terms(word))
            return [self.columns[term] for term in terms if term in self.columns]

        return SpacedChunks(number)

    @cached_property
    def word_edges(self) -> SpacedChunks:
        """The edges of each word of a chunk."""
        return SpacedChunks(lambda chunk: [edges_of(word) for word in self.tokenizer.words(chunk)])

    @cached_property
    def joints(self) -> tuple[np.ndarray, np.ndarray]:
        """The codes of the pairs of Chinese characters that are terms, sorted, and the column of each."""
        pairs = [(term, column) for column, term in enumerate(self.terms[: self.first_word]) if len(term) == len(CHARACTERS) + 2]
        codes = sorted((ord(term[-2]) << CODE_BITS | ord(term[-1]), column) for term, column in pairs if has_han(term[-2]) and has_han(term[-1]))
        return np.array([code for code, _ in codes], np.int64), np.array([column for _, column in codes], np.int64)

    @cached_property
    def longer_terms(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each term of several words: the column of all words but the last times the number of terms, plus that of the last; and its own."""
        keys = {}
        for column, term in enumerate(self.terms[self.first_word :], self.first_word):
            before, space, last = term.rpartition(" ")
            if space and before in self.columns and last in self.columns:
                keys[self.columns[before] * len(self.terms) + self.columns[last]] = column
        order = sorted(keys)
        return np.array(order, np.int64), np.array([keys[key] for key in order], np.int64)

    def weigh(self, counts: SparseRows) -> SparseRows:
        return weigh_counts(counts, self.idf, self.first_word)


def first_word(terms: Sequence[str]) -> int:
    """The column of the first term that is not one of characters."""
    return bisect_left(terms, True, key=lambda term: not term.startswith(CHARACTERS))


def inverse_frequencies(counts: SparseRows) -> np.ndarray:
    texts_with_term = np.bincount(counts.columns, minlength=counts.shape[1]).astype(np.float64)
    idf: np.ndarray = np.log((counts.shape[0] + 1) / (texts_with_term + 1)) + 1
    return idf


def weigh_counts(counts: SparseRows, idf: np.ndarray, first_word: int) -> SparseRows:
    """TF-IDF; the columns before `first_word` are those of characters, which have a length of their own."""
    values = (np.log(counts.values) + 1) * idf[counts.columns]
    kinds = 2 * counts.rows + (counts.columns >= first_word)
    lengths = np.sqrt(np.bincount(kinds, values * values, minlength=2 * counts.shape[0]))
    return counts._replace(values=values / lengths[kinds])


def word_terms(words: list[str], order: int) -> list[str]:
    """The words, and up to `order` of them in a row."""
    longer = (zip(*(words[start:] for start in range(size)), strict=False) for size in range(2, order + 1))
    return [*words, *map(" ".join, itertools.chain.from_iterable(longer))]


def character_terms(word: str) -> list[str]:
    """The n-grams of characters of a word: of a Chinese one its characters and pairs of them, of others those that tell where it begins and ends."""
    sizes, spelling = (HAN_SIZES, word) if has_han(word) else (NGRAM_SIZES, f" {word} ")
    return [CHARACTERS + spelling[start : start + size] for size in sizes for start in range(len(spelling) - size + 1)]


def joint_terms(words: Sequence[str]) -> list[str]:
    """Of each two words in a row, the last character of the first and the first of the second, if both are Chinese."""
    return [f"{CHARACTERS}{a[-1]}{b[0]}" for a, b in itertools.pairwise(words) if has_han(a[-1]) and has_han(b[0])]


def edges_of(word: str) -> int:
    """The first and the last character of a word, in one number; 0 for one that is not Chinese."""
    first, last = (ord(character) if has_han(character) else 0 for character in (word[0], word[-1]))
    return first << CODE_BITS | last


def join_edges(edges: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What `joint_terms` gives, by numbers: of the edges of words and the row of each, the rows and the codes of the pairs."""
    last, first = edges[:-1] & ((1 << CODE_BITS) - 1), edges[1:] >> CODE_BITS
    is_joint = (last > 0) & (first > 0) & (rows[:-1] == rows[1:])
    return rows[1:][is_joint], (last << CODE_BITS | first)[is_joint]


def count_rows(texts: Iterable[list[str]], number: Callable[[str], int | None], columns: int) -> SparseRows:
    """How often each term that has a number occurs in each text."""
    numbers, lengths = array("q"), array("q")
    for terms in texts:
        own = [column for term in terms if (column := number(term)) is not None]
        numbers.extend(own)
        lengths.append(len(own))
    rows = np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64))
    return SparseRows.count_entries(rows, np.array(numbers, np.int64), (len(lengths), columns))
