"""Word vectors: the words nearest to a word, a text or a sum of words, their vectors, a map, and an analogy. Each line of a text is a query.

A sum is taken of unit vectors (Mikolov, Yih & Zweig 2013, "Linguistic Regularities in Continuous Space Word Representations"):

    king - man + woman   ->   the words with the highest cosine to  king/|king| - man/|man| + woman/|woman|  , those three left out
"""

import re
from typing import NamedTuple, TypedDict

import numpy as np

from stairs.errors import BadInput, Unsupported, preview
from stairs.inspection.projection import Point, points, project_pca, project_tsne
from stairs.inspection.views import has_word_vectors, view
from stairs.kernels.edit_distance import FAR, edit_distances
from stairs.tasks import Task, WordVectors
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.tokenizer import Tokenizer

SIGNS = str.maketrans("＋－−", "+--")
SUGGESTIONS = 3  # spellings for a word that is not in the vocabulary
MAX_EDITS = 4  # characters in which a suggestion may differ


class NearWord(TypedDict):
    word: str
    cosine: float


class Neighbours(TypedDict):
    query: str
    words: list[str]  # of the query; left out of the answer
    near: list[NearWord]


class NeighboursData(TypedDict):
    answers: list[Neighbours]


class StripsData(TypedDict):
    words: list[str]
    matrix: list[list[float]]  # a row for each word


class MapData(TypedDict):
    points: list[Point]


class AnalogyData(MapData):
    arrows: list[list[str]]  # from word to word
    near: list[NearWord]


class Query(NamedTuple):
    text: str
    words: list[str]
    vector: np.ndarray  # (D,)


class ShownWord(NamedTuple):
    vector: np.ndarray  # (D,)
    group: str


# The views


@view(has_word_vectors)
def neighbours_view(task: WordVectors, text: str, *, top: int = 10) -> NeighboursData:
    """The words with the highest cosine to each line."""
    return {"answers": neighbours_of_lines(task, text, top)}


@view(has_word_vectors)
def strips(task: WordVectors, text: str, *, top: int = 5) -> StripsData:
    """The vectors of the words and of their neighbours."""
    return strips_data(task, neighbours_of_lines(task, text, top))


@view(has_word_vectors)
def words_map(task: WordVectors, text: str, *, top: int = 10) -> MapData:
    """The words and their neighbours in two dimensions."""
    return map_data(task, neighbours_of_lines(task, text, top))


@view(has_word_vectors)
def analogy(task: WordVectors, text: str, *, top: int = 5) -> AnalogyData:
    """For `king - man + woman`: an arrow from man to king, and one from woman to the sum."""
    answers = neighbours_of_lines(task, text, top)
    if len(answers) != 1 or len(answers[0]["words"]) != 3:
        raise BadInput('an analogy has three words, as in "king - man + woman"')
    return analogy_data(task, answers)


def neighbours_of_lines(task: WordVectors, text: str, top: int) -> list[Neighbours]:
    queries = list(filter(str.strip, text.splitlines()))
    if not queries:
        raise BadInput('no word given; give one, or a sum such as "king - man + woman"')
    return [neighbours(task, line, top) for line in queries]


def strips_data(task: WordVectors, answers: list[Neighbours]) -> StripsData:
    shown = words_to_draw(task, answers)
    return {"words": list(shown), "matrix": [[float(number) for number in word.vector] for word in shown.values()]}


def map_data(task: WordVectors, answers: list[Neighbours], tsne: bool = False) -> MapData:
    """Each word of the answers with its coordinates and its group."""
    shown = words_to_draw(task, answers)
    coordinates = (project_tsne if tsne else project_pca)(np.stack([word.vector for word in shown.values()]))
    return {"points": [{**point, "group": shown[point["word"]].group} for point in points(list(shown), coordinates)]}


def analogy_data(task: WordVectors, answers: list[Neighbours]) -> AnalogyData:
    second, first, third = answers[0]["words"]
    return {**map_data(task, answers), "arrows": [[first, second], [third, answers[0]["query"]]], "near": answers[0]["near"]}


def words_to_draw(task: WordVectors, answers: list[Neighbours]) -> dict[str, ShownWord]:
    """The words of the queries and answers, each in the group of its first query, and the sums themselves."""
    shown: dict[str, ShownWord] = {}
    is_single = len(answers) == 1
    for answer in answers:
        query = parse_query(task, answer["query"])
        vectors = [word_vector(task, word) for word in query.words]
        for word, vector in zip(query.words, vectors, strict=True):
            shown.setdefault(word, ShownWord(vector, "query" if is_single else query.text))
        if len(query.words) > 1:
            length = np.mean([np.sqrt(vector @ vector) for vector in vectors])
            shown.setdefault(query.text, ShownWord((unit_vector(query.vector) * length).astype(np.float32), "sum" if is_single else query.text))
        for near in answer["near"]:
            shown.setdefault(near["word"], ShownWord(word_vector(task, near["word"]), "nearest" if is_single else query.text))
    return shown


# Queries


def neighbours(task: Task, text: str, top: int = 10, among: Task | None = None) -> Neighbours:
    """The words nearest to a query, in the same run or `among` those of another."""
    query, searched = parse_query(check_word_vectors(task), text), check_word_vectors(among or task)
    if searched.model.config.width != len(query.vector):
        widths = f"vectors of width {len(query.vector)} and {searched.model.config.width}"
        raise BadInput(f"{widths} cannot be compared; give two runs of the same width")
    return {"query": query.text, "words": query.words, "near": nearest_words(searched, query, top)}


