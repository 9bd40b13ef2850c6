"""A text as one long row of ids, read in rows of the model's context: how neural models learn and are judged left to right.

In the shards [CLS] closes the last sentence of a document and begins the next one; the last of all begins the first: the stream is a ring. Read,
it is the begin of a document; asked for, it is the [SEP] that ends the sentence, so that the same tokens are judged as by counting.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from stairs.errors import BadInput
from stairs.models.base import Model
from stairs.randomness import derive_seed
from stairs.tasks.metrics import ratio
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.sentences import split_sentences
from stairs.text.shards import Shards
from stairs.text.tokenizers.bulk_encoding import BulkEncoder, EncodedDocuments
from stairs.text.tokenizers.tokenizer import Tokenizer

ROW = 128  # tokens in a row, for models that see only the last few of them
POSITIONS = 8192  # judged at once


def row_length(model: Model) -> int:
    return model.config.context or ROW


class StreamExamples:
    """Rows of a split; where they are cut changes with the epoch. `burn_in` tokens before and behind each are there to be read, and not asked for."""

    def __init__(self, shards: Shards, split: str, context: int, burn_in: int = 0) -> None:
        self.ids, self.context, self.burn_in = shards.ids(split), context, burn_in
        if len(self.ids) <= context:
            raise BadInput(
                f"the {split} part of the corpus has {len(self.ids)} tokens, no more than the context of {context}; "
                f"give a longer text or train with --context {max(len(self.ids) // 4, 1)}"
            )
        self.lengths = np.full(len(self.ids) // context, context, np.int64)

    def batch(self, numbers: np.ndarray, epoch: int, seed: int) -> Batch:
        """The same for the same arguments, always."""
        offset = derive_seed(seed, "rows", epoch) % self.context
        places = offset + np.asarray(numbers)[:, None] * self.context + np.arange(-self.burn_in, self.context + self.burn_in + 1)
        found = torch.from_numpy(self.ids[places % len(self.ids)].astype(np.int64))
        ids, targets = found[:, :-1].contiguous(), as_targets(found[:, 1:])
        targets[:, : self.burn_in] = targets[:, self.context + self.burn_in :] = IGNORE_INDEX
        return Batch(ids, torch.ones_like(ids, dtype=torch.bool), targets)


def encode_documents(tokenizer: Tokenizer, documents: Iterable[str]) -> tuple[EncodedDocuments, int]:
    """Any text as the shards would hold it, and the number of its characters."""
    cut = [pieces for pieces in map(split_sentences, documents) if pieces]
    if not cut:
        raise BadInput("there is no text to score; give a file with text")
    return BulkEncoder(tokenizer).encode_documents(cut), sum(len(sentence) + 1 for pieces in cut for sentence in pieces)


def as_targets(following: torch.Tensor) -> torch.Tensor:
    return following.masked_fill(following == Tokenizer.begin, Tokenizer.end)


@torch.no_grad()
def bits_of_rows(
    model: Model, ids: np.ndarray, limit: int | None = None, add_characters: Callable[[Batch], Batch] = lambda batch: batch, **how: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Bits and tokens of each row of a held-out stream. Rows overlap by half, so that every token is judged with at least half a context
    before it. With `most`, about so many positions are judged, spread evenly. The model's `log_likelihood` is told `how`."""
    context = row_length(model)
    half = max(context // 2, 1)
    if model.reads_at_most is None:  # it reads on: longer rows, of which a smaller part is read twice
        context, half = 4 * context, 4 * context - half
    rows = np.arange(1 + max(0, -(-(len(ids) - context) // half)))
    if limit is not None and len(rows) * context > limit:
        rows = np.unique(np.linspace(0, len(rows) - 1, max(limit // context, 1)).astype(np.int64))
    device = next(model.parameters()).device
    bits, tokens = [], []
    for group in np.array_split(rows, -(-len(rows) * context // POSITIONS)):
        batch = overlapping_batch(ids, group, context, half)
        scores = model.log_likelihood(add_characters(batch).to(device), **how).float().cpu()
        bits.append(-scores.sum(1).double().numpy() / math.log(2))
        tokens.append((batch.targets != IGNORE_INDEX).sum(1).numpy())  # type: ignore[union-attr]
    return np.concatenate(bits), np.concatenate(tokens)


def overlapping_batch(ids: np.ndarray, rows: np.ndarray, context: int, half: int) -> Batch:
    """Rows of `context` ids, the first [CLS]; each after the first asks only for what the one before it did not reach."""
    places = rows[:, None] * half + np.arange(-1, context)  # of the ids; before the first a document begins
    outside = np.where(places < 0, Tokenizer.begin, Tokenizer.pad)
    inside = (places >= 0) & (places < len(ids))
    stream = torch.from_numpy(np.where(inside, ids[np.where(inside, places, 0)].astype(np.int64), outside))
    real = torch.from_numpy(places[:, :-1] < len(ids))
    wanted = torch.from_numpy(inside[:, 1:] & ((rows[:, None] == 0) | (np.arange(context) >= context - half)))
    return Batch(stream[:, :-1].contiguous(), real, as_targets(stream[:, 1:]).masked_fill(~wanted, IGNORE_INDEX))


def language_model_metrics(
    bits: np.ndarray, tokens: np.ndarray, *, characters: int, spelling_bits: float, unknown_words: int, spacing_bits: float = 0.0,
    all_tokens: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Bits per character counts every character of the raw text once, so steps with different tokenizers can be compared: a word outside
    the vocabulary costs what the unknown word costs, and its spelling, and spaces that the tokenizer drops cost what it takes to put them back. With
    `all_tokens`, the rows are a sample of as many."""
    per_token = ratio(bits, tokens)
    count = int(tokens.sum()) if all_tokens is None else all_tokens
    whole = per_token["value"] * count
    factor = (whole + spelling_bits + spacing_bits) / max(whole, 1e-9) * count / characters
    return {
        "bits_per_character": {bound: float(value * factor) for bound, value in per_token.items()},
        "perplexity": {bound: 2.0**value for bound, value in per_token.items()},
        "tokens": count,
        "characters": characters,
        "unknown_words": unknown_words,
    }
