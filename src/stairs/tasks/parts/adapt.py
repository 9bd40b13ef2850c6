"""Continued pretraining on the texts of labelled examples, before the task itself is learnt.

Gururangan et al. 2020, "Don't Stop Pretraining": an encoder that has read the task's texts, without their labels, learns the task better. A BERT
continues with masked words, models that read from left to right with the next token; each text is a row of its own.

Departures: a BERT without a layer that predicts words gets a new one; the next sentence is not predicted, since texts are single.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from stairs.data import TrainingData
from stairs.errors import Unsupported
from stairs.models.base import Model
from stairs.models.bert import BERT
from stairs.models.transfer_options import TransferOptions
from stairs.randomness import numpy_generator
from stairs.tasks.bidirectional import BidirectionalLM
from stairs.tasks.masked_token import MaskedToken
from stairs.tasks.measurements import Measurements, map_interval
from stairs.tasks.metrics import ratio
from stairs.tasks.next_token import NextToken
from stairs.tasks.parts.fine_tuning import TrainingDefaults, default_learning_rate
from stairs.tasks.parts.labelled_splits import labelled_data
from stairs.tasks.parts.masking import Masker, collate_pairs
from stairs.tasks.task import Task, TrainingExamples
from stairs.text.batch import Batch, next_token_batch
from stairs.text.examples import Example, example_texts
from stairs.text.tokenizers.tokenizer import Tokenizer

TEXTS_PER_BATCH = 64  # in evaluation
BATCH = 32  # texts, in training
DEFAULT_LENGTH = 512  # tokens of a row, for models that read any number


def unique_texts(examples: Sequence[Example]) -> list[str]:
    """Each text of the examples once, in order."""
    return list(dict.fromkeys(text for example in examples for text in example_texts(example)))


def known_words(examples: Sequence[Example], tokenizer: Tokenizer) -> list[str]:
    """The tokens that the texts of the examples have, for which a BiLSTM learns vectors."""
    return sorted({tokenizer.token(i) for ids in tokenizer.encode_batch(unique_texts(examples)) for i in ids})


class TextRows:
    """What training goes through: a row for each text, or several for a long one."""

    def __init__(self, texts: Sequence[str], model: Model, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        size = (model.reads_at_most or DEFAULT_LENGTH) - 2
        parts = (ids[at : at + size] for ids in tokenizer.encode_batch(list(texts)) for at in range(0, len(ids), size))
        self.rows = [np.array(ids, np.int64) for ids in parts]
        self.lengths = np.array([len(row) + 2 for row in self.rows], np.int64)
        self.masker = Masker(model.config, tokenizer) if isinstance(model, BERT) else None

    def batch(self, numbers: np.ndarray, epoch: int, seed: int, evaluating: bool = False) -> Batch:
        if self.masker is None:
            return next_token_batch([self.rows[n] for n in numbers], self.tokenizer.begin, self.tokenizer.end, self.tokenizer.pad)
        masker = self.masker
        rows = [masker.mask(masker.row([self.rows[n]]), numpy_generator(seed, "texts", epoch, int(n)), evaluating) for n in numbers]
        return collate_pairs(rows, self.tokenizer.pad)


class ContinuedPretraining(Task):
    """Training starts from the weights of a run, and reads labelled examples without their labels."""

    @property
    def training_defaults(self) -> TrainingDefaults:  # type: ignore[override]
        return {"epochs": 10.0, "batch_examples": BATCH, "min_updates": 0}

    def start(self, seed: int, examples: TrainingExamples | None = None) -> None:
        """The weights stay."""

    @property
    def learning_rate(self) -> float:
        return 2 * default_learning_rate(self.model, TransferOptions())

    def count_positions(self, data: TrainingData, split: str = "validation") -> int:
        return int(self.examples(data, split).lengths.sum())

    def examples(self, data: TrainingData, split: str = "train") -> TextRows:
        return TextRows(unique_texts(labelled_data(data).split(split)), self.model, self.tokenizer)


class AdaptMasked(ContinuedPretraining, MaskedToken):
    """By masked words."""

    def evaluate_split(self, data: TrainingData, split: str = "validation", limit: int | None = None) -> Measurements:
        return self.evaluate_rows(self.examples(data, split), limit)


class AdaptNext(ContinuedPretraining, NextToken):
    """By the next token."""

    @torch.no_grad()
    def evaluate_split(self, data: TrainingData, split: str = "validation", limit: int | None = None) -> Measurements:
        rows = self.examples(data, split)
        device = next(self.model.parameters()).device
        groups = np.array_split(np.argsort(rows.lengths), -(-len(rows.lengths) // TEXTS_PER_BATCH))
        batches = (self.add_characters(rows.batch(group, 0, 0)).to(device) for group in groups)
        nll = np.concatenate([-self.model.log_likelihood(batch).double().sum(1).cpu().numpy() for batch in batches])
        tokens = np.concatenate([rows.lengths[group] - 1 for group in groups])
        bits_per_token = ratio(nll / math.log(2), tokens)
        factor = int(tokens.sum()) / max(sum(map(len, unique_texts(labelled_data(data).split(split)))), 1)
        return {
            "bits_per_character": map_interval(lambda value: value * factor, bits_per_token),
            "perplexity": map_interval(lambda value: 2.0**value, bits_per_token),
            "tokens": int(tokens.sum()),
        }


class AdaptBidirectional(AdaptNext, BidirectionalLM):
    """By the next token and the one before."""


def adaptation_task(source: Task) -> Task:
    """The model and tokenizer of a run, to be trained further by `fit`."""
    model = source.model
    if isinstance(model, BERT):
        return AdaptMasked(with_word_head(model), source.tokenizer)
    if model.learns_by == "gradient" and model.pretrains_with == NextToken.name:
        return AdaptNext(model, source.tokenizer)
    if model.pretrains_with == BidirectionalLM.name:
        return AdaptBidirectional(model, source.tokenizer)
    raise Unsupported(f"{model.name} cannot learn more from single texts; leave out --adapt, or train it on more text with stairs train --init-from")


def with_word_head(model: BERT) -> BERT:
    """With a layer that predicts words."""
    if model.word_head is not None:
        return model
    extended = BERT(replace(model.config, output_heads=(*(model.config.output_heads or ()), "words")))
    extended.load_state_dict(model.state_dict(), strict=False)
    return extended.eval()
