"""Decoding with an encoder-decoder of attention: the source is encoded once, and the hypotheses of a beam share the keys and values of their past.

A step equals the last position of `hidden`, which computes the whole target anew: tests/contract/test_every_model.py.
"""

from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor, nn

from stairs.fast.block import FastBlock
from stairs.fast.decode_state import BeamCache, BlocksConfig, DecodeState, SourceCache


class AttentionDecoder(Protocol):
    """What decoding needs of a model."""

    @property
    def config(self) -> BlocksConfig: ...

    decoder_blocks: nn.ModuleList

    @property
    def decoder_norm(self) -> nn.Module: ...

    def embed(self, ids: Tensor, position_ids: Tensor) -> Tensor: ...

    def check_length(self, length: int) -> int: ...

    def logits(self, hidden: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class BeamState(DecodeState):
    """Targets that are being decoded: K hypotheses for each source stand at one position of one row."""

    caches: list[BeamCache]  # of each block of the decoder
    sources: list[SourceCache]  # the source, as each block projects it
    ancestry: Tensor  # (B, K, T): which hypothesis each of the K was at each step so far

    def reorder(self, rows: Tensor) -> "BeamState":
        before, beam_size, _ = self.ancestry.shape
        now = max(beam_size, len(rows) // before)  # more hypotheses than before, or as many
        ancestry = self.ancestry.flatten(0, 1)[rows].unflatten(0, (-1, now))
        kept = rows[::now] // beam_size
        for cache in self.caches:
            if now > beam_size:
                cache.expand(now // beam_size)
            if len(kept) < before:
                cache.reorder(kept)
        sources = self.sources if len(kept) == before else [source.reorder(kept) for source in self.sources]
        return BeamState(self.caches, sources, ancestry)


def initial_state(model: AttentionDecoder, encoded: Tensor, real: Tensor, beam_size: int, length: int | None) -> BeamState:
    """Before the first token, for an encoded source (B, S, D), with room for so many hypotheses of so many tokens each."""
    config = model.config
    capacity = beam_size * (length or config.context)
    caches = [BeamCache(len(encoded), capacity, config.width, config.heads, encoded) for _ in model.decoder_blocks]
    sources = [cast(FastBlock, block).cross_attention.source_cache(encoded, real) for block in model.decoder_blocks]
    return BeamState(caches, sources, torch.zeros(len(encoded), 1, 0, dtype=torch.int64, device=encoded.device))


@torch.no_grad()
def decode_step(model: AttentionDecoder, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
    """One more id for each hypothesis, (B K,): logits of the next, (B K, V)."""
    assert isinstance(state, BeamState)
    sources, beam_size, length = state.ancestry.shape
    own = torch.arange(beam_size, device=ids.device).expand(sources, beam_size)[..., None]
    ancestry = torch.cat([state.ancestry, own], 2)
    position_ids = torch.tensor([model.check_length(length + 1) - 1], device=ids.device)
    y = model.embed(ids.view(sources, beam_size), position_ids)
    for block, cache, source in zip(model.decoder_blocks, state.caches, state.sources, strict=True):
        cache.ancestry = ancestry
        y = block(y, cache, source, position_ids=position_ids)
    return model.logits(model.decoder_norm(y).flatten(0, 1)).float(), BeamState(state.caches, state.sources, ancestry)
