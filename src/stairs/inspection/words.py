"""Which words are near a word, a text, or a sum of words such as king - man + woman.

A sum is of vectors of length 1 (Mikolov, Yih & Zweig 2013, "Linguistic Regularities in Continuous Space Word Representations"):

    king - man + woman   ->   the words whose cosine with  king/|king| - man/|man| + woman/|woman|  is greatest, those three left out
"""

import re
from typing import Any, NamedTuple

import numpy as np

from stairs.errors import BadInput, Unsupported, preview
from stairs.kernels.edit_distance import FAR, edit_distances
from stairs.tasks.task import Task
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.tokenizer import Tokenizer

SIGNS = str.maketrans("＋－−", "+--")
SUGGESTIONS = 3  # spellings for a word that is not there
MAX_EDITS = 4  # letters that an offered spelling may differ in


class Query(NamedTuple):
    text: str
    words: list[str]  # left out of the answer
    vector: np.ndarray  # (D,)


def neighbours(task: Task, text: str, top: int = 10, among: Task | None = None) -> dict[str, Any]:
    """The words nearest to a question, of the same run or `among` those of another: {"query", "words", "near": [{"word", "cosine"}]}."""
    asked = parse_query(task, text)
    place = check_word_vectors(among or task)
    if place.model.config.width != len(asked.vector):
        raise BadInput(f"vectors of width {len(asked.vector)} and {place.model.config.width} can not be compared; give two runs of the same width")
    return {"query": asked.text, "words": asked.words, "near": nearest_words(place, asked, top)}


def nearest_words(task: Any, asked: Query, top: int) -> list[dict[str, Any]]:
    if task.index is None:
        task.index = task.new_index()
    left_out = set(asked.words)
    rows, cosines = task.index.nearest(asked.vector[None], top + len(left_out))
    named = ((task.tokenizer.token(row + len(SPECIAL_TOKENS)), cosine) for row, cosine in zip(rows[0].tolist(), cosines[0].tolist(), strict=True))
    return [{"word": word, "cosine": cosine} for word, cosine in named if word not in left_out][:top]


class ShownWord(NamedTuple):
    vector: np.ndarray  # (D,)
    group: str


def words_to_draw(task: Any, found: list[dict[str, Any]]) -> dict[str, ShownWord]:
    """By name: the words of some answers and of their questions, each with the first question it belongs to, and what the sums come to."""
    shown: dict[str, ShownWord] = {}
    for answer in found:
        asked = parse_query(task, answer["query"])
        own = [word_vector(task, word) for word in asked.words]
        for word, vector in zip(asked.words, own, strict=True):
            shown.setdefault(word, ShownWord(vector, "asked with" if len(found) == 1 else asked.text))
        if len(asked.words) > 1:
            length = np.mean([np.sqrt(vector @ vector) for vector in own])
            shown.setdefault(asked.text, ShownWord((unit_vector(asked.vector) * length).astype(np.float32), "their sum" if len(found) == 1
                else asked.text))
        for near in answer["near"]:
            shown.setdefault(near["word"], ShownWord(word_vector(task, near["word"]), "near" if len(found) == 1 else asked.text))
    return shown


def parse_query(asked: Task, text: str) -> Query:
    """What a text asks for: a word, a sum of words, or a text as a whole."""
    task = check_word_vectors(asked)
    plain = " ".join(text.translate(SIGNS).split())
    terms = signed_terms(task.tokenizer, plain)
    if len(terms) > 1:
        vectors = [sign * unit_vector(word_vector(task, word)) for sign, word in terms]
        return Query(plain, [vocabulary_spelling(task.tokenizer, word) for _, word in terms], np.sum(vectors, 0))
    if task.tokenizer.id(vocabulary_spelling(task.tokenizer, plain)) < len(SPECIAL_TOKENS) and len(task.tokenizer.words(plain)) > 1:
        return Query(plain, [found.spelling for found in task.known_words(plain)], task.vectors([plain])[0])
    return Query(plain, [vocabulary_spelling(task.tokenizer, plain)], word_vector(task, plain))


def analogy_query(first: str, second: str, third: str) -> str:
    """`first` is to `second` as `third` is to what? As a sum."""
    return f"{second} - {first} + {third}"


def signed_terms(tokenizer: Tokenizer, text: str) -> list[tuple[int, str]]:
    """The words of a sum with their signs; signs stand apart, or, where the whole is no word, between words that are."""
    parts = re.split(r"(?:^|(?<=\s))([+-])(?=\s)", text)
    if len(parts) == 1 and tokenizer.id(vocabulary_spelling(tokenizer, text)) < len(SPECIAL_TOKENS):
        tight = re.split(r"([+-])", text)
        if all(tokenizer.id(vocabulary_spelling(tokenizer, part.strip())) >= len(SPECIAL_TOKENS) for part in tight[::2] if part.strip()):
            parts = tight
    words = [(1, parts[0]), *((-1 if sign == "-" else 1, word) for sign, word in zip(parts[1::2], parts[2::2], strict=True))]
    found = [(sign, word.strip()) for sign, word in words]
    if len(found) > 1 and not found[0][1]:
        found = found[1:]  # it began with a sign
    if len(found) > 1 and not all(word for _, word in found):
        raise BadInput(f"a word is missing beside a sign in {preview(text)}; write it as in king - man + woman")
    return found


def word_vector(task: Any, word: str) -> np.ndarray:
    """The vector of a word, by its characters if the model has them; else a sentence with the nearest spellings."""
    number = task.tokenizer.id(vocabulary_spelling(task.tokenizer, word))
    found = task.rows(np.array([number]))[0] if number >= len(SPECIAL_TOKENS) else task.model.oov_vector(vocabulary_spelling(task.tokenizer, word))
    if found is None:
        near = similar_spellings(task.tokenizer, word)
        offer = f"did you mean {' or '.join(filter(None, (', '.join(near[:-1]), near[-1])))}?" if near else "try another word"
        raise BadInput(f"{preview(word)} is not in the vocabulary of this run; {offer}")
    return found


def vocabulary_spelling(tokenizer: Tokenizer, word: str) -> str:
    """As the vocabulary spells it: in small letters where it has only those."""
    return word.lower() if tokenizer.spec.lowercase else word


def similar_spellings(tokenizer: Tokenizer, word: str) -> list[str]:
    """The words of the vocabulary nearest in spelling, capital letters or not; of equals the more frequent."""
    words = tokenizer.vocabulary[len(SPECIAL_TOKENS) :]
    small = [known.lower() for known in words]
    starts = np.concatenate([[0], np.cumsum([len(known) for known in small], dtype=np.int64)])
    letters, own = (np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32) for text in ("".join(small), word.lower()))
    found = edit_distances(letters, starts, own, min(MAX_EDITS, max(1, len(own) - 1)))
    order = np.argsort(found, kind="stable")[:SUGGESTIONS]
    return [words[i] for i in order.tolist() if found[i] < FAR]


def unit_vector(vector: np.ndarray) -> np.ndarray:
    exact = np.asarray(vector, np.float64)
    return exact / max(float(np.sqrt(exact @ exact)), 1e-30)


def check_word_vectors(task: Any) -> Any:
    if task.name != "word-vectors":
        raise Unsupported(f"a {task.name} run of {task.model_name} has no word vectors; train cbow, skipgram or glove, or adopt a file of vectors")
    return task
