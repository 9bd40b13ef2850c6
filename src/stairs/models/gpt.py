"""GPT: the next token from all tokens before it, by attention.

Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training"; the norm before each sublayer from GPT-2 (2019):

    h_0 = tokens(w) + positions
    h_l = h + attention(norm(h)), then h + feed_forward(norm(h))          each position looks only back
    p(next) = softmax(norm(h_L) tokens^T)

Departures: the paper puts the norms after the sums, as `--size paper` and `--norm-first False` do; positions may also be waves or turns
(`layers/positions.py`) and begin fainter than the tokens; weights that add to the stream begin smaller the more blocks there are, as in GPT-2;
with norms before the sublayers, predictions begin at the unigram distribution of the training text. Tokens are those of a byte-level BPE of a
few thousand merges, not 40,000, and [SEP] stands behind every sentence. Padding is not computed (`fast/unpadding.py`).
Except in `--size paper`, the optimizer is AdamW with betas of 0.9 and 0.95 and a rate that rises for a twentieth of the training and falls in a
straight line, and the tables of embeddings learn up to sixteen times faster than the rest (`embedding_lr_scale`). `paper` has Adam, warm-up and
cosine as the paper and its program have them, but batches of 2048 tokens instead of 64 rows of 512, no decay of embeddings, and as many updates as it
is given time for.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from stairs.fast.decode_state import KeyValueCache
from stairs.fast.unpadding import UnpaddedLayout, choose_layout
from stairs.layers.block import Block
from stairs.layers.dropout import Dropout
from stairs.layers.initial import fold_in_bias, initialize, scale_down
from stairs.layers.masks import causal, padding
from stairs.layers.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from stairs.models.language_model import LanguageModel
from stairs.models.settings import GPTConfig
from stairs.text.batch import Batch

OFFSET = 0.25  # the bias with which the last norm begins: small, since all vectors of tokens have it in common


@dataclass
class PrefixState:
    """What has been read, (B, capacity), and its keys and values; `decode_step` and `prefill` fill it further, so it is used once."""

    ids: Tensor
    real: Tensor
    caches: list[KeyValueCache]
    length: int = 0
    whole: bool = True  # every id so far is real


class GPT(LanguageModel):
    """Blocks of causal attention."""

    name = "gpt"
    is_transformer = True
    encodes = True
    config: GPTConfig
    embedding_lr_scale = 4.0
    default_pooling = "last"
    reads_context = True
    pools_special_tokens = True
    takes_pairs = True

    def __init__(self, config: GPTConfig) -> None:
        super().__init__(config)
        self.learning_rate *= min(1.0, 256 / config.width)  # wide models learn in smaller steps
        self.embedding_lr_scale *= min(4.0, max(1.0, 256 / config.width))  # and the tables of narrow ones in larger
        rotary = RotaryPositions(config.context, config.width // config.heads) if config.positions == "rotary" else None
        table = {"learned": LearnedPositions, "sinusoidal": SinusoidalPositions}.get(config.positions)
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.positions = table(config.context, config.width) if table else None
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            Block(
                config.width, config.heads, 4 * config.width,
                dropout=config.dropout, norm_first=config.norm_first, activation="gelu-tanh", rotary=rotary,
            )
            for _ in range(config.layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(config.width) if config.norm_first else nn.Identity()
        self.output = None if config.tie_embeddings else nn.Linear(config.width, config.vocab_size, bias=False)
        self.initialize(0)

    def initialize(self, seed: int) -> None:
        """As GPT-2: what is added to the stream of the blocks is smaller the more of them there are."""
        initialize(self, seed)
        with torch.no_grad():
            for block in self.blocks:
                for name in ("attention.output.weight", "feed_forward.outer.weight"):
                    block.get_parameter(name).div_(math.sqrt(2 * self.config.layers))
        scale_down(self.positions)

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        """The output layer has no bias, as in GPT-2, but the norm below it has one. With norms after the sum, as in the paper,
        the weights stay as they are: there the blocks would read what stands for the bias."""
        if isinstance(self.norm, nn.LayerNorm):
            self.norm.bias.fill_(OFFSET)
            fold_in_bias(self.output_weight, log_shares, OFFSET)

    def encode(self, batch: Batch) -> Tensor:
        """The last block's vector of each token, (B, T, D)."""
        length = batch.ids.shape[1]
        self.check_length(length)
        mask = causal(length, batch.ids.device) & padding(batch.real)
        places = torch.arange(length, device=batch.ids.device)
        if self.positions is None:  # turns are made in rows
            return self.stream(batch.ids, places, mask)
        rows = choose_layout(self, batch.real, mask)
        return rows.unpack(self.stream(rows.pack(batch.ids), rows.pack(places.expand_as(batch.ids)), rows.mask))

    def hidden(self, batch: Batch) -> Tensor:
        return self.encode(batch)

    def decode_step(self, ids: Tensor, state: PrefixState | None = None) -> tuple[Tensor, PrefixState]:
        return self.prefill(ids[:, None], state)

    @torch.no_grad()
    def prefill(self, ids: Tensor, state: PrefixState | None = None, real: Tensor | None = None) -> tuple[Tensor, PrefixState]:
        """Read a prompt, or go on reading: log-chances of what follows each row, (B, V). `real` tells padding apart.

        When the context is full, the older half of what was read is forgotten.
        """
        logits, state = self.follow(ids, state, real)
        return logits.float(), state

    def follow(self, ids: Tensor, state: PrefixState | None, real: Tensor | None) -> tuple[Tensor, PrefixState]:
        rows, length = ids.shape
        self.check_length(length)
        if state is None:
            state = self.initial_state(rows)
        elif state.length + length > self.config.context:
            kept = min(self.config.context // 2, self.config.context - length)
            state = self.reread(state, kept)
        old, new = state.length, state.length + length
        state.ids[:, old:new] = ids
        state.real[:, old:new] = True if real is None else real
        state.whole &= real is None or bool(real.all())
        state.length = new
        if state.whole:
            places = torch.arange(old, new, device=ids.device)
            mask = None if length == 1 else torch.ones(length, new, dtype=torch.bool, device=ids.device).tril(old)
            return self.logits(self.stream(ids, places, mask, state.caches)[:, -1]), state
        seen = state.real[:, :new]
        places = (seen.cumsum(1)[:, old:] - 1).clamp(min=0)
        mask = torch.ones(length, new, dtype=torch.bool, device=ids.device).tril(old) & padding(seen)
        last = (seen[:, old:] * torch.arange(1, length + 1, device=ids.device)).argmax(1)  # the last real id of each row
        hidden = self.stream(ids, places, mask, state.caches)
        return self.logits(hidden[torch.arange(rows, device=ids.device), last]), state

    def stream(self, ids: Tensor, places: Tensor, mask: Tensor | UnpaddedLayout | None, caches: list[KeyValueCache] | None = None) -> Tensor:
        """From ids (B, T) at their places, (T,) or (B, T), through all blocks; or from a list of them, (N,), without padding."""
        x = self.tokens(ids)
        if self.positions is not None:
            x = x + self.positions(places)
        x = self.dropout(x)
        for number, block in enumerate(self.blocks):
            x = block(x, mask, cache=caches[number] if caches else None, places=places)
        return self.norm(x)

    def reorder(self, state: PrefixState, rows: Tensor) -> PrefixState:
        for cache in state.caches:
            cache.reorder(rows)
        return PrefixState(state.ids[rows], state.real[rows], state.caches, state.length, state.whole)

    def initial_state(self, rows: int) -> PrefixState:
        config, like = self.config, self.tokens.weight
        caches = [KeyValueCache(rows, config.heads, config.context, config.width // config.heads, like) for _ in self.blocks]
        ids = torch.zeros(rows, config.context, dtype=torch.int64, device=like.device)
        return PrefixState(ids, torch.zeros_like(ids, dtype=torch.bool), caches)

    def reread(self, state: PrefixState, kept: int) -> PrefixState:
        """The last `cached_features` columns of a full context, read afresh from the first place on."""
        again = self.initial_state(len(state.ids))
        if kept:
            columns = slice(state.length - kept, state.length)
            self.follow(state.ids[:, columns], again, None if state.whole else state.real[:, columns])
        return again
