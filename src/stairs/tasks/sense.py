"""Sense: which meaning of a word is meant here?

Peters et al. 2018 ("ELMo") and Loureiro & Jorge 2019: the vector of a sense is the mean of the vectors of the words that were tagged with it; a word
has the sense, of those its lemma was seen with, whose vector is nearest to its own. A lemma that was never seen has no answer.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch

from stairs.errors import BadInput, Unsupported, preview
from stairs.progress import track
from stairs.tasks.metrics import ratio
from stairs.tasks.parts.indexed import Indexed
from stairs.tasks.parts.layer_mix import select_layers
from stairs.tasks.task import Task
from stairs.text.batch import Batch, batches_by_length, pad_rows
from stairs.text.examples import SenseSentence

POSITIONS = 4096  # read at once
PIECES = 2  # of a word, about
LAST = 4  # blocks whose vectors are summed
MARKED = re.compile(r"\*([^*=]+)(?:=([^*]+))?\*")  # *banks* or *banks=bank*
KINDS = "nvar"  # parts of speech, as WordNet has them


class Sense(Indexed):
    """Senses by name, each with its vector and how often it was seen."""

    name = "sense"
    example_kind = "sense"

    def __init__(
        self, encoder: Task, senses: list[str], lemmas: dict[str, list[int]], counts: list[int], vectors: np.ndarray, layers: str | None = None
    ) -> None:
        super().__init__(encoder, vectors)
        if not encoder.model.encodes:
            raise Unsupported(f"{encoder.model_name} has no token vectors to tell senses by; try {encoder.model.models_that_encode}")
        self.senses, self.lemmas, self.counts, self.layers = senses, lemmas, counts, layers
        self.chosen = select_layers(layers, encoder.model)

    @classmethod
    def train(cls, examples: Sequence[SenseSentence], encoder: Task, layers: str | None = None) -> Self:
        """By the vectors of some `layers`, summed."""
        task = cls(encoder, [], {}, [], np.zeros((0, 0), np.float32), layers)
        numbers: dict[str, int] = {}
        sums: list[np.ndarray] = []
        counts: Counter[int] = Counter()
        for example, vectors in zip(examples, task.word_vectors(examples), strict=True):
            for (place, sense), vector in zip(example.senses, vectors, strict=True):
                number = numbers.setdefault(sense, len(numbers))
                if number == len(sums):
                    sums.append(np.zeros_like(vector, np.float64))
                    task.lemmas.setdefault(example.lemmas[place], []).append(number)
                elif number not in task.lemmas.setdefault(example.lemmas[place], []):
                    task.lemmas[example.lemmas[place]].append(number)
                sums[number] += vector
                counts[number] += 1
        if not sums:
            raise BadInput(f"{examples[0].where}: no word of the file has a sense; the fourth column should name them")
        found = np.stack(sums)
        task.senses, task.counts = list(numbers), [counts[number] for number in range(len(numbers))]
        task.stored_vectors = (found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)).astype(np.float32)
        return task

    def word_vectors(self, examples: Sequence[SenseSentence]) -> Iterator[np.ndarray]:
        """The vectors (N, D) of the words of each sentence that have a sense: the mean of their pieces."""
        model, tokenizer = self.model.eval(), self.tokenizer
        room = (model.reads_at_most or 1 << 20) - 2
        found: list[np.ndarray] = [np.zeros((0, 0))] * len(examples)
        with track("reading", total=len(examples), unit="sentences") as advance:
            for group in batches_by_length([PIECES * len(example.words) for example in examples], POSITIONS):
                pieces = [[ids or [tokenizer.unknown] for ids in tokenizer.encode_batch(list(examples[number].words))] for number in group]
                rows = [[tokenizer.begin, *[i for ids in own for i in ids][:room], tokenizer.end] for own in pieces]
                ids, real = pad_rows(rows, tokenizer.pad)
                with torch.inference_mode():
                    hidden = summed_layers(model, self.encoder.add_characters(Batch(ids, real)), self.chosen).float().numpy()
                for number, own, row in zip(group, pieces, hidden, strict=True):
                    ends = np.minimum(np.cumsum([0, *map(len, own)]), room - 1) + 1
                    places = [place for place, _ in examples[number].senses]
                    found[number] = np.array([row[ends[place] : max(ends[place + 1], ends[place] + 1)].mean(0) for place in places])
                advance(len(group))
        return iter(found)

    def predict(self, examples: Sequence[SenseSentence]) -> list[list[str | None]]:
        """A sense for every word that asks for one; None where the lemma is new."""
        return [
            [self.nearest(example.lemmas[place], vector) for (place, _), vector in zip(example.senses, vectors, strict=True)]
            for example, vectors in zip(examples, self.word_vectors(examples), strict=True)
        ]

    def nearest(self, lemma: str, vector: np.ndarray) -> str | None:
        candidates = self.lemmas.get(lemma)
        return None if not candidates else self.senses[candidates[int((self.stored_vectors[candidates] @ vector).argmax())]]

    def most_frequent(self, lemma: str) -> str | None:
        candidates = self.lemmas.get(lemma)
        return None if not candidates else self.senses[max(candidates, key=self.counts.__getitem__)]

    def evaluate(self, examples: Sequence[SenseSentence]) -> dict[str, Any]:
        """F1 over all words that ask for a sense, and what always taking the most frequent one would give."""
        rows = list(zip(examples, self.predict(examples), strict=True))
        truth = [[set(sense.split(";")) for _, sense in example.senses] for example, _ in rows]
        asked = np.array([len(own) for own in truth])
        right = [sum(guess in own for guess, own in zip(guesses, wanted, strict=True)) for (_, guesses), wanted in zip(rows, truth, strict=True)]
        said = np.array([sum(guess is not None for guess in guesses) for _, guesses in rows])
        usual = [
            sum(self.most_frequent(example.lemmas[place]) in own for (place, _), own in zip(example.senses, wanted, strict=True))
            for (example, _), wanted in zip(rows, truth, strict=True)
        ]
        return {
            "f1": ratio(2 * np.array(right), asked + said),
            "most_frequent_f1": ratio(2 * np.array(usual), asked + said),
            "words": int(asked.sum()),
            "known_words": int(said.sum()),
        }

    def answer(self, text: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        """The senses of a word that stands between stars, nearest first; behind = its lemma, if that is another: *banks=bank*."""
        marked = MARKED.search(text)
        if marked is None:
            raise BadInput(f"no word is marked in {preview(text)}; put stars around one, as in the *bank* or the *banks=bank*")
        word, lemma = marked[1], (marked[2] or marked[1]).lower()
        candidates = [number for kind in KINDS for number in self.lemmas.get(f"{lemma}.{kind}", [])]
        if not candidates:
            raise BadInput(f"the training file had no sense of {preview(lemma)}; mark a word it had, with its lemma as in *banks=bank*")
        before, after = text[: marked.start()].split(), text[marked.end() :].split()
        words = (*before, word, *after)
        vector = next(self.word_vectors([SenseSentence(words, words, ((len(before), ""),))]))[0]
        near = self.stored_vectors[candidates] @ (vector / max(float(np.linalg.norm(vector)), 1e-12))
        found = [{"sense": self.senses[candidates[i]], "cosine": float(near[i])} for i in np.argsort(-near, kind="stable")]
        return {"text": text, "word": word, "label": found[0]["sense"], "senses": found}

    def index_metadata(self) -> dict[str, Any]:
        return {"senses": self.senses, "lemmas": self.lemmas, "counts": self.counts, "layers": self.layers}

    @classmethod
    def from_index(cls, encoder: Task, kept: Any, known: np.ndarray) -> Self:
        return cls(encoder, kept["senses"], kept["lemmas"], kept["counts"], known, kept.get("layers"))


def summed_layers(model: Any, batch: Batch, chosen: list[int] | None) -> torch.Tensor:
    """The sum of the vectors of some layers; if none were chosen, of the last blocks, which tell senses apart better than the last alone."""
    if chosen is None and not model.is_transformer:
        return model.encode(batch)
    layers = model.hidden_states(batch)
    kept = layers[-LAST:] if chosen is None else [layers[number] for number in chosen]
    return sum(kept[1:], kept[0])
