"""Transformer: a sentence in, its translation out, by attention alone.

Vaswani et al. 2017, "Attention Is All You Need":

    encoder   x = sqrt(D) tokens(source) + waves;  x = norm(x + attention(x)), norm(x + feed_forward(x))
    decoder   y = sqrt(D) tokens(said) + waves;    y = norm(y + attention(y)), each position looks only back;
                                                   y = norm(y + attention(y, x)), at all of the source; norm(y + feed_forward(y))
    p(next) = softmax(y tokens^T)                  one table of tokens for all three; learnt with smoothed labels

Departures: heads begin by looking at neighbours (`layers/local_heads.py`), and weights by a normal distribution whose deviation is 1 / sqrt of
their inputs; the norm stands before each sublayer, with one more at the end, except in the size of the paper or with `--norm-first False`;
attention drops out weights, too, as most code does; with norms before the sublayers, predictions begin at the unigram distribution of the target
language. The weights that did best are kept, where the paper averages its last checkpoints, and a beam divides by length in another way
(`tasks/parts/decoding.py`).
Except in `--size paper`, the optimizer is AdamW with betas of 0.9 and 0.95 and a rate that falls to zero along a straight line, since a training
here knows when it will end. `paper` has the paper's Adam and its rate for a width of 512, whatever `--width` is, but batches of 2048 tokens
instead of 25,000 of either language.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from stairs.fast.decode_state import BeamCache, SourceCache
from stairs.layers.block import Block
from stairs.layers.dropout import Dropout
from stairs.layers.initial import fold_in_bias, initialize
from stairs.layers.local_heads import causal_offset, cross_offset, init_local_heads_sinusoidal, neighbour_offset
from stairs.layers.masks import causal, padding
from stairs.layers.positions import SinusoidalPositions
from stairs.models.base import record_outputs
from stairs.models.language_model import EncoderDecoder
from stairs.models.settings import TransformerConfig
from stairs.text.batch import Batch

OFFSET = 1.0  # the bias with which the decoder's last norm begins


@dataclass
class DecoderState:
    """A sentence that is being said, after a while in several ways at once, as a beam does; the ways are positions of one row. `prefill` fills it
    further, so it is used once."""

    caches: list[BeamCache]  # of each block of the decoder
    memories: list[SourceCache]  # the source, as each of them keeps it
    ancestry: Tensor  # (B, K, T): which way each of the K had taken at each step so far


class Transformer(EncoderDecoder):
    """Blocks of attention that read, and blocks that say."""

    name = "transformer"
    is_transformer = True
    pools_special_tokens = True
    config: TransformerConfig

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        fastest = 2e-3 if config.norm_first else 1e-3
        self.learning_rate = fastest * min(1.0, 256 / config.width)  # wide models learn in smaller steps
        self.label_smoothing = config.label_smoothing
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.positions = SinusoidalPositions(config.context, config.width)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(self.block(has_cross_attention=False) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width) if config.norm_first else nn.Identity()
        self.decoder_blocks = nn.ModuleList(self.block(has_cross_attention=True) for _ in range(config.layers))
        self.decoder_norm = nn.LayerNorm(config.width) if config.norm_first else nn.Identity()
        self.output = None
        self.initialize(0)

    def block(self, has_cross_attention: bool) -> Block:
        config = self.config
        inner = config.feed_forward or 4 * config.width
        return Block(
            config.width, config.heads, inner, dropout=config.dropout, norm_first=config.norm_first, activation="relu",
                has_cross_attention=has_cross_attention
        )  # fmt: skip

    def initialize(self, seed: int) -> None:
        initialize(self, seed, None)
        init_local_heads_sinusoidal((cast(Block, block).attention for block in self.blocks), neighbour_offset)
        init_local_heads_sinusoidal((cast(Block, block).attention for block in self.decoder_blocks), causal_offset)
        init_local_heads_sinusoidal((cast(Block, block).cross_attention for block in self.decoder_blocks), cross_offset)

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        """As GPT: the bias that the output layer does not have is that of the norm below it; not with norms after the sum."""
        if isinstance(self.decoder_norm, nn.LayerNorm):
            self.decoder_norm.bias.fill_(OFFSET)
            fold_in_bias(self.tokens.weight, log_shares, OFFSET)

    def embedded(self, ids: Tensor, begin: int, end: int) -> Tensor:
        """Tokens at the places from `begin` to `end`; if that is one place, all of them stand there."""
        self.check_length(end)
        places = torch.arange(begin, end, device=ids.device)
        return self.dropout(self.tokens(ids) * math.sqrt(self.config.width) + self.positions(places))

    def encode(self, batch: Batch) -> Tensor:
        """What the encoder makes of each token, (B, S, D)."""
        x, mask = self.embedded(batch.ids, 0, batch.ids.shape[1]), padding(batch.real)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)

    def hidden(self, batch: Batch) -> Tensor:
        assert batch.source is not None
        memory, seen = self.encode(batch.source), padding(batch.source.real)
        length = batch.ids.shape[1]
        y, mask = self.embedded(batch.ids, 0, length), causal(length, batch.ids.device)
        for block in self.decoder_blocks:
            y = block(y, mask, memory, seen)
        return self.decoder_norm(y)

    def initial_state(self, source: Batch, rows: int = 1, length: int | None = None) -> DecoderState:
        config, read = self.config, self.encode(source)
        size = rows * (length or config.context)
        caches = [BeamCache(len(read), size, config.width, config.heads, read) for _ in self.decoder_blocks]
        memories = [cast(Block, block).cross_attention.source_cache(read, source.real) for block in self.decoder_blocks]
        past = torch.zeros(len(read), 1, 0, dtype=torch.int64, device=read.device)
        return DecoderState(caches, memories, past)

    @torch.no_grad()
    def decode_step(self, ids: Tensor, state: Any = None) -> tuple[Tensor, DecoderState]:
        sources, ways, length = state.ancestry.shape
        now = torch.arange(ways, device=ids.device).expand(sources, ways)[..., None]
        state.ancestry = torch.cat([state.ancestry, now], 2)
        y = self.embedded(ids.view(sources, ways), length, length + 1)
        for block, cache, memory in zip(self.decoder_blocks, state.caches, state.memories, strict=True):
            cache.ancestry = state.ancestry
            y = block(y, memory=memory, cache=cache)
        return self.logits(self.decoder_norm(y).flatten(0, 1)).float(), state

    def prefill(self, ids: Tensor, state: Any = None) -> tuple[Tensor, DecoderState]:
        for column in ids.unbind(1):
            logits, state = self.decode_step(column, state)
        return logits, state

    def reorder(self, state: DecoderState, rows: Tensor) -> DecoderState:
        before, ways, _ = state.ancestry.shape
        now = max(ways, len(rows) // before)  # more ways than before, or as many
        past = state.ancestry.flatten(0, 1)[rows].unflatten(0, (-1, now))
        sources = rows[::now] // ways
        for cache in state.caches:
            if now > ways:
                cache.expand(now // ways)
            if len(sources) < before:
                cache.reorder(sources)
        if len(sources) == before:
            return replace(state, ancestry=past)
        return DecoderState(state.caches, [memory.reorder(sources) for memory in state.memories], past)

    def alignment(self, batch: Batch) -> Tensor | None:
        """How much each step looked at each token of the source, (B, T, S): the mean of all heads in the last block but one, where it shows best."""
        block = cast(Block, self.decoder_blocks[max(len(self.decoder_blocks) - 2, 0)])
        with torch.no_grad():
            return record_outputs([block.cross_attention.weights], lambda: self.hidden(batch))[-1].mean(1)
