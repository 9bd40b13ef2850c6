"""CrfTagger: tags by a linear-chain conditional random field over features of the words.

Lafferty, McCallum & Pereira 2001, "Conditional Random Fields":

    P(t | w) = exp(sum over i of  A[t_i-1, t_i]  +  sum over features f of word i of  W[f, t_i]) / Z(w)          t_0 the beginning
    loss     = sum over sentences of -log P(t | w)  +  lambda / 2 |W, A|^2

Features of a word are its text, its lower case, its first and last letters and its shape, those of its neighbours, and pairs of neighbours; a Chinese
character has itself, its kind and its neighbours. The gradient of a weight is how often its feature is expected minus how often it occurs, by
forward-backward (`kernels/linear_chain.py`). The tags are those with the largest P (Viterbi).

Departures: AdaGrad (Duchi et al. 2011), an update after each sentence, in place of iterative scaling; a feature has weights for all tags, also for
those it never occurs with; I-X follows only B-X and I-X, in training and in answers.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import numpy as np

from stairs.kernels.linear_chain import score_words, train_epoch
from stairs.randomness import numpy_generator
from stairs.tasks.config_file import TaskConfig
from stairs.tasks.from_examples import words_tokenizer
from stairs.tasks.parts.tag_sequences import labels_of_tags, transitions, viterbi
from stairs.tasks.word_tagger import WordTagger
from stairs.text.chinese import has_han
from stairs.text.examples import TaggedSentence
from stairs.text.segmentation import Segmentation
from stairs.text.tokenizers.tokenizer import Tokenizer

MAX_AFFIX = 4  # letters
RATE, PENALTY = 0.2, 0.1
FIRST_SQUARE = 1.0  # so that the first gradient of a weight does not move it by the whole rate
MIN_UPDATES, MAX_EPOCHS, MIN_EPOCHS = 60_000, 60, 12  # sentences read in all; few sentences are read more often
MIN_COUNT, FEW_WORDS = 2, 20_000  # of a feature, unless there are so few words
EDGE = ""  # beyond the sentence


class CrfTagger(WordTagger):
    """`weight` (features, labels), and `transition` (labels + 1, labels), whose last row is the beginning."""

    name = "tag-crf"
    model_name = "crf"

    def __init__(
        self, tokenizer: Tokenizer, labels: list[str], segmentation: Segmentation, features: Sequence[str], weight: np.ndarray, transition: np.ndarray
    ) -> None:
        super().__init__(tokenizer, labels, segmentation)
        self.features, self.weight, self.transition = {name: row for row, name in enumerate(features)}, weight, transition
        self.costs = (transition + transitions(labels)).astype(np.float32)

    @classmethod
    def train(cls, examples: Sequence[TaggedSentence]) -> Self:
        labels = labels_of_tags(examples)
        examples = [example for example in examples if example.words]
        ids = {label: number for number, label in enumerate(labels)}
        tags = np.array([ids[tag] for example in examples for tag in example.tags], np.int32)
        names: dict[str, int] = {}
        words, rows = feature_rows(examples, names, is_open=True)
        counts = np.bincount(rows, minlength=len(names))
        kept = counts >= (MIN_COUNT if len(tags) > FEW_WORDS else 1)
        words, rows = drop_features(words, rows, kept)
        forbidden = transitions(labels)
        weight = np.zeros((int(kept.sum()), len(labels)), np.float32)
        transition = forbidden.astype(np.float64)
        squares, transition_squares = np.full_like(weight, FIRST_SQUARE), np.full_like(transition, FIRST_SQUARE)
        sentences = np.cumsum([0, *(len(example.words) for example in examples)])
        for epoch in range(min(max(MIN_EPOCHS, MIN_UPDATES // len(examples)), MAX_EPOCHS)):
            order = numpy_generator(0, "crf", epoch).permutation(len(examples))
            train_epoch(order, sentences, words, rows, tags, counts[kept].astype(np.float32), weight, transition, squares, transition_squares,
                        forbidden == 0, RATE, PENALTY)  # fmt: skip
        transition[forbidden != 0] = 0.0
        features = [name for name, is_kept in zip(names, kept, strict=True) if is_kept]
        segmentation = Segmentation.from_sentences(example.words for example in examples)
        return cls(words_tokenizer(examples), labels, segmentation, features, weight, transition.astype(np.float32))

    def tag_words(self, words: Sequence[str]) -> list[str]:
        starts, rows = feature_rows([TaggedSentence(tuple(words), ())], self.features, is_open=False)
        return [self.labels[tag] for tag in viterbi(score_words(starts, rows, self.weight, 0, len(words)), self.costs)]

    def strings(self) -> dict[str, list[str]]:
        return {"features": list(self.features)}

    def arrays(self) -> dict[str, np.ndarray]:
        return {"weight": self.weight, "transition": self.transition}

    @classmethod
    def from_parts(cls, tokenizer: Tokenizer, described: TaskConfig, strings: Mapping[str, list[str]], arrays: Mapping[str, np.ndarray]) -> Self:
        settings: dict[str, dict[str, object]] = described["settings"]  # type: ignore[assignment]
        segmentation = Segmentation(**settings["segmentation"])  # type: ignore[arg-type]
        return cls(tokenizer, described["labels"], segmentation, strings["features"], arrays["weight"], arrays["transition"])


def word_features(word: str) -> list[str]:
    """Of a word by itself."""
    lower, shape = word.lower(), word_shape(word)
    found = ["bias", f"w={word}", f"s={shape}"]
    found += [f"l={lower}"] if lower != word else []
    for size in range(1, min(MAX_AFFIX, len(word) - 1) + 1):
        found += [f"<{word[:size]}", f">{lower[-size:]}"]
    return found


def neighbour_features(word: str, offset: int) -> list[str]:
    if not word:
        return [f"{offset}edge"]
    lower = word.lower()
    found = [f"{offset}l={lower}", f"{offset}s={word_shape(word)}"]
    return [*found, f"{offset}>{lower[-3:]}"] if abs(offset) == 1 and len(word) > 3 else found


def word_shape(word: str) -> str:
    """Runs of capitals (X), other letters (x), digits (9) and Han characters (h); punctuation stays. "Xx" is a capitalized word."""
    return "".join(kind for kind, _ in itertools.groupby(map(character_kind, word)))


def character_kind(character: str) -> str:
    if has_han(character):
        return "h"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return "9" if character.isdigit() else character


def feature_rows(examples: Iterable[TaggedSentence], names: dict[str, int], is_open: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where the features of each word begin, and their numbers; new features get a number if `names` is open. Those of a word do not change with its
    sentence, so each distinct word is looked at once for each place in which it stands."""
    starts, rows = [0], list[int]()
    known: dict[tuple[str, int], list[int]] = {}

    def number(features: Iterable[str]) -> list[int]:
        if is_open:
            return [names.setdefault(feature, len(names)) for feature in features]
        return [names[feature] for feature in features if feature in names]

    def of_word(word: str, offset: int) -> list[int]:
        found = known.get((word, offset))
        if found is None:
            found = known[word, offset] = number(neighbour_features(word, offset) if offset else word_features(word))
        return found

    for example in examples:
        padded = [EDGE, EDGE, *example.words, EDGE, EDGE]
        lower = [word.lower() for word in padded]
        for place in range(2, len(padded) - 2):
            for offset in (-2, -1, 0, 1, 2):
                rows += of_word(padded[place + offset], offset)
            _, a, b, c, _ = lower[place - 2 : place + 3]
            rows += number((f"-10={a} {b}", f"01={b} {c}", f"-11={a} {c}"))
            starts.append(len(rows))
    return np.array(starts, np.int64), np.array(rows, np.int32)


def drop_features(starts: np.ndarray, rows: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same without features that occur too seldom."""
    is_kept = kept[rows]
    before = np.concatenate([[0], np.cumsum(is_kept)])
    return before[starts], (np.cumsum(kept) - 1)[rows[is_kept]].astype(np.int32)
