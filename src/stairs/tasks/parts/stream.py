"""A text as one long stream of ids, cut into rows as long as the model's context: how language models are trained and evaluated from left to right.

In the shards [CLS] ends the last sentence of a document and begins the next document; the last one of all begins the first: the stream is a ring. As
input, [CLS] is the beginning of a document; as a target, it is the [SEP] that ends a sentence, so that the same tokens are predicted as by n-grams.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput
from stairs.fast.corpus_slice import token_counts
from stairs.models.base import Model
from stairs.randomness import derive_seed
from stairs.tasks.measurements import LanguageModelMetrics, map_interval
from stairs.tasks.metrics import ratio
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.sentences import split_sentences
from stairs.text.shards import Shards
from stairs.text.tokenizers.bulk_tokenization import BulkEncoder
from stairs.text.tokenizers.tokenizer import Tokenizer

DEFAULT_ROW = 128  # tokens, for models that read only the last few of them
POSITIONS = 8192  # in a batch


def row_length(model: Model) -> int:
    return model.config.context or DEFAULT_ROW


def memory_length(model: Model) -> int:
    """Tokens before a row that a model with a memory reads."""
    return max((model.reads_at_most or 0) - row_length(model), 0)


class StreamExamples:
    """Rows of a split; where they are cut changes with the epoch. Each is preceded and followed by some tokens that are input and no target."""

    def __init__(self, shards: Shards, split: str, context: int, before: int = 0, after: int = 0) -> None:
        self.ids, self.context, self.before, self.after = shards.ids(split), context, before, after
        if len(self.ids) <= context:
            raise BadInput(
                f"the {split} split of the corpus has {len(self.ids)} tokens, no more than the context of {context}; "
                f"give a longer text or train with --context {max(len(self.ids) // 4, 1)}"
            )
        if before and not after and len(self.ids) <= before + context:  # the stream is a ring, and a longer memory would hold the row itself
            raise BadInput(
                f"the {split} split of the corpus has {len(self.ids)} tokens, no more than a memory of {before} and a context of {context}; "
                "give a longer text or a smaller --memory"
            )
        self.lengths = np.full(len(self.ids) // context, context, np.int64)

    def batch(self, numbers: np.ndarray, epoch: int, seed: int) -> Batch:
        """The same for the same arguments."""
        offset = derive_seed(seed, "rows", epoch) % self.context
        positions = offset + np.asarray(numbers)[:, None] * self.context + np.arange(-self.before, self.context + self.after + 1)
        stream = torch.from_numpy(self.ids[positions % len(self.ids)].astype(np.int64))
        ids, targets = stream[:, :-1].contiguous(), as_targets(stream[:, 1:])
        targets[:, : self.before] = targets[:, self.before + self.context :] = IGNORE_INDEX
        return Batch(ids, torch.ones_like(ids, dtype=torch.bool), targets)


@dataclass(frozen=True)
class TextStatistics:
    """What bits per character must know of a text besides the bits of its tokens."""

    characters: int
    spelling_bits: float  # to spell words outside the vocabulary
    unknown_words: int
    spacing_bits: float = 0.0  # to put back the spaces that the tokenizer drops

    @classmethod
    def of_split(cls, shards: Shards, split: str) -> "TextStatistics":
        info = shards.info(split)
        return cls(int(info["characters"]), info["spelling_bits"], int(info["unknown_words"]), info["spacing_bits"])

    def with_unknown(self, bits: float, words: int) -> "TextStatistics":
        """With further words that must be spelt."""
        return replace(self, spelling_bits=self.spelling_bits + bits, unknown_words=self.unknown_words + words)


def encode_documents(tokenizer: Tokenizer, documents: Iterable[str]) -> tuple[np.ndarray, TextStatistics]:
    """The ids of any text, as its shards would hold them."""
    split = [sentences for sentences in map(split_sentences, documents) if sentences]
    if not split:
        raise BadInput("there is no text to score; give a file with text")
    encoded = BulkEncoder(tokenizer).encode_documents(split)
    characters = sum(len(sentence) + 1 for sentences in split for sentence in sentences)
    return encoded.ids, TextStatistics(characters, encoded.spelling_bits, encoded.unknown_words, encoded.spacing_bits)


def as_targets(following: Tensor) -> Tensor:
    return following.masked_fill(following == Tokenizer.begin, Tokenizer.end)


@torch.no_grad()
def bits_of_rows(
    model: Model, ids: np.ndarray, limit: int | None = None, add_characters: Callable[[Batch], Batch] = lambda batch: batch, **options: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Bits and tokens of each row of a held-out stream. Rows overlap by half, so that every token is predicted from at least half a context; those of
    a model with a memory by the memory, so that it is predicted from at least that. With a `limit`, about so many positions are computed, spread
    evenly. The `options` go to the model's `log_likelihood`."""
    context = row_length(model)
    stride = max(context // 2, 1)
    if model.reads_at_most is None:  # any length will do: in longer rows a smaller part is read twice
        context, stride = 4 * context, 4 * context - stride
    elif memory_length(model):
        context, stride = context + memory_length(model), context
    rows = np.arange(1 + max(0, -(-(len(ids) - context) // stride)))
    if limit is not None and len(rows) * context > limit:
        rows = np.unique(np.linspace(0, len(rows) - 1, max(limit // context, 1)).astype(np.int64))
    device = next(model.parameters()).device
    bits, tokens = [], []
    for group in np.array_split(rows, -(-len(rows) * context // POSITIONS)):
        batch = overlapping_batch(ids, group, context, stride)
        assert batch.targets is not None
        log_likelihood = model.log_likelihood(add_characters(batch).to(device), **options).float().cpu()
        bits.append(-log_likelihood.sum(1).double().numpy() / math.log(2))
        tokens.append((batch.targets != IGNORE_INDEX).sum(1).numpy())
    return np.concatenate(bits), np.concatenate(tokens)


def overlapping_batch(ids: np.ndarray, rows: np.ndarray, context: int, stride: int) -> Batch:
    """Rows of `context` ids, the first of which is [CLS]; the targets of each row after the first are those that the row before did not have."""
    positions = rows[:, None] * stride + np.arange(-1, context)  # in the stream; a document begins before its first id
    outside = np.where(positions < 0, Tokenizer.begin, Tokenizer.pad)
    is_inside = (positions >= 0) & (positions < len(ids))
    stream = torch.from_numpy(np.where(is_inside, ids[np.where(is_inside, positions, 0)].astype(np.int64), outside))
    real = torch.from_numpy(positions[:, :-1] < len(ids))
    has_target = torch.from_numpy(is_inside[:, 1:] & ((rows[:, None] == 0) | (np.arange(context) >= context - stride)))
    return Batch(stream[:, :-1].contiguous(), real, as_targets(stream[:, 1:]).masked_fill(~has_target, IGNORE_INDEX))


def language_model_metrics(bits: np.ndarray, tokens: np.ndarray, text: TextStatistics, all_tokens: int | None = None) -> LanguageModelMetrics:
    """Bits per character count every character of the raw text once, so that models with different tokenizers can be compared: a word outside the
    vocabulary costs what [UNK] costs, and its spelling; spaces that the tokenizer drops cost what it takes to put them back. With `all_tokens`, the
    rows are a sample of so many."""
    bits_per_token = ratio(bits, tokens)
    count = int(tokens.sum()) if all_tokens is None else all_tokens
    total = bits_per_token["value"] * count
    factor = (total + text.spelling_bits + text.spacing_bits) / max(total, 1e-9) * count / text.characters
    return {
        "bits_per_character": map_interval(lambda value: float(value * factor), bits_per_token),
        "perplexity": map_interval(lambda value: 2.0**value, bits_per_token),
        "tokens": count,
        "characters": text.characters,
        "unknown_words": text.unknown_words,
    }


def unigram_bits(shards: Shards) -> float:
    """Bits per character of the test text by token frequencies alone: a model that learnt something needs fewer."""
    tokens = shards.ids("test").astype(np.int64)
    counts = token_counts(shards.ids("train"), shards.tokenizer.vocab_size) + 0.5
    bits = -np.log2(counts / counts.sum())[tokens]
    text = TextStatistics.of_split(shards, "test")
    return language_model_metrics(np.array([bits.sum()]), np.array([len(tokens)]), text)["bits_per_character"]["value"]
