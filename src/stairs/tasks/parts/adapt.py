"""Going on with pretraining on the task's own texts, before the task itself is learnt.

Gururangan et al. 2020, "Don't Stop Pretraining": an encoder that has read the task's texts, without their labels, learns the task better.
A BERT goes on with words left out, steps that read from left to right with the next token; each text is a row of its own.

Departures: a BERT that came without the layer that names words gets a new one; a next sentence is not asked for, since texts are single.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from stairs.errors import Unsupported
from stairs.models.base import Model
from stairs.models.bert import BERT
from stairs.models.transfer_options import TransferOptions
from stairs.randomness import numpy_generator
from stairs.tasks.bidirectional import BidirectionalLM
from stairs.tasks.masked_token import MaskedToken
from stairs.tasks.metrics import ratio
from stairs.tasks.next_token import NextToken
from stairs.tasks.parts.fine_tuning import default_learning_rate
from stairs.tasks.parts.masking import Masker
from stairs.tasks.parts.sentence_pairs import collate_pairs
from stairs.tasks.task import Task
from stairs.text.batch import Batch, next_token_batch
from stairs.text.examples import Example, LabelledText, Question, TaggedSentence, TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer

TEXTS_PER_BATCH = 64  # texts judged
BATCH = 32


def unique_texts(examples: Sequence[Example]) -> list[str]:
    """Each text once, in order."""
    return list(dict.fromkeys(text for example in examples for text in texts_in(example)))


def texts_in(example: Example) -> Iterator[str]:
    match example:
        case LabelledText(text=text):
            yield text
        case TextPair(first=first, second=second):
            yield from (first, second)
        case TaggedSentence(words=words):
            yield " ".join(words)
        case Question(question=question, passage=passage):
            yield from (question, passage)


class TextRows:
    """What training goes through: each text a row, a longer one several."""

    def __init__(self, texts: Sequence[str], model: Model, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        room = (model.reads_at_most or 512) - 2
        cut = (ids[at : at + room] for ids in tokenizer.encode_batch(list(texts)) for at in range(0, len(ids), room))
        self.rows = [np.array(ids, np.int64) for ids in cut]
        self.lengths = np.array([len(row) + 2 for row in self.rows], np.int64)
        self.masks = Masker(model.config, tokenizer) if isinstance(model, BERT) else None

    def batch(self, numbers: np.ndarray, epoch: int, seed: int, evaluating: bool = False) -> Batch:
        rows = [self.rows[n] for n in numbers]
        if self.masks is None:
            return next_token_batch(rows, self.tokenizer.begin, self.tokenizer.end, self.tokenizer.pad)
        drawn = (numpy_generator(seed, "texts", epoch, int(n)) for n in numbers)
        given = zip(rows, drawn, strict=True)
        return collate_pairs([self.masks.mask(self.masks.row([row]), random, evaluating) for row, random in given], self.tokenizer.pad)


class ContinuedPretraining(Task):
    """What both ways share: the weights are kept, and the labelled examples are read without their labels."""

    @property
    def training_defaults(self) -> dict[str, Any]:  # type: ignore[override]
        return {"epochs": 10.0, "batch_examples": BATCH}

    def start(self, seed: int, examples: Any = None) -> None:
        """The weights stay."""

    @property
    def learning_rate(self) -> float:
        return 2 * default_learning_rate(self.model, TransferOptions())

    def count_positions(self, shards: Any, split: str = "validation") -> int:
        return int(self.examples(shards, split).lengths.sum())

    def examples(self, shards: Any, split: str = "train") -> Any:
        return TextRows(unique_texts(shards.split(split)), self.model, self.tokenizer)


class AdaptMasked(ContinuedPretraining, MaskedToken):
    """By words left out."""

    def evaluate_split(self, shards: Any, split: str = "validation", limit: int | None = None) -> dict[str, Any]:
        return self.evaluate_examples(self.examples(shards, split), limit)


class AdaptNext(ContinuedPretraining, NextToken):
    """By what comes next."""

    @torch.no_grad()
    def evaluate_split(self, shards: Any, split: str = "validation", limit: int | None = None) -> dict[str, Any]:
        given = self.examples(shards, split)
        device = next(self.model.parameters()).device
        groups = np.array_split(np.argsort(given.lengths), -(-len(given.lengths) // TEXTS_PER_BATCH))
        batches = (self.add_characters(given.batch(group, 0, 0)).to(device) for group in groups)
        nats = np.concatenate([-self.model.log_likelihood(batch).double().sum(1).cpu().numpy() for batch in batches])
        tokens = np.concatenate([given.lengths[group] - 1 for group in groups])
        per_token = ratio(nats / math.log(2), tokens)
        characters = sum(map(len, unique_texts(shards.split(split))))
        factor = int(tokens.sum()) / max(characters, 1)
        bits = {bound: value * factor for bound, value in per_token.items()}
        return {"bits_per_character": bits, "perplexity": {bound: 2.0**value for bound, value in per_token.items()}, "tokens": int(tokens.sum())}


class AdaptBidirectional(AdaptNext, BidirectionalLM):
    """By what comes next and what came before."""


def adaptation_task(source: Task) -> Task:
    """A run's model and tokenizer, to be trained further by `fit`."""
    model = source.model
    if isinstance(model, BERT):
        return AdaptMasked(with_word_head(model), source.tokenizer)
    if model.learns_by == "gradient" and model.pretrains_with == NextToken.name:
        return AdaptNext(model, source.tokenizer)
    if model.pretrains_with == BidirectionalLM.name:
        return AdaptBidirectional(model, source.tokenizer)
    raise Unsupported(f"{model.name} cannot learn more from single texts; leave out --adapt, or train it on more text with stairs train --init-from")


def with_word_head(model: BERT) -> BERT:
    """With a layer that names words."""
    if model.word_head is not None:
        return model
    grown = BERT(replace(model.config, output_heads=(*(model.config.output_heads or ()), "words")))
    grown.load_state_dict(model.state_dict(), strict=False)
    return grown.eval()
