"""BERT: a masked word from all words around it, by attention in both directions.

Devlin et al. 2018, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding":

    h_0 = norm(tokens(w) + segments(s) + positions)
    h_l = norm(h + attention(h)), then norm(h + feed_forward(h))          each position attends to all others
    p(masked word) = softmax(norm(gelu(h_L W)) tokens^T + bias)
    p(second sentence follows the first) = softmax(tanh(h_L[CLS] P) N)

Departures: heads start by attending to neighbours (`layers/initial.py`), positions start as waves that are longer than token vectors, those of narrow
models longer than in the paper, segments smaller, weights from a normal distribution that is not truncated, and predictions at the unigram
distribution of the training text: a short training would otherwise spend most of its time on these. Whole words are masked (`--whole-word-masking
False`: single pieces), anew in every epoch where the paper's program masks ten copies of the text; all rows have one context, where it reads 128
tokens for nine tenths of the training. For the sentence pairs see `tasks/parts/sentence_pairs.py`. The objectives of other papers use this same
encoder: that of XLNet, which has also its own below, and ALBERT's without shared and factored weights. Only positions with a target are compared with
the vocabulary, and padding is not computed (`fast/block.py`). A bert may also know where words stand in a dependency tree
(`layers/structural_positions.py`). Except in `--size paper`, the optimizer is AdamW with betas of 0.9 and 0.95 and a learning rate that rises for a
twentieth of the training and falls linearly, and embeddings learn four times faster than the rest (`embedding_lr_scale`); with `--budget` the
matrices of the blocks are Muon's, the blocks join one by one, token vectors start as those of skip-gram, 30 % of the tokens are masked, no next
sentence is predicted and few passes have no dropout, all of which learn more in minutes (`training/recipe.py`). `paper` has Adam, decay and warm-up
as the paper and its program have them, but with Adam's bias correction, without decay of embeddings, and with batches of 2048 tokens instead of 256
rows of 512.

Three papers train the same network in other ways, `RoBERTa`, `UniLM` and `XLNet` below. Departures of RoBERTa (Liu et al. 2019): whole words are
masked except in `--size paper`, and batches are as small as BERT's. Departures of UniLM (Dong et al. 2019): it starts from new weights and not from
those of BERT, whole words are masked where the paper masks one token, two or three, no next sentence is predicted in bidirectional rows, and the
[SEP] that ends a row may be masked already in pretraining, so that the model knows when to stop. Departures of XLNet (Yang et al. 2019): a row has
one segment in pretraining, tokens are word pieces, the rows are those of `tasks/parts/other_objectives.py`, with [CLS] in front where the paper has
it at the end, and the memory (`--memory`) is that of `layers/memory.py`, in which each token has read all others.
"""

from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear, pad

from stairs.errors import Unsupported
from stairs.fast import chosen_positions, masked_decoder
from stairs.fast.block import FastBlock, run_unpadded
from stairs.fast.decode_state import DecodeState
from stairs.layers.attention_positions import SEGMENT_STRIDE
from stairs.layers.block import ACTIVATIONS, FastInput, remove_biases
from stairs.layers.dropout import Dropout
from stairs.layers.initial import (
    init_local_heads,
    init_local_heads_sinusoidal,
    initialize,
    lengthen_narrow,
    neighbour_offset,
    position_scale,
    scale_down,
)
from stairs.layers.memory import run_after_memory
from stairs.layers.patterns import RowMask
from stairs.layers.positions import LearnedPositions
from stairs.layers.structural_positions import DepthEmbedding, StructuralPositions, start_at_zero
from stairs.layers.vocabulary import linear_cross_entropy, linear_nll
from stairs.models.base import Model
from stairs.models.block_parts import (
    added_positions,
    attention_mask,
    block_parts,
    fold_scaling,
    has_local_start,
    linformer_projections,
    tree_positions,
)  # fmt: skip
from stairs.models.settings import BERTConfig, RoBERTaConfig, UniLMConfig, XLNetConfig
from stairs.text.batch import IGNORE_INDEX, Batch


class WordHead(nn.Module):
    """norm(gelu(dense(h))), which is compared with the vector of each word; `bias` is one for each word."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.width, config.width)
        self.norm = nn.LayerNorm(config.width, config.epsilon)
        self.activation = ACTIVATIONS[config.activation]
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, hidden: Tensor) -> Tensor:
        return self.norm(self.activation(self.dense(hidden)))


class OutputBias(WordHead):
    """XLNet's: h itself is compared."""

    def __init__(self, config: BERTConfig) -> None:
        nn.Module.__init__(self)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden


