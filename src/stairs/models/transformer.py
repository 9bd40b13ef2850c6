"""Transformer: a sentence in, its translation out, by attention alone.

Vaswani et al. 2017, "Attention Is All You Need":

    encoder   x = sqrt(D) tokens(source) + positions;    x = norm(x + attention(x)), norm(x + feed_forward(x))
    decoder   y = sqrt(D) tokens(target) + positions;    y = norm(y + attention(y)), each position attends to itself and those before it;
                                                         y = norm(y + attention(y, x)), to all of the source; norm(y + feed_forward(y))
    p(next) = softmax(y tokens^T)                        one table of tokens for all three; trained with label smoothing

Departures: heads start by attending to neighbours (`layers/initial.py`), and weights are normal with a deviation of 1 / sqrt of their inputs;
the norm stands before each sublayer, with one more at the end, except in the size of the paper or with `--norm-first False`; attention weights have
dropout, too, as in most code; with norms before the sublayers, predictions start at the unigram distribution of the target language. The best
weights are kept, where the paper averages its last checkpoints, and beam search has another length penalty (`tasks/parts/decoding.py`).
Except in `--size paper`, the optimizer is AdamW with betas of 0.9 and 0.95 and a learning rate that falls linearly to zero, since the length of the
training is known; with `--budget` the matrices of the blocks are Muon's, and the blocks join one by one (`training/recipe.py`). `paper` has the
paper's Adam and its rate for a width of 512, whatever `--width` is, but batches of 2048 tokens instead of 25,000 of either language.
"""

import math
from typing import cast

import torch
from torch import Tensor, nn

from stairs.fast import beam_decoder
from stairs.fast.block import FastBlock
from stairs.fast.decode_state import DecodeState
from stairs.layers.capture import capture
from stairs.layers.dropout import Dropout
from stairs.layers.initial import causal_offset, cross_offset, fold_in_bias, init_local_heads_sinusoidal, initialize, neighbour_offset
from stairs.layers.masks import padding
from stairs.layers.positions import LearnedPositions, sinusoidal
from stairs.models.block_parts import added_positions, attention_mask, block_parts, fold_scaling, has_local_start, linformer_projections
from stairs.models.language_model import EncoderDecoder
from stairs.models.settings import TransformerConfig
from stairs.text.batch import Batch

OFFSET = 1.0  # the bias that the decoder's last norm starts with


class Transformer(EncoderDecoder):
    """Blocks of attention that read the source, and blocks that write the target."""

    name = "transformer"
    is_transformer = True
    pools_special_tokens = True
    config: TransformerConfig

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        peak = 2e-3 if config.norm_first else 1e-3
        self.learning_rate = peak * min(1.0, 256 / config.width)  # wide models learn in smaller steps
        self.label_smoothing = config.label_smoothing
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.positions = added_positions(config)
        self.dropout = Dropout(config.dropout)
        self.linformer = linformer_projections(config)  # of the encoder; a decoder may not mix what is not written yet
        self.blocks = nn.ModuleList(self.block(layer, is_decoder=False) for layer in range(config.layers))
        self.norm = nn.LayerNorm(config.width) if config.norm_first else nn.Identity()
        self.decoder_blocks = nn.ModuleList(self.block(layer, is_decoder=True) for layer in range(config.layers))
        self.decoder_norm = nn.LayerNorm(config.width) if config.norm_first else nn.Identity()
        self.output = None
        self.initialize_new()

    def block(self, layer: int, *, is_decoder: bool) -> FastBlock:
        config = self.config
        parts = block_parts(config, config.activation, layer, None if is_decoder else self.linformer, is_causal=is_decoder)
        return FastBlock(
            config.width, config.heads, config.feed_forward or 4 * config.width,
            norm_first=config.norm_first, has_cross_attention=is_decoder, cross_heads=config.cross_heads, **parts,
        )  # fmt: skip

    @torch.no_grad()
    def initialize(self, seed: int) -> None:
        initialize(self, seed, None)
        if isinstance(self.positions, LearnedPositions):  # they start as the others are
            self.positions.weight.copy_(sinusoidal(*self.positions.weight.shape))
        if has_local_start(self.config):
            encoder, decoder = ([cast(FastBlock, block) for block in blocks] for blocks in (self.blocks, self.decoder_blocks))
            init_local_heads_sinusoidal([block.attention for block in encoder], neighbour_offset)
            init_local_heads_sinusoidal([block.attention for block in decoder], causal_offset)
            init_local_heads_sinusoidal([block.cross_attention for block in decoder], cross_offset)
        fold_scaling(self.config, self)

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        """As GPT: the bias that the output layer does not have is that of the norm below it; not with norms after the sums."""
        if isinstance(self.decoder_norm, nn.LayerNorm):
            self.decoder_norm.bias.fill_(OFFSET)
            fold_in_bias(self.tokens.weight, log_shares, OFFSET)

    def embed(self, ids: Tensor, position_ids: Tensor) -> Tensor:
        """Tokens (B, T) at these positions, (T,), or all at one position, (1,)."""
        x = self.tokens(ids) * math.sqrt(self.config.width)
        return self.dropout(x if self.positions is None else x + self.positions(position_ids))

    def encode(self, batch: Batch) -> Tensor:
        """The encoder's vector of each token, (B, S, D)."""
        position_ids, mask = self.position_ids(batch), attention_mask(self.config, batch, is_causal=False)
        x = self.embed(batch.ids, position_ids)
        for block in self.blocks:
            x = block(x, mask, position_ids=position_ids)
        return self.norm(x)

    def hidden(self, batch: Batch) -> Tensor:
        assert batch.source is not None
        source, source_mask = self.encode(batch.source), padding(batch.source.real)
        position_ids, mask = self.position_ids(batch), attention_mask(self.config, batch, is_causal=True, padding_is_last=True)
        y = self.embed(batch.ids, position_ids)
        for block in self.decoder_blocks:
            y = block(y, mask, source, source_mask, position_ids)
        return self.decoder_norm(y)

    def alignment(self, batch: Batch) -> Tensor | None:
        """The mean of all heads in the last block but one, where it shows best."""
        block = cast(FastBlock, self.decoder_blocks[max(len(self.decoder_blocks) - 2, 0)])
        with torch.no_grad(), capture(self, block.cross_attention) as seen:
            self.hidden(batch)
        (weights,) = seen.values()
        return weights.mean(1)

    def initial_state(self, source: Batch, beam_size: int = 1, length: int | None = None) -> DecodeState:
        return beam_decoder.initial_state(self, self.encode(source), source.real, beam_size, length)

    decode_step = beam_decoder.decode_step
