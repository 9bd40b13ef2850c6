"""GPT: the next token from all tokens before it, by attention.

Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training"; the norm before each sublayer from GPT-2 (2019):

    h_0 = tokens(w) + positions
    h_l = h + attention(norm(h)), then h + feed_forward(norm(h))          each position attends to itself and those before it
    p(next) = softmax(norm(h_L) tokens^T)

With `--memory M` a row also attends to the M tokens before it, which no gradient reaches (`layers/memory.py`):

    h = h + attention(norm(h), [norm(stop_gradient(m)), norm(h)])

Departures: the paper puts the norms after the sums, as `--size paper` and `--norm-first False` do; positions start smaller than the tokens, and
there are others (`--positions`), other patterns and scores of attention, each in its own file of `layers/`; weights added to the residual stream
start smaller the more blocks there are, as in GPT-2; with norms before the sublayers, predictions start at the unigram distribution of the training
text. Tokens are those of a byte-level BPE of a few thousand merges, not 40,000, and [SEP] follows every sentence. Padding is not computed
(`fast/block.py`).
With a memory, positions are those of `--positions` that know distances, not Transformer-XL's; reading a text with its memory is reading memory and
text as one, and only the gradient differs.
Except in `--size paper`, the optimizer is AdamW with betas of 0.9 and 0.95 and a learning rate that rises for a twentieth of the training and falls
linearly, and embeddings learn up to sixteen times as fast as the rest (`embedding_lr_scale`); with `--budget` the matrices of the blocks are Muon's,
the blocks join one by one and token vectors start as those of skip-gram (`training/recipe.py`). `paper` has Adam, warm-up and cosine as its paper and
program have them, but batches of 2048 tokens instead of 64 rows of 512, no decay of embeddings, and as many updates as its time allows.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from stairs.fast import prefix_decoder
from stairs.fast.block import FastBlock, run_unpadded
from stairs.layers.block import FastInput
from stairs.layers.dropout import Dropout
from stairs.layers.initial import fold_in_bias, initialize, scale_down
from stairs.layers.memory import run_after_memory
from stairs.layers.patterns import RowMask
from stairs.models.block_parts import added_positions, attention_mask, block_parts, fold_scaling
from stairs.models.language_model import LanguageModel
from stairs.models.settings import GPTConfig
from stairs.text.batch import IGNORE_INDEX, Batch

OFFSET = 0.25  # the bias that the last norm starts with: small, since all token vectors have it in common


class GPT(LanguageModel):
    """Blocks of causal attention."""

    name = "gpt"
    config: GPTConfig
    is_transformer = encodes = reads_context = takes_pairs = pools_special_tokens = has_auxiliary_loss = True
    default_pooling = "last"
    prefill = prefix_decoder.prefill

    def __init__(self, config: GPTConfig) -> None:
        super().__init__(config)
        width, heads = config.width, config.heads
        self.learning_rate *= min(1.0, 256 / width)  # wide models learn in smaller steps
        self.embedding_lr_scale = 4 * min(4.0, max(1.0, 256 / width))  # and the embeddings of narrow ones in larger
        self.tokens = nn.Embedding(config.vocab_size, width)
        self.positions = added_positions(config)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            FastBlock(width, heads, 4 * width, norm_first=config.norm_first, **block_parts(config, config.activation, layer, is_causal=True))
            for layer in range(config.layers)
        )
        self.norm = nn.LayerNorm(width) if config.norm_first else nn.Identity()
        self.output = None if config.tie_embeddings else nn.Linear(width, config.vocab_size, bias=False)
        self.initialize_new()

    @torch.no_grad()
    def initialize(self, seed: int) -> None:
        initialize(self, seed)
        for block in self.blocks:
            for name in ("attention.output.weight", "feed_forward.outer.weight"):
                block.get_parameter(name).div_((2 * self.config.layers) ** 0.5)
        scale_down(self.positions)
        fold_scaling(self.config, self)

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        """The output layer has no bias, but the norm below it has one; with norms after the sums that one would reach the blocks, too."""
        if isinstance(self.norm, nn.LayerNorm):
            self.norm.bias.fill_(OFFSET)
            fold_in_bias(self.output_weight, log_shares, OFFSET)

    def encode(self, batch: Batch) -> Tensor:
        position_ids, mask = self.position_ids(batch), attention_mask(self.config, batch, is_causal=True)
        if self.is_captured or isinstance(mask, RowMask) or not self.config.unpads:
            return self.run_blocks(batch.ids, position_ids, mask)
        return run_unpadded(self.run_blocks, (batch.ids, position_ids.expand_as(batch.ids)), batch.real, mask)

    def hidden(self, batch: Batch) -> Tensor:
        has_target = batch.targets != IGNORE_INDEX if self.config.memory and torch.is_grad_enabled() and batch.targets is not None else None
        start = 0 if has_target is None else int(has_target.any(0).int().argmax())
        return self.hidden_after_memory(batch, start) if start else self.encode(batch)

    def hidden_after_memory(self, batch: Batch, start: int) -> Tensor:
        """`encode` of the positions from `start` on, zeros before, (B, T, D): those before are the memory."""
        position_ids, mask = self.position_ids(batch), attention_mask(self.config, batch, is_causal=True)
        assert isinstance(mask, Tensor)
        x = self.embed(batch.ids[:, start:], position_ids[..., start:])
        with torch.no_grad():
            memory = self.embed(batch.ids[:, :start], position_ids[..., :start])
        return pad(self.norm(run_after_memory(self.blocks, x, memory, mask, position_ids)), (0, 0, start, 0))

    @property
    def reads_at_most(self) -> int:
        return self.config.context + self.config.memory

    def embed(self, ids: Tensor, position_ids: Tensor) -> Tensor:
        return self.dropout(self.tokens(ids) if self.positions is None else self.tokens(ids) + self.positions(position_ids))

    def run_blocks(self, ids: Tensor, position_ids: Tensor, *masks: Tensor | RowMask | FastInput) -> Tensor:
        x = self.embed(ids, position_ids)
        for block, mask in zip(self.blocks, masks * len(self.blocks), strict=False):  # one mask for all blocks, or one for each
            x = block(x, mask, position_ids=position_ids)
        return self.norm(x)
