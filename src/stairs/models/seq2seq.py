"""Seq2Seq: one network encodes a sentence, another decodes its translation.

Sutskever et al. 2014 and Cho et al. 2014: the decoder sees the whole sentence as one vector C, at every step.

    h_j = cell(x_j), from the left and from the right            C = [last from the left, last from the right]
    s_i = cell([y_{i-1}, C], s_{i-1}),  s_0 = tanh(W C)
    p(y_i) = softmax(tanh(V [s_i, C]) tokens^T)

With attention every step has its own context in place of C (see `layers/attention.py` for the scores). It is asked for by the state after the
token y_{i-1}, and joins it for the prediction (Luong et al. 2015), or by the state before, and enters the cell (Bahdanau et al. 2015):

    after      s_i = cell(y_{i-1}, s_{i-1})          C_i = sum_j softmax(score(s_i, h))_j h_j
               p(y_i) = softmax(tanh(V [s_i, C_i]) tokens^T)
    before     C_i = sum_j softmax(score(s_{i-1}, h))_j h_j
               s_i = cell([y_{i-1}, C_i], s_{i-1})
               p(y_i) = softmax(tanh(V [s_i, C_i, y_{i-1}]) tokens^T)

With several layers the query is a state of the last one, and C_i enters the first. `after` computes all steps of a sentence in one fused loop;
`before` takes one step at a time. The encoder's states h and the decoder's s may have different widths, if the score takes them.

CoVe (McCann et al. 2017): the trained encoder, used for other tasks: the vector of a token is [x_j, h_j].

Departures: the default is `after` for every score, with a cell that reads y_{i-1} alone: the attention output is not fed to the next step, as Luong
et al. and CoVe do. `before` and `paper`, which has Bahdanau's widths, are his network but for this: s_0 is computed from both ends of the source, in
his from the backward one; the readout is a tanh as wide as a token vector, in his a maxout of 500; and his GRU applies r to the state before the
product with U (see `layers/recurrent.py`). Sutskever's reads the source backwards, with C as s_0 only. Encoder, decoder and output share one table of
subwords, CoVe's too, which in its paper reads GloVe's word vectors. Predictions start at the unigram distribution of the target language.
All sizes are trained by our AdamW with a learning rate that rises and falls and label smoothing except in `paper`; the papers used stochastic
gradient descent (Sutskever, Luong, CoVe) and Adadelta in batches of 80 sentences (Bahdanau), with orthogonal recurrent weights.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor, nn

from stairs.fast import recurrent_decoder
from stairs.fast.decode_state import SourceState
from stairs.layers.attention import Additive, Projected, attend, dot, make_score, project_keys
from stairs.layers.capture import capture
from stairs.layers.dropout import Dropout
from stairs.layers.initial import fold_in_bias, initialize
from stairs.layers.masks import padding
from stairs.layers.recurrent import STATE_TENSORS, Bidirectional, Recurrent, State
from stairs.models.language_model import EncoderDecoder
from stairs.models.settings import Seq2SeqConfig
from stairs.text.batch import Batch

OFFSET = 0.5  # that the readout starts with


class Seq2Seq(EncoderDecoder):
    """Recurrent encoder and decoder."""

    name = "seq2seq"
    config: Seq2SeqConfig
    prefill = recurrent_decoder.prefill_targets

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__(config)
        width, hidden, source = config.width, config.hidden, config.encoder_width
        self.learning_rate = 2e-3 * min(1.0, 512 / hidden)  # wide models learn in smaller steps
        self.label_smoothing = config.label_smoothing
        self.tokens = nn.Embedding(config.vocab_size, width)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(Bidirectional(config.cell, width if n == 0 else source, source) for n in range(config.layers))
        self.decoder_start = nn.Linear(source, config.layers * STATE_TENSORS[config.cell] * hidden)
        read = width if self.attends and not self.attends_before else width + source
        self.decoder = nn.ModuleList(Recurrent(config.cell, read if n == 0 else hidden, hidden) for n in range(config.layers))
        self.decoder_score = dot if config.attention == "none" else make_score(config.attention, hidden, source)
        self.decoder_readout = nn.Linear(hidden + source + (width if self.attends_before else 0), width)
        self.weights = nn.Identity()  # the attention weights pass through it, for `capture`
        self.output = None
        self.initialize_new()

    @property
    def attends(self) -> bool:
        return self.config.attention != "none"

    @property
    def attends_before(self) -> bool:
        return self.config.attention_query == "before"

    def initialize(self, seed: int) -> None:
        initialize(self, seed, None)

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        """The output layer has no bias; that of the readout below it stands in for it. A readout that reads y_{i-1} learns to do so:
        the bias in the tokens' vectors would drown the rest."""
        self.decoder_readout.bias.fill_(math.atanh(OFFSET))
        self.decoder_readout.weight[:, self.config.hidden + self.config.encoder_width :] = 0.0
        fold_in_bias(self.tokens.weight, log_shares, OFFSET)

    def embed(self, ids: Tensor) -> Tensor:
        """The table is small enough for the output layer, and too small for the cells."""
        return self.dropout(self.tokens(ids) * math.sqrt(self.config.width))

    def read_source(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """x and h of each token, (B, S, W) and (B, S, E)."""
        self.check_length(batch.ids.shape[1])
        embedded = x = self.embed(batch.ids)
        for index, layer in enumerate(self.encoder):
            x = layer(x if index == 0 else self.dropout(x), batch.real)
        return embedded, x

    def encode(self, batch: Batch) -> Tensor:
        """h, (B, S, E)."""
        return self.read_source(batch)[1]

    def initial_state(self, source: Batch, beam_size: int = 1, length: int | None = None) -> SourceState:
        """s_0, and C: the last h from the left beside the last from the right."""
        h = self.read_source(source)[1]
        half, tensors = self.config.encoder_width // 2, STATE_TENSORS[self.config.cell]
        from_left = h[torch.arange(len(h)), source.real.sum(1) - 1, :half]
        summary = torch.cat([from_left, h[:, 0, half:]], 1)
        start = torch.tanh(self.decoder_start(summary)).chunk(self.config.layers * tensors, -1)
        layers: list[State] = [tuple(start[n * tensors : (n + 1) * tensors]) for n in range(self.config.layers)]
        return SourceState(layers, h, project_keys(self.decoder_score, h), padding(source.real), summary)

    def hidden(self, batch: Batch) -> Tensor:
        assert batch.source is not None
        return self.decode(batch.ids, self.initial_state(batch.source))[0]

    def decode(self, ids: Tensor, state: SourceState) -> tuple[Tensor, SourceState]:
        """Ids (B, T) after those of the state: what the output layer reads, (B, T, W), and the new state."""
        y = self.embed(ids)
        s, context, layers = self.run_steps(y, state) if self.attends_before else self.run_at_once(y, state)
        read = [s, context, y] if self.attends_before else [s, context]
        readout = torch.tanh(self.decoder_readout(self.dropout(torch.cat(read, -1))))
        return self.dropout(readout), replace(state, layers=layers)

    def run_at_once(self, y: Tensor, state: SourceState) -> tuple[Tensor, Tensor, list[State]]:
        """s_i and C_i of all steps, and the states after the last; the states after a token attend."""
        summary = state.summary.repeat_interleave(state.beam_size, 0)[:, None].expand(-1, y.shape[1], -1)
        s = y if self.attends else torch.cat([y, summary], -1)
        layers = []
        for index, (layer, own) in enumerate(zip(self.decoder, state.layers, strict=True)):
            s, own = layer(s if index == 0 else self.dropout(s), own)
            layers.append(own)
        if not self.attends:
            return s, summary, layers
        context, weights = self.attend_source(s, state)
        self.weights(weights.flatten(1, 2))
        return s, context, layers

    def run_steps(self, y: Tensor, state: SourceState) -> tuple[Tensor, Tensor, list[State]]:
        """The same, one step after the other; the states before a token attend."""
        layers, steps = list(state.layers), []
        for token in y.unbind(1):
            context, weights = self.attend_source(layers[-1][0][:, None], state)
            x = torch.cat([token, context[:, 0]], -1)
            for index, layer in enumerate(self.decoder):
                assert isinstance(layer, Recurrent)
                layers[index] = layer.step(x if index == 0 else self.dropout(x), layers[index])
                x = layers[index][0]
            steps.append((x[:, None], context, weights))
        s, contexts, weights = (torch.cat(parts, -2) for parts in zip(*steps, strict=True))
        self.weights(weights.flatten(1, 2))
        return s, contexts, layers

    def attend_source(self, query: Tensor, state: SourceState) -> tuple[Tensor, Tensor]:
        """C_i for queries (N, T, D), as (N, T, E), and the weights, (B, N / B, T, S); the rows of one source attend to it together."""
        queries = query.reshape(len(state.source), -1, query.shape[-1])
        score = self.decoder_score.compare if isinstance(self.decoder_score, Additive | Projected) else self.decoder_score
        mixed, weights = attend(queries, state.keys, state.source, score=score, mask=state.mask)
        return mixed.view(*query.shape[:2], -1), weights.unflatten(1, (-1, query.shape[1]))

    def alignment(self, batch: Batch) -> Tensor | None:
        with torch.no_grad(), capture(self, self.weights) as seen:
            self.hidden(batch)
        return seen.get("weights")


class CoVe(Seq2Seq):
    """A Seq2Seq whose token vectors are for other tasks."""

    name = "cove"

    def encode(self, batch: Batch) -> Tensor:
        """[x_j, h_j], (B, S, W + E)."""
        return torch.cat(self.read_source(batch), -1)

    @property
    def depth(self) -> int:
        return self.config.layers

    def hidden_states(self, batch: Batch) -> list[Tensor]:
        """h of each layer of the encoder, without the tokens' own vectors, which are of another width."""
        with capture(self, *self.encoder, detach=False) as seen:
            self.read_source(batch)
        return list(seen.values())