def nearest_words(task: WordVectors, query: Query, top: int) -> list[NearWord]:
    if task.index is None:
        task.index = task.new_index()
    excluded = set(query.words)
    rows, cosines = task.index.nearest(query.vector[None], top + len(excluded))
    words = (task.tokenizer.token(row + len(SPECIAL_TOKENS)) for row in rows[0].tolist())
    near: list[NearWord] = [{"word": word, "cosine": cosine} for word, cosine in zip(words, cosines[0].tolist(), strict=True) if word not in excluded]
    return near[:top]


def parse_query(task: WordVectors, text: str) -> Query:
    """A word, a sum of words, or a text as a whole."""
    query = " ".join(text.translate(SIGNS).split())
    terms = signed_terms(task.tokenizer, query)
    if len(terms) > 1:
        vectors = [sign * unit_vector(word_vector(task, word)) for sign, word in terms]
        return Query(query, [vocabulary_spelling(task.tokenizer, word) for _, word in terms], np.sum(vectors, 0))
    if not in_vocabulary(task.tokenizer, query) and len(task.tokenizer.words(query)) > 1:
        return Query(query, [known.spelling for known in task.known_words(query)], task.vectors([query])[0])
    return Query(query, [vocabulary_spelling(task.tokenizer, query)], word_vector(task, query))


def analogy_query(first: str, second: str, third: str) -> str:
    """`first` is to `second` as `third` is to what? As a sum."""
    return f"{second} - {first} + {third}"


def signed_terms(tokenizer: Tokenizer, text: str) -> list[tuple[int, str]]:
    """The words of a sum with their signs. Signs have spaces around them; without spaces they count if every part is a word and the whole is not."""
    parts = re.split(r"(?:^|(?<=\s))([+-])(?=\s)", text)
    if len(parts) == 1 and not in_vocabulary(tokenizer, text):
        tight = re.split(r"([+-])", text)
        if all(in_vocabulary(tokenizer, part.strip()) for part in tight[::2] if part.strip()):
            parts = tight
    words = [(1, parts[0]), *((-1 if sign == "-" else 1, word) for sign, word in zip(parts[1::2], parts[2::2], strict=True))]
    terms = [(sign, word.strip()) for sign, word in words]
    if len(terms) > 1 and not terms[0][1]:
        terms = terms[1:]  # the text starts with a sign
    if len(terms) > 1 and not all(word for _, word in terms):
        raise BadInput(f"a word is missing beside a sign in {preview(text)}; write it as in king - man + woman")
    return terms


def word_vector(task: WordVectors, word: str) -> np.ndarray:
    """The vector of a word, from its subwords if the model has them; otherwise an error with similar spellings."""
    spelling = vocabulary_spelling(task.tokenizer, word)
    number = task.tokenizer.id(spelling)
    vector = task.rows(np.array([number]))[0] if number >= len(SPECIAL_TOKENS) else task.model.oov_vector(spelling)
    if vector is None:
        raise unknown_word(task.tokenizer, word)
    return vector


def unknown_word(tokenizer: Tokenizer, word: str) -> BadInput:
    """The error, with similar spellings."""
    similar = similar_spellings(tokenizer, word)
    advice = f"did you mean {' or '.join(filter(None, (', '.join(similar[:-1]), similar[-1])))}?" if similar else "try another word"
    return BadInput(f"{preview(word)} is not in the vocabulary of this run; {advice}")


def word_id(tokenizer: Tokenizer, word: str) -> int:
    """Of a word of the vocabulary; otherwise an error."""
    if not in_vocabulary(tokenizer, word):
        raise unknown_word(tokenizer, word)
    return tokenizer.id(vocabulary_spelling(tokenizer, word))


def in_vocabulary(tokenizer: Tokenizer, word: str) -> bool:
    return tokenizer.id(vocabulary_spelling(tokenizer, word)) >= len(SPECIAL_TOKENS)


def vocabulary_spelling(tokenizer: Tokenizer, word: str) -> str:
    """In lower case where the vocabulary is."""
    return word.lower() if tokenizer.spec.lowercase else word


def similar_spellings(tokenizer: Tokenizer, word: str) -> list[str]:
    """The words of the vocabulary with the smallest edit distance, ignoring case; of equals the more frequent."""
    words = tokenizer.vocabulary[len(SPECIAL_TOKENS) :]
    distances = Spellings(words).distances(word, min(MAX_EDITS, max(1, len(word) - 1)))
    order = np.argsort(distances, kind="stable")[:SUGGESTIONS]
    return [words[number] for number in order.tolist() if distances[number] < FAR]


class Spellings:
    """Words that a word is compared with by edit distance, ignoring case."""

    def __init__(self, words: list[str]) -> None:
        lowered = [word.lower() for word in words]
        self.starts = np.concatenate([[0], np.cumsum([len(word) for word in lowered], dtype=np.int64)])
        self.characters = code_points("".join(lowered))

    def distances(self, word: str, limit: int) -> np.ndarray:
        """Of each of the words; FAR beyond the limit."""
        distances: np.ndarray = edit_distances(self.characters, self.starts, code_points(word.lower()), limit)
        return distances


def code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def unit_vector(vector: np.ndarray) -> np.ndarray:
    exact = np.asarray(vector, np.float64)
    return exact / max(float(np.sqrt(exact @ exact)), 1e-30)


def check_word_vectors(task: Task) -> WordVectors:
    if not isinstance(task, WordVectors):
        raise Unsupported(f"a {task.name} run of {task.model_name} has no word vectors; train cbow, skipgram or glove, or adopt a file of vectors")
    return task
