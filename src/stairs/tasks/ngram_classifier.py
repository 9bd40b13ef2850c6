"""NGramClassifier: one n-gram model for each label; Bayes' rule turns P(text | label) into P(label | text)."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Self, cast

import numpy as np

from stairs.fast.ngram_trie import Trie
from stairs.models.settings import NGramConfig, saved_config
from stairs.tasks.classifier import Classifier, labels_of, softmax
from stairs.tasks.config_file import CONFIG, WEIGHTS, TaskConfig
from stairs.tasks.parts.saved_arrays import arrays_with_prefix, load_arrays
from stairs.text.batch import IGNORE_INDEX
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.spaced_chunks import SpacedChunks, has_spaced_chunks
from stairs.text.tokenizers.tokenizer import Tokenizer


class NGramClassifier(Classifier):
    """argmax over labels of log P(label) + log P(text | label). There is a trie for each label, all of one config."""

    name = "classify-ngram"
    model_name = "ngram"
    has_model = False
    tries_per_label = 1

    def __init__(self, tries: list[Trie], config: NGramConfig, tokenizer: Tokenizer, labels: list[str], priors: list[float]) -> None:
        self.tries, self.config, self.tokenizer, self.labels, self.priors = tries, config, tokenizer, labels, priors
        if not len(tries) == len(priors) == self.tries_per_label * len(labels):
            raise ValueError(f"{len(tries)} models and {len(priors)} priors for {len(labels)} labels")

    @classmethod
    def train(cls, examples: Sequence[LabelledText], tokenizer: Tokenizer, order: int = 3) -> Self:
        labels = labels_of(examples)
        encoded = tokenizer.encode_batch([example.text for example in examples])
        config = NGramConfig(**tokenizer.vocabulary_settings, order=order)
        tries, priors = [], []
        for label in labels:
            rows = [ids for ids, example in zip(encoded, examples, strict=True) if example.label == label]
            tries.append(estimate_trie(rows, config, tokenizer.end))
            priors.append(math.log(len(rows) / len(examples)))
        return cls(tries, config, tokenizer, labels, priors)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return softmax(self.scores(texts))

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """The logarithm of the prior times the likelihood of each text, (N, tries). All texts are one row: what precedes [CLS] is in no n-gram, so
        each text starts anew there."""
        begin, end = self.tokenizer.begin, self.tokenizer.end
        numbers, lengths = self.number_texts(texts)
        starts = np.cumsum(lengths) - lengths  # of the texts
        ids, targets = np.insert(numbers, starts, begin), np.insert(numbers, starts + lengths, end)
        first = starts + np.arange(len(texts))
        likelihoods = [np.add.reduceat(trie.log_likelihood(ids[None], targets[None], IGNORE_INDEX)[0][0], first) for trie in self.tries]
        scores: np.ndarray = np.stack(likelihoods, 1) + np.array(self.priors)
        return scores

    def number_texts(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The ids of all texts, one after another, and how many each text has."""
        if has_spaced_chunks(self.tokenizer, texts):
            return self.chunks.number_texts(texts)
        rows = self.tokenizer.encode_batch(list(texts))
        return np.array([i for row in rows for i in row], np.int64), np.array([len(row) for row in rows], np.int64)

    @cached_property
    def chunks(self) -> SpacedChunks:
        return SpacedChunks(self.tokenizer.encode)

    def describe(self) -> TaskConfig:
        return {**super().describe(), "priors": self.priors, "config": asdict(self.config)}

    def save(self, folder: Path) -> None:
        self.write(folder, {f"{i}.{name}": array for i, trie in enumerate(self.tries) for name, array in trie.arrays().items()})

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        config = cast(NGramConfig, saved_config("ngram", described["config"], folder / CONFIG))
        arrays = load_arrays(folder / WEIGHTS)
        count = cls.tries_per_label * len(described["labels"])
        tries = [Trie.from_saved(arrays_with_prefix(arrays, f"{i}."), config.order, config.vocab_size) for i in range(count)]
        return cls(tries, config, Tokenizer.load(folder), described["labels"], described["priors"])


def estimate_trie(rows: Sequence[Sequence[int]], config: NGramConfig, end: int) -> Trie:
    """Of texts as ids."""
    from stairs.models.ngram import NGram  # only an answer goes without torch

    model = NGram(config)
    # Every label allows the same words, or a word that occurs under one label only would decide by itself.
    model.count(np.array([i for row in rows if row for i in (*row, end)], np.uint32), closed=True)
    return model.trie
