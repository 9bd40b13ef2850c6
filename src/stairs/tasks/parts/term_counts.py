"""The terms of training texts, and how often each text has them: counted by numbers, so that only terms that are kept are ever spelled.

Words in a row are numbered by the number of all but the last and that of the last, and those that too few texts have are dropped before a word is
added to them. The counts of characters are those of words times the n-grams of each word, and those of pairs across two Chinese words.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from stairs.tasks.parts.tfidf import CHARACTERS, CODE_BITS, SparseRows, TermKinds, character_terms, edges_of, join_edges
from stairs.text.tokenizers.spaced_chunks import SpacedChunks, has_spaced_chunks
from stairs.text.tokenizers.tokenizer import Tokenizer


def count_terms(tokenizer: Tokenizer, texts: Sequence[str], kinds: TermKinds) -> tuple[list[str], SparseRows]:
    """The terms, sorted, and how often each occurs in each text."""
    words, rows, spellings = number_words(tokenizer, texts)
    counts = [SparseRows.count_entries(rows, words, (len(texts), len(spellings)))]
    terms = [list(spellings)]
    if kinds.characters:
        joints = join_edges(np.array([edges_of(word) for word in spellings], np.int64)[words], rows)
        grams, ngrams = count_characters(spellings, counts[0], joints, kinds.min_texts)
        terms.append(grams)
        counts.append(ngrams)
    before, spelled, row = words, spellings, rows
    for size in range(2, kinds.words + 1):
        before, row = before[:-1], row[:-1]
        is_term = (before >= 0) & (row == rows[size - 1 :])
        keys, numbers = np.unique(before[is_term] * max(len(spellings), 1) + words[size - 1 :][is_term], return_inverse=True)
        longer = SparseRows.count_entries(row[is_term], numbers, (len(texts), len(keys)))
        has_texts = np.bincount(longer.columns, minlength=len(keys)) >= kinds.min_texts
        first, last = np.divmod(keys[has_texts], max(len(spellings), 1))
        spelled = [f"{spelled[a]} {spellings[b]}" for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        before = np.full(len(before), -1)
        before[is_term] = np.where(has_texts, np.cumsum(has_texts) - 1, -1)[numbers]
        terms.append(spelled)
        counts.append(longer.select(has_texts))
    return sort_terms(terms, counts)


def number_words(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The number of each word and the row of its text, one text after another, and the words by number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a new word gets the next number

    def number(text: str) -> list[int]:
        return [numbers[word] for word in tokenizer.words(text)]

    if has_spaced_chunks(tokenizer, texts):
        words, lengths = SpacedChunks(number).number_texts(texts)
    else:
        own = [number(text) for text in texts]
        words, lengths = np.array([word for text in own for word in text], np.int64), np.array([len(text) for text in own], np.int64)
    return words, np.repeat(np.arange(len(texts)), lengths), list(numbers)


def count_characters(
    spellings: Sequence[str], words: SparseRows, joints: tuple[np.ndarray, np.ndarray], min_texts: int
) -> tuple[list[str], SparseRows]:
    """The n-grams of characters that enough texts have, and how often each text has them. `joints` are the rows and codes of pairs across words."""
    from scipy.sparse import csr_matrix

    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    own = [[numbers[term] for term in character_terms(word)] for word in spellings]
    joint_rows, (codes, joint_numbers) = joints[0], np.unique(joints[1], return_inverse=True)
    pairs = [numbers[f"{CHARACTERS}{chr(code >> CODE_BITS)}{chr(code & ((1 << CODE_BITS) - 1))}"] for code in codes.tolist()]
    starts = np.concatenate([[0], np.cumsum([len(ngrams) for ngrams in own])])
    columns = np.array([ngram for ngrams in own for ngram in ngrams], np.int64)
    of_words = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(spellings), len(numbers)))
    across = csr_matrix((np.ones(len(joint_rows)), (joint_rows, np.array(pairs, np.int64)[joint_numbers])), shape=(words.shape[0], len(numbers)))
    counts = (words.matrix() @ of_words + across).tocsr()
    counts.sum_duplicates()
    counted = SparseRows(np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr)), counts.indices.astype(np.int64), counts.data, counts.shape)
    has_texts = np.bincount(counted.columns, minlength=len(numbers)) >= min_texts
    return [term for term, is_kept in zip(numbers, has_texts.tolist(), strict=True) if is_kept], counted.select(has_texts)


def sort_terms(terms: Sequence[list[str]], counts: Sequence[SparseRows]) -> tuple[list[str], SparseRows]:
    """All kinds of terms in one order, those of characters first."""
    every = [term for own in terms for term in own]
    of_characters = [number for number, term in enumerate(every) if term.startswith(CHARACTERS)]
    of_words = [number for number, term in enumerate(every) if not term.startswith(CHARACTERS)]
    order = sorted(of_characters, key=every.__getitem__) + sorted(of_words, key=every.__getitem__)
    column_of = np.argsort(np.array(order, np.int64))
    starts = np.cumsum([0, *map(len, terms)])
    columns = np.concatenate([column_of[own.columns + start] for own, start in zip(counts, starts.tolist(), strict=False)])
    rows, values = np.concatenate([own.rows for own in counts]), np.concatenate([own.values for own in counts])
    by_row = np.argsort(rows * max(len(every), 1) + columns)
    return [every[number] for number in order], SparseRows(rows[by_row], columns[by_row], values[by_row], (counts[0].shape[0], len(every)))
