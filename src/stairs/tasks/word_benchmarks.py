"""Benchmarks of word vectors by themselves: analogies and word similarities.

analogies      `: section` lines, and lines of four words: Athens is to Greece as Baghdad is to Iraq (Mikolov et al. 2013; CA8, Li et al. 2018).
               Correct if the word nearest to  Greece - Athens + Baghdad  (3CosAdd, vectors of length 1, without those three) is Iraq.
similarities   lines of two words and how similar people find them (WordSim-353, SimLex-999, wordsim-240 and -297): Spearman's rank correlation
               with the cosines.

Upper and lower case are the same, and of words that differ only in case the more frequent is meant, as in gensim. A question with a word outside the
vocabulary is not asked; the result says how many were. Whether a file has analogies or similarities follows from its lines.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from stairs.errors import BadInput
from stairs.search.nearest import NearestNeighbours
from stairs.tasks.measurements import AnalogyMetrics, Measurements, SimilarityMetrics
from stairs.tasks.metrics import proportion, rank_correlation
from stairs.tasks.parts.similarity_columns import NumberedLine, Similarities, is_number, read_similarities
from stairs.tasks.word_vectors import WordVectors
from stairs.text.labelled.column_names import Columns
from stairs.text.special import SPECIAL_TOKENS

CANDIDATES = 12  # nearest words: the three of the question may be among them, in several spellings


class Analogies(NamedTuple):
    questions: list[tuple[str, list[str]]]  # section, four words


def read_benchmark(lines: Iterable[str], name: str, columns: Columns = None) -> Analogies | Similarities | None:
    """The questions of a file; None if it has something else. `columns` names those of similarities."""
    numbered = [(number, line.strip("\r\n ")) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if columns is None and any(line.startswith(":") and len(line.split()) > 1 for _, line in numbered[:1]):
        return read_analogies(numbered, name)
    if columns is None and numbered and all(len(line.split()) == 4 and not any(map(is_number, line.split())) for _, line in numbered):
        return read_analogies(numbered, name)
    return read_similarities(numbered, name, columns)


def read_analogies(lines: list[NumberedLine], name: str) -> Analogies:
    section, questions = "all", []
    for number, line in lines:
        if line.startswith(":"):
            section = line[1:].strip()
        elif len(words := line.split()) == 4:
            questions.append((section, words))
        else:
            raise BadInput(f"{name}:{number}: the line has {len(words)} words and not four, as in Athens Greece Baghdad Iraq; correct it")
    return Analogies(questions)


class Vocabulary:
    """The rows of words, whatever their case; of words that differ only in case the first, which is the most frequent."""

    def __init__(self, words: list[str]) -> None:
        self.upper = [word.upper() for word in words]
        self.rows = {word: row for row, word in reversed(list(enumerate(self.upper)))}

    def row(self, word: str) -> int | None:
        return self.rows.get(word.upper())


def evaluate_benchmark(task: WordVectors, benchmark: Analogies | Similarities) -> Measurements:
    """Accuracy by section and in all, or Spearman's correlation, and how many questions are covered."""
    vocabulary = Vocabulary(task.tokenizer.vocabulary[len(SPECIAL_TOKENS) :])
    if isinstance(benchmark, Analogies):
        return solve_analogies(task, benchmark, vocabulary)
    return correlate_similarities(task, benchmark, vocabulary)


def solve_analogies(task: WordVectors, analogies: Analogies, vocabulary: Vocabulary) -> Measurements:
    rows = [[vocabulary.row(word) for word in words] for _, words in analogies.questions]
    is_covered = np.array([None not in own for own in rows])
    if not is_covered.any():
        raise BadInput(f"none of the {len(rows)} analogies has all its words in the vocabulary; train on more text, or adopt larger vectors")
    index = task.new_index()
    covered = np.array([own for own in rows if None not in own], np.int64)  # (questions, 4)
    queries = unit_vectors(index, covered[:, 1]) - unit_vectors(index, covered[:, 0]) + unit_vectors(index, covered[:, 2])
    neighbours, _ = index.nearest(queries, CANDIDATES)
    is_correct = np.zeros(len(rows), bool)
    is_correct[is_covered] = [
        nearest_other(own, near, vocabulary) == vocabulary.upper[own[3]] for own, near in zip(covered.tolist(), neighbours.tolist(), strict=True)
    ]
    names = np.array([section for section, _ in analogies.questions])
    sections = {name: coverage(is_correct[names == name], is_covered[names == name]) for name in dict.fromkeys(names.tolist())}
    return {**coverage(is_correct, is_covered), "sections": sections}


def nearest_other(question: list[int], neighbours: list[int], vocabulary: Vocabulary) -> str | None:
    """The nearest word that is none of the three of the question."""
    given = {vocabulary.upper[row] for row in question[:3]}
    return next((vocabulary.upper[row] for row in neighbours if vocabulary.upper[row] not in given), None)


def coverage(is_correct: np.ndarray, is_covered: np.ndarray) -> AnalogyMetrics:
    covered = int(is_covered.sum())
    return {"accuracy": proportion(int(is_correct.sum()), covered) if covered else None, "covered": covered, "total": len(is_covered)}


def correlate_similarities(task: WordVectors, similarities: Similarities, vocabulary: Vocabulary) -> SimilarityMetrics:
    rows = [(vocabulary.row(first), vocabulary.row(second), score) for first, second, score in similarities.pairs]
    covered = [pair for pair in rows if None not in pair]
    if len(covered) < 3:
        counts = f"{len(covered)} of {len(similarities.pairs)} pairs"
        raise BadInput(f"{counts} have both words in the vocabulary, too few to evaluate; train on more text")
    index = task.new_index()
    first, second, scores = (np.array(column) for column in zip(*covered, strict=True))
    cosines = (unit_vectors(index, first) * unit_vectors(index, second)).sum(1)
    return {"spearman": rank_correlation(cosines, scores), "covered": len(covered), "total": len(similarities.pairs)}


def unit_vectors(index: NearestNeighbours, rows: np.ndarray) -> np.ndarray:
    """Vectors of length 1."""
    vectors = index.vectors[rows].astype(np.float64)
    units: np.ndarray = vectors / np.maximum(np.sqrt((vectors * vectors).sum(1, keepdims=True)), 1e-30)
    return units
