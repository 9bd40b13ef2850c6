"""ELMo: vectors of words in their context, from two language models that read characters.

Peters et al. 2018, "Deep contextualized word representations":

    x_k   = the word, from its characters                                       see layers/characters.py
    h_k,1 = LSTM(x_k),   h_k,2 = LSTM(h_k,1) + h_k,1                            one pair of them reads from the left, one from the right
    p(t_k+1 | t_1 .. t_k) = softmax(h_k,2 tokens^T + b) from the left, p(t_k-1 | t_k .. t_N) from the right: the x and the softmax are the same

    R_k = [x_k, x_k], [h_k,1 of both], [h_k,2 of both]                          three vectors for each word
    ELMo_k = gamma * sum_j softmax(s)_j R_k,j                                   mixed anew for every task, see tasks/parts/layer_mix.py

Any word has characters, so no word is unknown when reading. The `output_vocab` most frequent words are predicted; all others as one.

In training the softmax is over all words or a sample of them (`layers/word_softmax.py`).

Departures: where the paper carries the state from one row of text to the next, ours reads `burn_in` words before the row, and after it for the other
direction, without learning from them: the gradient of a row depends on the text alone, and an interrupted run continues exactly. b starts at the
logarithm of the words' shares of the training text. The paper's program clips the LSTMs' cells and projections at 3; ours does in `--size paper`, or
with `--cell-clip` and `--projection-clip`, and such layers are unrolled, which takes longer. All sizes are trained by our AdamW and schedule with
gradients clipped at 1, where the program has Adagrad at a constant rate of 0.2 and clips at 10; batches are of 2048 words instead of 128 rows of 20.
"""

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from stairs.fast import recurrent_decoder
from stairs.fast.burn_in import BidirectionalTargets
from stairs.fast.decode_state import DecodeState
from stairs.layers.characters import CharacterCNN, distinct
from stairs.layers.dropout import Dropout
from stairs.layers.initial import initialize
from stairs.layers.recurrent import Recurrent, State, reverse_rows
from stairs.layers.vocabulary import linear_nll
from stairs.layers.word_softmax import WordSoftmax
from stairs.models.base import Model
from stairs.models.settings import ELMoConfig
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.character_ids import CHARACTER_ID_COUNTS


class ELMo(WordSoftmax, Model):
    """Two language models, three vectors for each word."""

    name = "elmo"
    config: ELMoConfig
    encodes = predicts = generates = reads_characters = reads_context = adds_end_token = True
    pretrains_with = "bidirectional-lm"
    default_layers = "all"
    prefill = recurrent_decoder.prefill_words

    def __init__(self, config: ELMoConfig) -> None:
        super().__init__(config)
        self.learning_rate = 2e-3 * min(1.0, 512 / config.hidden) ** 0.5
        self.characters = self.new_cnn()
        self.forwards, self.backwards = (
            nn.ModuleList(
                Recurrent("lstm", config.width, config.hidden, config.width, config.cell_clip, config.projection_clip) for _ in range(config.layers)
            )
            for _ in range(2)
        )
        self.dropout = Dropout(config.dropout)
        self.layer_taps = nn.ModuleList(nn.Identity() for _ in range(self.depth))  # R passes through them, for `capture`
        self.add_softmax(config, self.new_cnn)
        self.initialize_new()

    def new_cnn(self) -> CharacterCNN:
        config = self.config
        return CharacterCNN(CHARACTER_ID_COUNTS[config.character_set], config.character_width, config.filters, config.highways, config.width)

    def initialize(self, seed: int) -> None:
        initialize(self, seed, None)
        for part in self.modules():
            if isinstance(part, CharacterCNN):
                part.initialize()
        nn.init.zeros_(self.output_bias)

    def words(self, batch: Batch) -> Tensor:
        """x, (B, T, D): each different word is computed once."""
        assert batch.characters is not None, "the task fills in the characters of a batch"
        first, inverse = distinct(batch.ids.where(batch.real, self.config.begin).flatten())
        return self.characters(batch.characters.flatten(0, 1)[first])[inverse].unflatten(0, batch.ids.shape)

    def run_lstms(self, layers: nn.ModuleList, x: Tensor, states: list[State] | None = None) -> tuple[list[Tensor], list[State]]:
        """h of every layer, (B, T, D) each, in the direction of the positions; and the states after the last."""
        outputs, after = [], []
        for index, layer in enumerate(layers):
            h, state = layer(self.dropout(x), None if states is None else states[index])
            x = h if index == 0 else h + x
            outputs.append(x)
            after.append(state)
        return outputs, after

    @property
    def reads_at_most(self) -> None:
        """Any number of words: the context is that of training alone."""

    @property
    def depth(self) -> int:
        return self.config.layers + 1

    def hidden_states(self, batch: Batch) -> list[Tensor]:
        """R: [x, x], then both directions of each LSTM side by side, (B, T, 2 D) each."""
        x = self.words(batch)
        forward = self.run_lstms(self.forwards, x)[0]
        backward = [reverse_rows(h, batch.real) for h in self.run_lstms(self.backwards, reverse_rows(x, batch.real))[0]]
        layers = [torch.cat([x, x], -1), *(torch.cat(pair, -1) for pair in zip(forward, backward, strict=True))]
        return [tap(layer) for tap, layer in zip(self.layer_taps, layers, strict=True)]

    def encode(self, batch: Batch) -> Tensor:
        """The mean of R: the mix before any task has trained one."""
        return torch.stack(self.hidden_states(batch)).mean(0)

    def loss(self, batch: Batch) -> Tensor:
        """The mean of both directions: -ln p(next word | those before) and -ln p(word before | those after)."""
        both = BidirectionalTargets(batch, self.config.begin, self.config.end)
        hidden = both.hidden(partial(self.run_lstms, self.forwards), partial(self.run_lstms, self.backwards), self.words(batch))
        return self.nll(self.dropout(hidden), both.targets) / len(both.targets)

    @torch.no_grad()
    def log_likelihood(self, batch: Batch, backwards: bool = False) -> Tensor:
        """With `backwards`, of a text whose last word comes first."""
        assert batch.targets is not None
        has_target = batch.targets != IGNORE_INDEX
        hidden = self.run_lstms(self.backwards if backwards else self.forwards, self.words(batch))[0][-1][has_target]
        nll = linear_nll(hidden, self.output_weight, self.output_bias, self.output_targets(batch.targets[has_target]))
        return torch.zeros(has_target.shape, device=has_target.device).masked_scatter(has_target, -nll.float())

    def predict(self, batch: Batch) -> Tensor:
        """From the left."""
        return linear(self.run_lstms(self.forwards, self.words(batch))[0][-1], self.output_weight, self.output_bias)

    def decode_step(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        return self.prefill(ids[:, None], state)
