"""Pairs of sentences as batches for an encoder-decoder."""

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stairs.errors import BadInput
from stairs.progress import say
from stairs.tasks.parts.stream import TextStatistics
from stairs.text.batch import Batch, next_token_batch, pad_rows
from stairs.text.examples import TranslationPair
from stairs.text.tokenizers.bulk_tokenization import BulkEncoder
from stairs.text.tokenizers.tokenizer import Tokenizer


class TranslationRows:
    """What training goes through: source and target ids of each pair that fits into the context."""

    def __init__(self, examples: Sequence[TranslationPair], tokenizer: Tokenizer, context: int) -> None:
        self.tokenizer = tokenizer
        sources, targets = (tokenizer.encode_batch([getattr(example, side) for example in examples]) for side in ("source", "target"))
        fitting = [
            i for i, (source, target) in enumerate(zip(sources, targets, strict=True)) if 0 < len(source) <= context - 2 and len(target) < context
        ]
        if len(fitting) < len(examples):
            say(f"{len(examples) - len(fitting)} of {len(examples)} pairs are empty or longer than {context} tokens, and left out")
        if not fitting:
            raise BadInput(f"all {len(examples)} pairs are empty or longer than {context} tokens; give shorter ones, or a larger --context")
        self.examples = [examples[i] for i in fitting]
        self.rows = [(sources[i], targets[i]) for i in fitting]
        self.lengths = np.array([len(source) + len(target) + 3 for source, target in self.rows], np.int64)

    @functools.cached_property
    def target_statistics(self) -> TextStatistics:
        """What bits per character must know of the targets."""
        targets = [example.target for example in self.examples]
        encoded = BulkEncoder(self.tokenizer).encode_documents([[target] for target in targets])
        return TextStatistics(sum(len(target) + 1 for target in targets), encoded.spelling_bits, encoded.unknown_words)

    def batch(self, numbers: Sequence[int] | np.ndarray, epoch: int = 0, seed: int = 0) -> Batch:
        tokenizer = self.tokenizer
        batch = next_token_batch([self.rows[n][1] for n in numbers], tokenizer.begin, tokenizer.end, tokenizer.pad)
        return replace(batch, source=source_batch([self.rows[n][0] for n in numbers], tokenizer))


def source_batch(sources: Sequence[Sequence[int]], tokenizer: Tokenizer) -> Batch:
    """[CLS] source [SEP], as every task reads a text."""
    return Batch(*pad_rows([[tokenizer.begin, *ids, tokenizer.end] for ids in sources], tokenizer.pad))