class BERT(Model):
    """Blocks of attention in both directions."""

    name = "bert"
    config: BERTConfig
    is_transformer = encodes = predicts = fills_blanks = reads_context = takes_pairs = adds_end_token = pools_special_tokens = takes_trees = True
    pretrains_with = "masked-token"
    default_pooling = "cls"
    embedding_layers = (*Model.embedding_layers, "norm.", "depths.", "mask_vector.")
    learning_rate = 5e-4  # norms after the sums need smaller steps than norms before the sublayers
    embedding_lr_scale = 4.0
    encode_cls = chosen_positions.encode_cls
    encode_where = chosen_positions.encode_where
    encode_masked = chosen_positions.encode_masked
    word_head_type: type[WordHead] = WordHead

    def __init__(self, config: BERTConfig) -> None:
        super().__init__(config)
        width = config.width
        self.learning_rate *= min(1.0, 256 / width)  # wide models learn in smaller steps
        self.tokens = nn.Embedding(config.vocab_size, width)
        self.segments = None if config.has_relative_segments else nn.Embedding(config.segments, width)
        self.mask_vector = nn.Embedding(1, width) if config.has_relative_segments else None
        self.positions = added_positions(config, position_scale(config.width))
        self.depths = DepthEmbedding(config.tree_distance, width) if config.tree_distance else None
        self.norm = nn.Identity() if config.has_relative_segments else nn.LayerNorm(width, config.epsilon)
        self.dropout = Dropout(config.dropout)
        self.linformer = linformer_projections(config)
        block = partial(FastBlock, width, config.heads, config.feed_forward or 4 * width, norm_first=False, epsilon=config.epsilon)
        parts = [block_parts(config, config.activation, layer, self.linformer, is_causal=False) for layer in range(config.layers)]
        if config.tree_distance:
            parts = [{**own, "positions": StructuralPositions(config.tree_distance, width // config.heads)} for own in parts]
        self.blocks = nn.ModuleList(block(**own) for own in parts)
        if config.has_relative_segments:
            remove_biases(self.blocks, "key", "value", "output")
        heads = config.output_heads or ()
        self.pooler = nn.Linear(width, width) if "pooler" in heads else None
        self.word_head = self.word_head_type(config) if "words" in heads else None
        self.next_head = nn.Linear(width, 2) if "next" in heads else None
        self.fills_blanks, self.has_pooler = self.word_head is not None, self.pooler is not None
        self.initialize_new()

    def initialize(self, seed: int) -> None:
        initialize(self, seed)
        scale_down(self.segments)
        if has_local_start(self.config):
            lengthen_narrow(self.tokens)
        if has_local_start(self.config) and isinstance(self.positions, LearnedPositions):
            init_local_heads(self.positions, self.blocks, seed)
        elif has_local_start(self.config):
            init_local_heads_sinusoidal([cast(FastBlock, block).attention for block in self.blocks], neighbour_offset)
        fold_scaling(self.config, self)
        start_at_zero(self)
        if self.word_head is not None:
            nn.init.zeros_(self.word_head.bias)

    @property
    def needs_trees(self) -> bool:
        return self.config.tree_distance > 0

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        if self.word_head is not None:
            self.word_head.bias.copy_(log_shares)

    def encode(self, batch: Batch, blocks: int | None = None) -> Tensor:
        """The last block's vector of each token, (B, T, D), or that of a lower one; padding is not computed."""
        mask, position_ids = attention_mask(self.config, batch, is_causal=False), self.position_ids(batch)
        segments = torch.zeros_like(batch.ids) if batch.segments is None else batch.segments.clamp(max=self.config.segments - 1)
        run = partial(self.run_blocks, self.blocks[:blocks])
        if self.needs_trees:
            return run(batch.ids, segments, position_ids, mask, *tree_positions(self.config.tree_distance, batch))
        if self.is_captured or isinstance(mask, RowMask) or not self.config.unpads:
            return run(batch.ids, segments, position_ids, mask)
        return run_unpadded(run, (batch.ids, segments, position_ids.expand_as(batch.ids)), batch.real, mask)

    def run_blocks(
        self, blocks: nn.ModuleList, ids: Tensor, segments: Tensor, position_ids: Tensor, mask: Tensor | RowMask | FastInput,
        depths: Tensor | None = None, distances: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """h, from h_0 on; `depths` and `distances` in dependency trees, where it has structural positions."""
        x = self.embed(ids, segments, position_ids, depths)
        for block in blocks:
            x = block(x, mask, position_ids=position_ids if distances is None else distances)
        return x

    def embed(self, ids: Tensor, segments: Tensor, position_ids: Tensor, depths: Tensor | None = None) -> Tensor:
        """h_0."""
        x = self.tokens(ids) if self.segments is None else self.tokens(ids) + self.segments(segments)
        x = x if self.positions is None else x + self.positions(position_ids)
        return self.dropout(self.norm(x if self.depths is None else x + self.depths(depths)))

    def predict(self, batch: Batch) -> Tensor:
        """Logits of the word at each position, (B, T, V)."""
        return self.logits(self.encode(batch))

    def logits(self, hidden: Tensor) -> Tensor:
        head = self.required_word_head
        return linear(head(hidden), self.tokens.weight, head.bias)

    def loss(self, batch: Batch) -> Tensor:
        """Mean negative log-likelihood of the masked words, plus that of the `labels` of the sentence pairs."""
        assert batch.targets is not None
        (masked, first), head = self.encode_masked(batch), self.required_word_head
        targets = batch.targets[batch.targets != IGNORE_INDEX]
        loss = linear_cross_entropy(head(masked), self.tokens.weight, head.bias, targets) / max(len(targets), 1)
        return loss if batch.labels is None else loss + cross_entropy(self.next_sentence_logits(first).float(), batch.labels)

    @torch.no_grad()
    def log_likelihood(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        has_target, head = batch.targets != IGNORE_INDEX, self.required_word_head
        nll = linear_nll(head(self.encode_masked(batch)[0]), self.tokens.weight, head.bias, batch.targets[has_target])
        return torch.zeros(has_target.shape, device=has_target.device).masked_scatter(has_target, -nll)

    def pool(self, hidden: Tensor) -> Tensor:
        """From the vector of [CLS]."""
        if self.pooler is None:
            raise Unsupported("this bert has no pooler; take the mean of its token vectors")
        return torch.tanh(self.pooler(hidden[:, 0]))

    def next_sentence_logits(self, hidden: Tensor) -> Tensor:
        """That the second sentence of each row follows the first, and that it does not, (B, 2)."""
        if self.next_head is None:
            raise Unsupported("this bert was not trained on sentence pairs; train one with --objective next-sentence")
        return self.next_head(self.pool(hidden))

    @property
    def required_word_head(self) -> WordHead:
        if self.word_head is None:
            raise Unsupported("this bert has no head that predicts words; it gives vectors only")
        return self.word_head


class RoBERTa(BERT):
    """Liu et al. 2019, "RoBERTa: A Robustly Optimized BERT Pretraining Approach": masks that change with every epoch, rows full of sentences, across
    the ends of documents, no second segment and no next sentence, and byte-level BPE."""

    name = "roberta"
    config: RoBERTaConfig


class UniLM(BERT):
    """Dong et al. 2019, "Unified Language Model Pre-training for Natural Language Understanding and Generation": one network under three masks,

        bidirectional          each position attends to all                                           a third of the rows
        left to right          each to those before it, or right to left to those behind it           a sixth each
        sequence to sequence   all to the first part; of the second, each to those before it          a third

    It predicts a token at a [MASK] in its place, so it also generates: a [MASK] after the tokens so far is filled, and then the next."""

    name = "unilm"
    config: UniLMConfig
    generates = True
    pretrains_with = "unified-lm"
    prefill = masked_decoder.prefill

    def decode_step(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        return self.prefill(ids[:, None], state)


class XLNet(BERT):
    """Yang et al. 2019, "XLNet: Generalized Autoregressive Pretraining for Language Understanding": the words of a row come in a random order z, and
    p(w_z(t) | w_z(<t)) is that of a second stream g, which knows the position of its word and not the word:

        h_0 = tokens(w),   g_0 = a vector of its own, that of [MASK]
        h_l = norm(h + attention(h; those up to it in z)), ...,   g_l = norm(g + attention(g; h of those before it in z)), ...
        p(word) = softmax(g_L tokens^T + bias)

    Positions, and whether two tokens are of one segment, are Transformer-XL's (`layers/attention_positions.py`), and so is the memory: tokens before
    the row, at negative positions, which attend to one another and which all tokens of the row attend to (`layers/memory.py`)."""

    name = "xlnet"
    config: XLNetConfig
    word_head_type = OutputBias

    def encode(self, batch: Batch, blocks: int | None = None) -> Tensor:
        """As a BERT, but no gradient reaches the memory, whose vectors are then zeros."""
        start = 0 if batch.position_ids is None else int((batch.position_ids < 0).any(0).sum())
        if not start or not torch.is_grad_enabled():
            return super().encode(batch, blocks)
        mask, segments = attention_mask(self.config, batch, is_causal=False), batch.segments
        assert isinstance(mask, Tensor) and batch.position_ids is not None and segments is not None
        position_ids = batch.position_ids + SEGMENT_STRIDE * segments
        x = self.embed(batch.ids[:, start:], segments[:, start:], position_ids[:, start:])
        with torch.no_grad():
            memory = self.embed(batch.ids[:, :start], segments[:, :start], position_ids[:, :start])
        return pad(run_after_memory(self.blocks[:blocks], x, memory, mask, position_ids), (0, 0, start, 0))

    def embed(self, ids: Tensor, segments: Tensor, position_ids: Tensor, depths: Tensor | None = None) -> Tensor:
        assert self.mask_vector is not None
        return self.dropout(self.tokens(ids).where((ids != self.config.mask)[..., None], self.mask_vector.weight))

    def run_blocks(
        self, blocks: nn.ModuleList, ids: Tensor, segments: Tensor, position_ids: Tensor, mask: Tensor | RowMask | FastInput,
        depths: Tensor | None = None, distances: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        return super().run_blocks(blocks, ids, segments, position_ids + SEGMENT_STRIDE * segments, mask)
