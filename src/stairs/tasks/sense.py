"""Sense: which meaning of a word is meant here?

Peters et al. 2018 ("ELMo") and Loureiro & Jorge 2019: the vector of a sense is the mean of the vectors of the words that are labelled with it. A word
gets the sense, among those of its lemma in the training file, whose vector is nearest to its own.

A lemma that is not in the file gets its first sense if the senses are WordNet's keys, lemma%type:file:number::, where the type is the part of speech
and the file one of 45 topics (people, food, motion): the topic that the nearest senses of all lemmas vote for, by their squared cosines, and its
number 00. Otherwise it has no answer.

Departures: the papers look up WordNet's first sense; here nothing is given but the training file.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview
from stairs.models.base import Model
from stairs.progress import track
from stairs.tasks.answers import Answer, SenseAnswer, SenseCosine
from stairs.tasks.measurements import Measurements
from stairs.tasks.metrics import ratio
from stairs.tasks.parts.indexed import Indexed
from stairs.tasks.parts.layer_mix import select_layers
from stairs.tasks.task import Task
from stairs.text.batch import Batch, batches_by_length, pad_rows
from stairs.text.examples import SenseSentence

POSITIONS = 4096  # in a batch
PIECES_PER_WORD = 2  # about
LAST_LAYERS = 4  # whose vectors are summed
MARKED_WORD = re.compile(r"\*([^*=]+)(?:=([^*]+))?\*")  # *banks* or *banks=bank*
PARTS_OF_SPEECH = "nvar"  # as in WordNet
WORDNET_KEY = re.compile(r"[^%]+%([1-4]):(\d\d):\d\d::")  # without the satellites of adjectives, whose keys name another word
VOTES = 40  # of the nearest senses, for a topic
KEY_TYPES = {"n": "1", "v": "2", "a": "3", "r": "4"}


class Sense(Indexed):
    """Senses by name, each with its vector and how often it occurs; `lemmas` has the numbers of the senses of each lemma."""

    name = "sense"
    example_kind = "sense"

    def __init__(
        self, encoder: Task, senses: list[str], lemmas: dict[str, list[int]], counts: list[int], vectors: np.ndarray, layers: str | None = None
    ) -> None:
        super().__init__(encoder, vectors)
        if not encoder.model.encodes:
            raise Unsupported(f"{encoder.model_name} has no token vectors to tell senses apart by; try {encoder.model.models_that_encode}")
        self.senses, self.lemmas, self.counts, self.layers = senses, lemmas, counts, layers
        self.layer_numbers = select_layers(layers, encoder.model)

    @classmethod
    def train(cls, examples: Sequence[SenseSentence], encoder: Task, layers: str | None = None) -> Self:
        """From labelled words, by the sum of the vectors of some `layers`."""
        task = cls(encoder, [], {}, [], np.zeros((0, 0), np.float32), layers)
        numbers: dict[str, int] = {}
        sums: list[np.ndarray] = []
        counts: Counter[int] = Counter()
        for example, vectors in zip(examples, task.word_vectors(examples), strict=True):
            for (place, sense), vector in zip(example.senses, vectors, strict=True):
                number = numbers.setdefault(sense, len(numbers))
                if number == len(sums):
                    sums.append(np.zeros_like(vector, np.float64))
                of_lemma = task.lemmas.setdefault(example.lemmas[place], [])
                if number not in of_lemma:
                    of_lemma.append(number)
                sums[number] += vector
                counts[number] += 1
        if not sums:
            raise BadInput(f"{examples[0].where}: no word of the file has a sense; the fourth column should name them")
        stacked = np.stack(sums)
        task.senses, task.counts = list(numbers), [counts[number] for number in range(len(numbers))]
        task.stored_vectors = (stacked / np.maximum(np.linalg.norm(stacked, axis=1, keepdims=True), 1e-12)).astype(np.float32)
        return task

    def word_vectors(self, examples: Sequence[SenseSentence]) -> Iterator[np.ndarray]:
        """The vectors (N, D) of the labelled words of each sentence: the mean of their pieces."""
        model, tokenizer = self.model.eval(), self.tokenizer
        limit = (model.reads_at_most or 1 << 20) - 2
        vectors: list[np.ndarray] = [np.zeros((0, 0))] * len(examples)
        with track("reading", total=len(examples), unit="sentences") as advance:
            for group in batches_by_length([PIECES_PER_WORD * len(example.words) for example in examples], POSITIONS):
                pieces = [[ids or [tokenizer.unknown] for ids in tokenizer.encode_batch(list(examples[number].words))] for number in group]
                rows = [[tokenizer.begin, *[i for ids in own for i in ids][:limit], tokenizer.end] for own in pieces]
                ids, real = pad_rows(rows, tokenizer.pad)
                with torch.inference_mode():
                    hidden = sum_layers(model, self.encoder.add_characters(Batch(ids, real)), self.layer_numbers).float().numpy()
                for number, own, row in zip(group, pieces, hidden, strict=True):
                    ends = np.minimum(np.cumsum([0, *map(len, own)]), limit - 1) + 1
                    positions = [place for place, _ in examples[number].senses]
                    vectors[number] = np.array([row[ends[place] : max(ends[place + 1], ends[place] + 1)].mean(0) for place in positions])
                advance(len(group))
        return iter(vectors)

    @functools.cached_property
    def topics(self) -> dict[str, tuple[list[str], np.ndarray]]:
        """Of each part of speech, the topic of every sense as its key names it, and the unit vectors of these senses about the mean of all."""
        keys = [WORDNET_KEY.fullmatch(sense) for sense in self.senses]
        result = {}
        for letter, kind in KEY_TYPES.items():
            own = [(number, f"{kind}:{key[2]}") for number, key in enumerate(keys) if key is not None and key[1] == kind]
            vectors = self.stored_vectors[[number for number, _ in own]] - self.stored_vectors.mean(0)
            result[letter] = [topic for _, topic in own], vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return result

    def first_sense(self, lemma: str, vector: np.ndarray) -> str | None:
        """The first sense of a lemma that the training file does not have; None if its senses are not WordNet's, or the encoder has no vector."""
        word, _, part_of_speech = lemma.rpartition(".")
        topics, vectors = self.topics.get(part_of_speech, ([], None))
        length = float(np.linalg.norm(vector))
        if vectors is None or not topics or (length == 0 and len(set(topics)) > 1):
            return None
        cosines = vectors @ (vector / max(length, 1e-12) - self.stored_vectors.mean(0))
        votes: dict[str, float] = {}
        for number in np.argsort(-cosines, kind="stable")[:VOTES].tolist():
            votes[topics[number]] = votes.get(topics[number], 0.0) + max(float(cosines[number]), 0.0) ** 2
        return f"{word.replace(' ', '_')}%{max(votes, key=votes.__getitem__)}:00::"

    def predict_examples(self, examples: Sequence[SenseSentence]) -> list[list[str | None]]:
        """A sense for every labelled word; None where the training file gives none."""
        return [
            [self.nearest_sense(example.lemmas[place], vector) for (place, _), vector in zip(example.senses, vectors, strict=True)]
            for example, vectors in zip(examples, self.word_vectors(examples), strict=True)
        ]

    def nearest_sense(self, lemma: str, vector: np.ndarray) -> str | None:
        candidates = self.lemmas.get(lemma)
        return self.senses[candidates[int((self.stored_vectors[candidates] @ vector).argmax())]] if candidates else self.first_sense(lemma, vector)

    def most_frequent(self, lemma: str) -> str | None:
        candidates = self.lemmas.get(lemma)
        return None if not candidates else self.senses[max(candidates, key=self.counts.__getitem__)]

    def evaluate_examples(self, examples: Sequence[Any]) -> Measurements:
        """F1 over all labelled words, and that of always taking the most frequent sense; for a lemma that is not in the training file both take its
        first sense."""
        total, answered, correct, correct_by_frequency, known = [], [], [], [], 0
        for example, predicted in zip(examples, self.predict_examples(examples), strict=True):
            gold = [set(sense.split(";")) for _, sense in example.senses]
            lemmas = [example.lemmas[place] for place, _ in example.senses]
            frequent = [self.most_frequent(lemma) or sense for lemma, sense in zip(lemmas, predicted, strict=True)]
            known += sum(lemma in self.lemmas for lemma in lemmas)
            total.append(len(gold))
            answered.append(sum(sense is not None for sense in predicted))
            correct.append(sum(sense in own for sense, own in zip(predicted, gold, strict=True)))
            correct_by_frequency.append(sum(sense in own for sense, own in zip(frequent, gold, strict=True)))
        denominators = np.array(total) + np.array(answered)
        return {
            "f1": ratio(2 * np.array(correct), denominators),
            "most_frequent_f1": ratio(2 * np.array(correct_by_frequency), denominators),
            "words": sum(total),
            "known_words": known,
        }

    def answer(self, text: str) -> SenseAnswer:
        """The senses of the word between stars, nearest first; its lemma follows a =, if it is another: *banks=bank*."""
        marked = MARKED_WORD.search(text)
        if marked is None:
            raise BadInput(f"no word is marked in {preview(text)}; put stars around one, as in the *bank* or the *banks=bank*")
        word, lemma = marked[1], (marked[2] or marked[1]).lower()
        candidates = [number for part_of_speech in PARTS_OF_SPEECH for number in self.lemmas.get(f"{lemma}.{part_of_speech}", [])]
        if not candidates:
            raise BadInput(f"the training file has no sense of {preview(lemma)}; mark a word that it has, with its lemma as in *banks=bank*")
        before, after = text[: marked.start()].split(), text[marked.end() :].split()
        words = (*before, word, *after)
        vector = next(self.word_vectors([SenseSentence(words, words, ((len(before), ""),))]))[0]
        cosines = self.stored_vectors[candidates] @ (vector / max(float(np.linalg.norm(vector)), 1e-12))
        order = np.argsort(-cosines, kind="stable")
        senses: list[SenseCosine] = [{"sense": self.senses[candidates[i]], "cosine": float(cosines[i])} for i in order]
        return {"text": text, "word": word, "label": senses[0]["sense"], "senses": senses}

    def summary(self, answer: Answer) -> str:
        return str(answer["label"])

    def index_metadata(self) -> dict[str, Any]:
        return {"senses": self.senses, "lemmas": self.lemmas, "counts": self.counts, "layers": self.layers}

    @classmethod
    def from_index(cls, encoder: Task, metadata: Any, vectors: np.ndarray) -> Self:
        return cls(encoder, metadata["senses"], metadata["lemmas"], metadata["counts"], vectors, metadata.get("layers"))


def sum_layers(model: Model, batch: Batch, numbers: list[int] | None) -> Tensor:
    """The sum of the vectors of some layers; by default of the last blocks, which tell senses apart better than the last one alone."""
    if numbers is None and not model.is_transformer:
        return model.encode(batch)
    hidden_states = model.hidden_states(batch)
    layers = hidden_states[-LAST_LAYERS:] if numbers is None else [hidden_states[number] for number in numbers]
    total = layers[0]
    for layer in layers[1:]:
        total = total + layer
    return total
