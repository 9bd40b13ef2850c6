"""How good word vectors are by themselves: analogies and similarities that people wrote down.

analogies      `: section` lines, and lines of four words: Athens is to Greece as Baghdad is to Iraq (Mikolov et al. 2013; CA8, Li et al. 2018).
               Right if the word nearest to  Greece - Athens + Baghdad  (3CosAdd, vectors of length 1, those three left out) is Iraq.
similarities   lines of two words and how alike people find them (WordSim-353, SimLex-999, wordsim-240 and -297): Spearman's rank correlation
               with the cosines.

Capital and small letters are the same, and of words that differ in them the more frequent is meant, as in gensim. A question with a word that is not
in the vocabulary is not asked; how many were is in the result. Which of the two a file is, it says itself.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from stairs.errors import BadInput
from stairs.tasks.metrics import proportion, rank_correlation
from stairs.tasks.parts.similarity_columns import Similarities, is_number, read_similarities
from stairs.text.labelled.column_names import Columns
from stairs.text.special import SPECIAL_TOKENS

CANDIDATES = 12  # nearest words looked at: the three of the question may be among them, in several spellings


class Analogies(NamedTuple):
    questions: list[tuple[str, list[str]]]  # section, four words


def read_benchmark(lines: Iterable[str], name: str, columns: Columns = None) -> Analogies | Similarities | None:
    """The questions of a file; None if it holds something else. `columns` names those of similarities."""
    kept = [(number, line.strip("\r\n ")) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if columns is None and any(line.startswith(":") and len(line.split()) > 1 for _, line in kept[:1]):
        return read_analogies(kept, name)
    if columns is None and kept and all(len(line.split()) == 4 and not any(map(is_number, line.split())) for _, line in kept):
        return read_analogies(kept, name)
    return read_similarities(kept, name, columns)


def read_analogies(kept: list[tuple[int, str]], name: str) -> Analogies:
    section, found = "all", []
    for number, line in kept:
        if line.startswith(":"):
            section = line[1:].strip()
        elif len(words := line.split()) == 4:
            found.append((section, words))
        else:
            raise BadInput(f"{name}:{number}: {len(words)} words came where four were expected, as in Athens Greece Baghdad Iraq; correct the line")
    return Analogies(found)


class Vocabulary:
    """The words of a run by their spelling in capitals; the first of a spelling, which is the most frequent, stands for it."""

    def __init__(self, words: list[str]) -> None:
        self.folded = [word.upper() for word in words]
        self.rows = {word: row for row, word in reversed(list(enumerate(self.folded)))}

    def row(self, word: str) -> int | None:
        return self.rows.get(word.upper())


def evaluate_benchmark(task: Any, asked: Analogies | Similarities) -> dict[str, Any]:
    """Accuracy by section and in all, or Spearman's correlation, each with its interval and how many questions were covered."""
    vocabulary = Vocabulary(task.tokenizer.vocabulary[len(SPECIAL_TOKENS) :])
    return solve_analogies(task, asked, vocabulary) if isinstance(asked, Analogies) else correlate_similarities(task, asked, vocabulary)


def solve_analogies(task: Any, asked: Analogies, vocabulary: Vocabulary) -> dict[str, Any]:
    rows = [[vocabulary.row(word) for word in words] for _, words in asked.questions]
    covered = np.array([None not in known for known in rows])
    if not covered.any():
        raise BadInput(f"none of the {len(rows)} analogies has all its words in the vocabulary; train on more text, or adopt larger vectors")
    index = task.new_index()
    places = np.array([known for known in rows if None not in known], np.int64)  # (questions, 4)
    queries = unit_vectors(index, places[:, 1]) - unit_vectors(index, places[:, 0]) + unit_vectors(index, places[:, 2])
    near, _ = index.nearest(queries, CANDIDATES)
    right = np.zeros(len(rows), bool)
    right[covered] = [nearest_other(own, found, vocabulary) == vocabulary.folded[own[3]] for own, found in zip(places.tolist(), near.tolist(),
        strict=True)]
    names = np.array([section for section, _ in asked.questions])
    sections = {name: coverage(right[names == name], covered[names == name]) for name in dict.fromkeys(names.tolist())}
    return {**coverage(right, covered), "sections": sections}


def nearest_other(question: list[int], found: list[int], vocabulary: Vocabulary) -> str | None:
    """The nearest word that is none of the three asked with."""
    given = {vocabulary.folded[row] for row in question[:3]}
    return next((vocabulary.folded[row] for row in found if vocabulary.folded[row] not in given), None)


def coverage(right: np.ndarray, covered: np.ndarray) -> dict[str, Any]:
    known = int(covered.sum())
    return {"accuracy": proportion(int(right.sum()), known) if known else None, "covered": known, "total": len(covered)}


def correlate_similarities(task: Any, asked: Similarities, vocabulary: Vocabulary) -> dict[str, Any]:
    rows = [(vocabulary.row(first), vocabulary.row(second), score) for first, second, score in asked.pairs]
    known = [pair for pair in rows if None not in pair]
    if len(known) < 3:
        raise BadInput(f"{len(known)} of {len(asked.pairs)} pairs have both words in the vocabulary, too few to judge by; train on more text")
    index = task.new_index()
    first, second, scores = (np.array(column) for column in zip(*known, strict=True))
    cosines = (unit_vectors(index, first) * unit_vectors(index, second)).sum(1)
    return {"spearman": rank_correlation(cosines, scores), "covered": len(known), "total": len(asked.pairs)}


def unit_vectors(index: Any, rows: np.ndarray) -> np.ndarray:
    """Vectors of length 1."""
    found = index.vectors[rows].astype(np.float64)
    return found / np.maximum(np.sqrt((found * found).sum(1, keepdims=True)), 1e-30)
