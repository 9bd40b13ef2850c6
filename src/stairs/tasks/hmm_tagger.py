"""HmmTagger: tags by a hidden Markov model, whose probabilities are counted.

Brants 2000, "TnT - A Statistical Part-of-Speech Tagger": the most probable tags t of the words w, with trigrams of tags,

    argmax over t of  P(end | t_n-1, t_n)  product over i of  P(t_i | t_i-2, t_i-1) P(w_i | t_i)
    P(t_3 | t_1, t_2) = l_1 f(t_3) / N  +  l_2 f(t_2 t_3) / f(t_2)  +  l_3 f(t_1 t_2 t_3) / f(t_1 t_2)       f counts, l by deleted interpolation

An unknown word has the tags of rare words with the same ending, in which shorter endings have their say; words with a capital are kept apart:

    P(t | ending of i letters) = (f(t, ending) / f(ending)  +  theta P(t | ending of i - 1 letters)) / (1 + theta)       P(w | t) ~ P(t | w) / P(t)

Departures: a known word is seen as one more such step, P(t | w) = (f(t, w) + P(t | ending)) / (f(w) + 1), since a surname that always stood inside a
name may begin one; the tags are not doubled by capitals in the transitions; theta is the standard deviation of P(t), as the text says, where the
formula has no root; I-X follows only B-X and I-X; the search is complete, without a beam.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from stairs.tasks.config_file import TaskConfig
from stairs.tasks.from_examples import words_tokenizer
from stairs.tasks.parts.tag_sequences import labels_of_tags, transitions
from stairs.tasks.word_tagger import WordTagger
from stairs.text.examples import TaggedSentence
from stairs.text.segmentation import Segmentation
from stairs.text.tokenizers.tokenizer import Tokenizer

MAX_ENDING = 10  # letters
RARE = 10  # a word that occurs at most so often tells what unknown words are like
MIN_THETA = 0.01  # where all tags are equally frequent
WORDS, ENDINGS = "words", "endings"


class HmmTagger(WordTagger):
    """Logarithms: `transition` (L + 1, L + 1, L + 1), whose last tag is the beginning or the end, `emission` (W, L) of words, and that of endings."""

    name = "tag-hmm"
    model_name = "hmm"

    def __init__(
        self, tokenizer: Tokenizer, labels: list[str], segmentation: Segmentation, strings: Mapping[str, list[str]], arrays: Mapping[str, np.ndarray]
    ) -> None:
        super().__init__(tokenizer, labels, segmentation)
        self.words, self.endings = ({text: row for row, text in enumerate(strings[name])} for name in (WORDS, ENDINGS))
        self.transition, self.emission, self.ending_emission = (arrays[name] for name in ("transition", "emission", "ending_emission"))
        self.allowed_transition = self.transition.copy()
        costs = transitions(labels)
        self.allowed_transition[:, :, :-1] += costs[None]

    @classmethod
    def train(cls, examples: Sequence[TaggedSentence]) -> Self:
        labels = labels_of_tags(examples)
        ids = {label: number for number, label in enumerate(labels)}
        counts: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(len(labels)))
        sequences = []
        for example in examples:
            sequences.append([ids[tag] for tag in example.tags])
            for word, tag in zip(example.words, sequences[-1], strict=True):
                counts[word][tag] += 1
        prior = np.bincount([tag for own in sequences for tag in own], minlength=len(labels)) / sum(map(len, sequences))
        endings = ending_probabilities(counts, prior)
        emission = [known_word(own, nearest_ending(word, endings)) for word, own in counts.items()]
        logs = {"transition": np.log(np.maximum(tag_trigrams(sequences, len(labels)), 1e-30)), "emission": np.log(np.stack(emission) / prior)}
        logs["ending_emission"] = np.log(np.stack(list(endings.values())) / prior)
        arrays = {name: array.astype(np.float32) for name, array in logs.items()}
        segmentation = Segmentation.from_sentences(example.words for example in examples)
        return cls(words_tokenizer(examples), labels, segmentation, {WORDS: list(counts), ENDINGS: list(endings)}, arrays)

    def tag_words(self, words: Sequence[str]) -> list[str]:
        emissions = np.stack([self.word_emission(word) for word in words])
        return [self.labels[tag] for tag in trigram_viterbi(emissions, self.allowed_transition)]

    def word_emission(self, word: str) -> np.ndarray:
        """log P(word | tag), but for a number that is the same for all tags."""
        row = self.words.get(word)
        own: np.ndarray
        if row is not None:
            own = self.emission[row]
        else:
            own = self.ending_emission[next(self.endings[ending] for ending in endings_of(word) if ending in self.endings)]
        return own

    def strings(self) -> dict[str, list[str]]:
        return {WORDS: list(self.words), ENDINGS: list(self.endings)}

    def arrays(self) -> dict[str, np.ndarray]:
        return {"transition": self.transition, "emission": self.emission, "ending_emission": self.ending_emission}

    @classmethod
    def from_parts(cls, tokenizer: Tokenizer, described: TaskConfig, strings: Mapping[str, list[str]], arrays: Mapping[str, np.ndarray]) -> Self:
        settings: dict[str, dict[str, object]] = described["settings"]  # type: ignore[assignment]
        return cls(tokenizer, described["labels"], Segmentation(**settings["segmentation"]), strings, arrays)  # type: ignore[arg-type]


def tag_trigrams(sequences: Sequence[Sequence[int]], labels: int) -> np.ndarray:
    """P(t_3 | t_1, t_2), (L + 1, L + 1, L + 1), with the last tag before the beginning and after the end."""
    edge = labels
    counted: Counter[tuple[int, int, int]] = Counter()
    for own in sequences:
        padded = [edge, edge, *own, edge]
        counted.update(zip(padded, padded[1:], padded[2:], strict=False))
    trigrams = np.zeros((labels + 1,) * 3)
    for key, count in counted.items():
        trigrams[key] = count
    bigrams, unigrams = trigrams.sum(0), trigrams.sum((0, 1))
    estimates = np.broadcast_arrays(unigrams / unigrams.sum(), quotient(bigrams, bigrams.sum(1, keepdims=True)),
                                    quotient(trigrams, trigrams.sum(2, keepdims=True)))  # fmt: skip
    mix = deleted_interpolation(trigrams, bigrams, unigrams)
    return np.asarray(sum(share * estimate for share, estimate in zip(mix, estimates, strict=True)))


def deleted_interpolation(trigrams: np.ndarray, bigrams: np.ndarray, unigrams: np.ndarray) -> np.ndarray:
    """l_1, l_2, l_3: each trigram votes, as often as it occurs, for the order that predicts it best when one occurrence is taken away."""
    without = np.stack(np.broadcast_arrays(
        (unigrams - 1) / max(unigrams.sum() - 1, 1),
        quotient(bigrams - 1, bigrams.sum(1, keepdims=True) - 1),
        quotient(trigrams - 1, trigrams.sum(2, keepdims=True) - 1),
    ))  # fmt: skip
    best = 2 - without[::-1].argmax(0)  # of equals the longest
    votes = np.array([trigrams[best == order].sum() for order in range(3)])
    return np.asarray(votes / votes.sum())


def quotient(part: np.ndarray, total: np.ndarray) -> np.ndarray:
    """0 where there is nothing to divide by."""
    return np.asarray(np.divide(part, total, out=np.zeros(part.shape), where=np.broadcast_to(total > 0, part.shape)))


def endings_of(word: str) -> list[str]:
    """The endings of a word, the longest first, down to the empty one; the mark of a capital is the first character of each."""
    mark = "A" if word[:1].isupper() else "a"
    return [mark + word[len(word) - size :] for size in range(min(len(word), MAX_ENDING), -1, -1)]


def ending_probabilities(counts: Mapping[str, np.ndarray], prior: np.ndarray) -> dict[str, np.ndarray]:
    """P(tag | ending) of all endings of rare words."""
    found: dict[str, np.ndarray] = {"a": np.zeros(len(prior)), "A": np.zeros(len(prior))}
    for word, own in counts.items():
        if own.sum() <= RARE:
            for ending in endings_of(word):
                found[ending] = found.get(ending, 0) + own
    theta, probabilities = max(float(prior.std(ddof=1)), MIN_THETA), dict[str, np.ndarray]()
    for ending in sorted(found, key=len):
        shorter = probabilities[ending[0] + ending[2:]] if len(ending) > 1 else prior
        probabilities[ending] = (found[ending] / max(found[ending].sum(), 1) + theta * shorter) / (min(found[ending].sum(), 1) + theta)
    return probabilities


def nearest_ending(word: str, endings: Mapping[str, np.ndarray]) -> np.ndarray:
    return next(endings[ending] for ending in endings_of(word) if ending in endings)


def known_word(counts: np.ndarray, by_ending: np.ndarray) -> np.ndarray:
    """P(tag | word)."""
    return np.asarray((counts + by_ending) / (counts.sum() + 1))


def trigram_viterbi(emissions: np.ndarray, transition: np.ndarray) -> list[int]:
    """The most probable tags for emissions (T, L); the state is the last two tags."""
    edge = emissions.shape[1]
    best = np.full((edge + 1, edge + 1), -np.inf)
    best[edge, edge] = 0.0
    back_pointers = []
    for own in emissions:
        candidates = best[:, :, None] + transition[:, :, :edge]
        back_pointers.append(candidates.argmax(0))
        best = np.full_like(best, -np.inf)
        best[:, :edge] = candidates.max(0) + own
    before, last = divmod(int((best + transition[:, :, edge]).argmax()), edge + 1)
    path = [last]
    for pointers in reversed(back_pointers[1:]):
        path.append(before)
        before, last = int(pointers[before, last]), before
    return path[::-1]
