"""Seq2Seq: one network reads a sentence, another says it in other words.

Sutskever et al. 2014 and Cho et al. 2014: all that the second knows of the sentence is one vector C, which it is told at every step.

    h_j = cell(x_j), from the left and from the right            C = [last from the left, last from the right]
    s_i = cell([y_{i-1}, C], s_{i-1}),  s_0 = tanh(W C)
    p(y_i) = softmax(tanh(V [s_i, C]) tokens^T)

With attention (Bahdanau et al. 2015, Luong et al. 2015) a context of its own stands in the place of C at every step:

    C_i = sum_j softmax(score(s_i, h))_j h_j                     see `layers/attention.py` for the scores

CoVe (McCann et al. 2017): what the first network has learnt for the second, used for other tasks: the vector of a token is [x_j, h_j].

Departures: with attention the cell reads y_{i-1} alone and C_i enters after it, so the query is the state after the word y_{i-1}, as in Luong et
al., where Bahdanau's is the state before it and C_i enters the cell; so it is whatever the score, `--size paper` too, since all steps of a
sentence are then computed in one fused loop. What attention found is not fed to the next step, as Luong et al. and CoVe do. Bilinear and
projected scores are not divided by sqrt(D). s_0 is made from both ends of the source, in Bahdanau's from the backward one; the readout is a
tanh, in his a maxout; Sutskever's reads the source backwards, with C as s_0 only. Encoder, decoder and output share one table of subwords,
CoVe's too, which in its paper reads GloVe's vectors of words. `paper` is Bahdanau's size, but with a decoder as wide as both directions of the
encoder together. Predictions begin at the unigram distribution of the target language.
All sizes are trained by our AdamW with a rate that rises and falls, labels smoothed except in `paper`; the papers used stochastic gradient
descent (Sutskever, Luong, CoVe) and Adadelta in batches of 80 sentences (Bahdanau), with orthogonal recurrent weights.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from stairs.layers.attention import Additive, Bilinear, Projected, Score, attend, dot, project_keys, scaled_dot
from stairs.layers.dropout import Dropout
from stairs.layers.initial import fold_in_bias, initialize
from stairs.layers.masks import padding
from stairs.layers.recurrent import STATE_TENSORS, Bidirectional, Recurrent, State
from stairs.models.base import record_outputs
from stairs.models.language_model import EncoderDecoder
from stairs.models.settings import Seq2SeqConfig
from stairs.text.batch import Batch

OFFSET = 0.5  # of what the output layer reads, before the first update


@dataclass(frozen=True)
class RecurrentDecoderState:
    """A sentence that is being said: the states of the decoder's layers, what the encoder made of the source, and C. One source may have
    several rows, one after the other, as a beam does."""

    states: list[State]
    memory: Tensor  # (B, S, D)
    keys: Tensor  # what the score makes of it
    mask: Tensor
    whole: Tensor

    @property
    def rows(self) -> int:
        """For each source."""
        return len(self.states[0][0]) // len(self.memory)


class Seq2Seq(EncoderDecoder):
    """Recurrent encoder and decoder."""

    name = "seq2seq"
    config: Seq2SeqConfig

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__(config)
        width, hidden = config.width, config.hidden
        self.learning_rate = 2e-3 * min(1.0, 512 / hidden)  # wide models learn in smaller steps
        self.label_smoothing = config.label_smoothing
        self.tokens = nn.Embedding(config.vocab_size, width)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(Bidirectional(config.cell, width if n == 0 else hidden, hidden) for n in range(config.layers))
        self.decoder_start = nn.Linear(hidden, config.layers * STATE_TENSORS[config.cell] * hidden)
        told = width if self.attends else width + hidden
        self.decoder = nn.ModuleList(Recurrent(config.cell, told if n == 0 else hidden, hidden) for n in range(config.layers))
        self.decoder_score = attention_score(config)
        self.decoder_readout = nn.Linear(2 * hidden, width)
        self.weights = nn.Identity()  # the weights of attention pass through here, for who looks
        self.output = None
        self.initialize(0)

    @property
    def attends(self) -> bool:
        return self.config.attention != "none"

    def initialize(self, seed: int) -> None:
        initialize(self, seed, None)

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        """The output layer has no bias; that of the layer below it lifts what it reads."""
        self.decoder_readout.bias.fill_(math.atanh(OFFSET))
        fold_in_bias(self.tokens.weight, log_shares, OFFSET)

    def encode(self, batch: Batch) -> Tensor:
        """What the encoder makes of each token, (B, S, D)."""
        return self.read_source(batch)[1]

    def embedded(self, ids: Tensor) -> Tensor:
        """The table is small enough for the output layer, and too small for the cells."""
        return self.dropout(self.tokens(ids) * math.sqrt(self.config.width))

    def read_source(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The vectors of the tokens, (B, S, W), and what the encoder makes of them."""
        self.check_length(batch.ids.shape[1])
        embedded = x = self.embedded(batch.ids)
        for number, layer in enumerate(self.encoder):
            x = layer(x if number == 0 else self.dropout(x), batch.real)
        return embedded, x

    def initial_state(self, source: Batch, rows: int = 1, length: int | None = None) -> RecurrentDecoderState:
        memory = self.read_source(source)[1]
        half = self.config.hidden // 2
        last = memory[torch.arange(len(memory)), source.real.sum(1) - 1, :half]
        whole = torch.cat([last, memory[:, 0, half:]], 1)
        begin = torch.tanh(self.decoder_start(whole))
        parts = begin.chunk(self.config.layers * STATE_TENSORS[self.config.cell], -1)
        size = STATE_TENSORS[self.config.cell]
        states = [tuple(parts[n * size : (n + 1) * size]) for n in range(self.config.layers)]
        return RecurrentDecoderState(states, memory, project_keys(self.decoder_score, memory), padding(source.real), whole)

    def hidden(self, batch: Batch) -> Tensor:
        assert batch.source is not None
        return self.follow(batch.ids, self.initial_state(batch.source))[0]

    def follow(self, ids: Tensor, saying: RecurrentDecoderState) -> tuple[Tensor, RecurrentDecoderState]:
        """Say (B, T) more: what the output layer reads, (B, T, W), and where it stands then."""
        x = self.embedded(ids)
        whole = saying.whole.repeat_interleave(saying.rows, 0)[:, None].expand(-1, x.shape[1], -1)
        x = x if self.attends else torch.cat([x, whole], -1)
        states = []
        for number, (layer, state) in enumerate(zip(self.decoder, saying.states, strict=True)):
            x, state = layer(x if number == 0 else self.dropout(x), state)
            states.append(state)
        context = self.context(x, saying) if self.attends else whole
        told = torch.tanh(self.decoder_readout(self.dropout(torch.cat([x, context], -1))))
        return self.dropout(told), replace(saying, states=states)

    def context(self, query: Tensor, saying: RecurrentDecoderState) -> Tensor:
        """C_i for each step; rows of one source look at it together."""
        beside = query.reshape(len(saying.memory), -1, query.shape[-1])
        compare = getattr(self.decoder_score, "compare", self.decoder_score)
        mixed, weights = attend(beside, saying.keys, saying.memory, score=compare, mask=saying.mask)
        self.weights(weights)
        return mixed.view(query.shape)

    def alignment(self, batch: Batch) -> Tensor | None:
        with torch.no_grad():
            weights = record_outputs([self.weights], lambda: self.hidden(batch))
        return weights[-1] if weights else None

    def decode_step(self, ids: Tensor, state: Any = None) -> tuple[Tensor, RecurrentDecoderState]:
        return self.prefill(ids[:, None], state)

    @torch.no_grad()
    def prefill(self, ids: Tensor, state: Any = None) -> tuple[Tensor, RecurrentDecoderState]:
        told, state = self.follow(ids, state)
        return self.logits(told[:, -1]).float(), state

    def reorder(self, state: RecurrentDecoderState, rows: Tensor) -> RecurrentDecoderState:
        now = max(state.rows, len(rows) // len(state.memory))  # more rows of each source than before, or as many
        sources = rows[::now] // state.rows
        states = [tuple(part[rows] for part in parts) for parts in state.states]
        if len(sources) == len(state.memory):
            return replace(state, states=states)
        return RecurrentDecoderState(states, *(part[sources] for part in (state.memory, state.keys, state.mask, state.whole)))


class CoVe(Seq2Seq):
    """A Seq2Seq whose token vectors are for other tasks."""

    name = "cove"

    def encode(self, batch: Batch) -> Tensor:
        """[x_j, h_j], (B, S, W + D)."""
        return torch.cat(self.read_source(batch), -1)

    @property
    def depth(self) -> int:
        return self.config.layers

    def hidden_states(self, batch: Batch) -> list[Tensor]:
        """What each layer of the encoder makes of the tokens, without the tokens' own vectors, which are of another width."""
        return record_outputs(self.encoder, lambda: self.read_source(batch))


def attention_score(config: Seq2SeqConfig) -> Score:
    """Of a query and the keys."""
    width = config.hidden
    if config.attention == "additive":
        return Additive(width, width, width)
    if config.attention == "bilinear":
        return Bilinear(width, width)
    if config.attention == "projected":
        return Projected(width, width, width)
    return scaled_dot if config.attention == "scaled" else dot
