"""CNN: filters over windows of words.

Kim 2014, "Convolutional Neural Networks for Sentence Classification":

    h_t    = relu(W_w [x_t-a .. x_t+b] + b_w)        for each window of w = a + 1 + b words, here 3, 4 and 5: so many filters over so many words
    v      = max over t of h_t                       "max over time": how strongly each filter fires anywhere in the text
    labels = softmax(W v + b)                        the head of tasks/classify.py

A window sees w words, so two words that are n apart meet only after about n / w layers (Collobert et al. 2011, "Natural Language Processing (Almost)
from Scratch", for tags). In a dilated layer the words of a window stand d apart, and with d = 2, 4, 8, ... what a token sees grows exponentially with
the layers (Yu & Koltun 2016; Strubell et al. 2017 for tags):

    h'_t = h_t + relu(W [h_t-d, h_t, h_t+d] + b)

A text and a pair have the first layer alone, tags and spans some dilated ones above it. Beyond the ends of a text a window reads zeros, so that
padding changes no vector.

Departures: Kim's windows lie within the padded text, ours have their middle at each word. Dropout sets whole filters of a text to 0, which is
Kim's dropout of v, and for tags the same filters at every word. Word vectors have some dropout, too, except in the size `paper`. We train with
AdamW, weight decay and clipped gradients where Kim has Adadelta and bounds the norm of W; Strubell et al. repeat one stack with shared weights and
a loss after each repetition, and start it as an identity where we add h_t.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from stairs.layers.dropout import Dropout
from stairs.layers.initial import initialize
from stairs.models.base import Model
from stairs.models.settings import CNNConfig
from stairs.text.batch import Batch

DILATED_WINDOW = 3  # words


class CNN(Model):
    """Word vectors, windows of several widths over them, and a stack of dilated windows."""

    name = "cnn"
    config: CNNConfig
    encodes = reads_context = True
    pretrains_with = "encode"
    default_pooling = "max"
    learning_rate = 2e-3

    def __init__(self, config: CNNConfig) -> None:
        super().__init__(config)
        filters = config.width // len(config.windows)
        self.tokens = nn.Embedding(config.vocab_size, config.word_width)
        self.windows = nn.ModuleList(nn.Linear(size * config.word_width, filters) for size in config.windows)
        self.dilated = nn.ModuleList(nn.Linear(DILATED_WINDOW * config.width, config.width) for _ in range(config.dilated_layers))
        self.layer_taps = nn.ModuleList(nn.Identity() for _ in range(self.depth))  # h passes through them, for `capture`
        self.input_dropout, self.dropout = Dropout(config.input_dropout), Dropout(config.dropout)
        self.initialize_new()

    def initialize(self, seed: int) -> None:
        initialize(self, seed, None)

    @property
    def depth(self) -> int:
        return self.config.dilated_layers + 1

    def hidden_states(self, batch: Batch) -> list[Tensor]:
        """h of each layer, (B, T, D) each."""
        real = batch.real.flatten().nonzero()[:, 0]
        x = place(self.input_dropout(self.tokens(batch.ids.flatten()[real])), real, batch)
        parts = zip(self.config.windows, self.windows, strict=True)
        h = place(torch.cat([filters(windows(x, size, 1, real)) for size, filters in parts], -1).relu(), real, batch)
        states = [self.layer_taps[0](h)]
        for number, (layer, tap) in enumerate(zip(self.dilated, self.layer_taps[1:], strict=True), 1):
            h = h + place(layer(windows(h, DILATED_WINDOW, self.config.dilation**number, real)).relu(), real, batch)
            states.append(tap(h))
        return states

    def encode(self, batch: Batch) -> Tensor:
        h = self.hidden_states(batch)[-1]
        return h * self.dropout(h.new_ones(len(h), 1, h.shape[-1]))


def windows(x: Tensor, size: int, dilation: int, real: Tensor) -> Tensor:
    """The `size` vectors around each token side by side, of (B, T, D) those of the `real` ones, (N, size * D); even windows lean to the right."""
    length, before, after = x.shape[1], (size - 1) // 2 * dilation, size // 2 * dilation
    padded = pad(x, (0, 0, before, after))
    return torch.cat([padded[:, start : start + length] for start in range(0, size * dilation, dilation)], -1).flatten(0, 1).index_select(0, real)


def place(vectors: Tensor, real: Tensor, batch: Batch) -> Tensor:
    """The vectors of the `real` tokens (N, D) where they stand in the batch, (B, T, D), and zeros elsewhere."""
    rows, length = batch.ids.shape
    return vectors.new_zeros(rows * length, vectors.shape[-1]).index_copy(0, real, vectors).unflatten(0, (rows, length))
