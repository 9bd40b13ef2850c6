"""Pairs of a source and a target as rows of a masked language model (Dong et al. 2019, UniLM): [CLS] source [SEP] target [SEP].

Words of the target are masked, its [SEP] like any other, and each is predicted from the source and the part of the target before it. As in the paper
the share of masked words is larger than in pretraining. Which ones are masked follows from (seed, epoch, example).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stairs.errors import BadInput
from stairs.fast.masked_decoder import SOURCE
from stairs.models.settings import UniLMConfig
from stairs.progress import say
from stairs.randomness import numpy_generator
from stairs.tasks.parts.masking import Masker, MaskingExample, collate_pairs
from stairs.tasks.parts.other_objectives import prefix_attention_mask
from stairs.text.batch import Batch
from stairs.text.examples import TranslationPair
from stairs.text.tokenizers.tokenizer import Tokenizer

TARGET_MASK_PROB = 0.7  # of the words of a target, as the paper has it for summaries


class SourceTargetRows:
    """The pairs that fit into the context."""

    def __init__(self, examples: Sequence[TranslationPair], config: UniLMConfig, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.masker = Masker(replace(config, mask_prob=TARGET_MASK_PROB), tokenizer, TARGET_MASK_PROB)
        sources, targets = (tokenizer.encode_batch([getattr(example, side) for example in examples]) for side in ("source", "target"))
        pairs = [(np.array(source, np.int64), np.array(target, np.int64)) for source, target in zip(sources, targets, strict=True)]
        self.pairs = [(own, target) for own, target in pairs if len(own) and len(target) and len(own) + len(target) + 3 <= config.context]
        if len(self.pairs) < len(pairs):
            say(f"{len(pairs) - len(self.pairs)} of {len(pairs)} pairs are empty or longer than {config.context} tokens together, and left out")
        if not self.pairs:
            problem = f"all {len(pairs)} pairs are empty or longer than {config.context} tokens together"
            raise BadInput(f"{problem}; give shorter ones, or a larger --context")
        self.lengths = np.array([len(source) + len(target) + 3 for source, target in self.pairs], np.int64)

    def batch(self, numbers: np.ndarray, epoch: int, seed: int, evaluating: bool = False) -> Batch:
        rows = [self.example(int(n), numpy_generator(seed, "pairs", epoch, int(n)), evaluating) for n in numbers]
        return collate_pairs(rows, self.tokenizer.pad)

    def example(self, n: int, random: np.random.Generator, evaluating: bool = False) -> MaskingExample:
        row = self.masker.row(list(self.pairs[n]))
        row.attention_mask = prefix_attention_mask(row)
        row.words[-1] = row.words.max() + 1
        row.words[row.segments == 0] = -1
        row.segments = row.segments + SOURCE
        return self.masker.mask(row, random, evaluating)

    @property
    def target_ids(self) -> np.ndarray:
        return np.concatenate([target for _, target in self.pairs])
