"""ELMo: vectors of words in their context, from two language models that read characters.

Peters et al. 2018, "Deep contextualized word representations":

    x_k   = the word, from its characters                                       see layers/characters.py
    h_k,1 = LSTM(x_k),   h_k,2 = LSTM(h_k,1) + h_k,1                            one pair of them reads from the left, one from the right
    p(t_k+1 | t_1 .. t_k) = softmax(h_k,2 tokens^T + b) from the left, p(t_k-1 | t_k .. t_N) from the right: the x and the softmax are the same

    R_k = [x_k, x_k], [h_k,1 of both], [h_k,2 of both]                          three vectors for each word
    ELMo_k = gamma * sum_j softmax(s)_j R_k,j                                   mixed anew for every task, see tasks/parts/layer_mix.py

Any word has characters, so no word is unknown when reading. The `output_vocab` most frequent words are predicted; all others as one.

The softmax in training: over all words, over a sample, or with `cnn` over a sample whose vectors come from their characters, with a correction:

    tokens_w = CNN(characters of w) + M c_w                                     Jozefowicz et al. 2016; c_w is short

Departures: where the paper carries the state from one row of text to the next, ours reads `burn_in` words before the row, and after it for the
other direction, without learning from them: the gradient of a row depends on the text alone, and an interrupted run continues exactly. b starts at
the logarithm of the words' shares of the training text. The paper's program clips the LSTMs' cells and projections at 3; ours clips neither. All
sizes are trained by our AdamW and schedule with gradients clipped at 1, where the program has Adagrad at a constant rate of 0.2 and clips at 10;
batches are of 2048 words instead of 128 rows of 20.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from stairs.fast.decode_state import CharacterState, DecodeState
from stairs.layers.characters import CharacterCNN, distinct
from stairs.layers.dropout import Dropout
from stairs.layers.initial import initialize
from stairs.layers.recurrent import Recurrent, State, reverse_rows
from stairs.layers.vocabulary import linear_cross_entropy, linear_nll, sampled_softmax_loss
from stairs.models.base import Model
from stairs.models.settings import ELMoConfig
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.character_ids import CHARACTER_ID_COUNTS

LARGE = 8192  # words from which on the full softmax is slow to train


class ELMo(Model):
    """Two language models, three vectors for each word."""

    name = "elmo"
    config: ELMoConfig
    encodes = predicts = generates = reads_characters = reads_context = adds_end_token = True
    pretrains_with = "bidirectional-lm"
    default_layers = "all"
    vocabulary_characters: Tensor | None  # (V, C), with `--softmax cnn`

    def __init__(self, config: ELMoConfig) -> None:
        super().__init__(config)
        width, layers = config.width, range(config.layers)
        self.learning_rate = 2e-3 * min(1.0, 512 / config.hidden) ** 0.5
        self.output_vocab = min(config.output_vocab, config.vocab_size)
        self.characters = self.new_cnn()
        self.forwards = nn.ModuleList(Recurrent("lstm", width, config.hidden, width) for _ in layers)
        self.backwards = nn.ModuleList(Recurrent("lstm", width, config.hidden, width) for _ in layers)
        self.dropout = Dropout(config.dropout)
        self.layer_taps = nn.ModuleList(nn.Identity() for _ in range(self.depth))  # R passes through them, for `capture`
        if config.softmax == "cnn":
            self.output_characters = self.new_cnn()
            self.output_correction = nn.Embedding(self.output_vocab, config.correction_width)
            self.output_projection = nn.Linear(config.correction_width, width, bias=False)
        else:
            self.output_words = nn.Embedding(self.output_vocab, width)
        self.output_bias = nn.Parameter(torch.zeros(self.output_vocab))
        self.register_buffer("vocabulary_characters", None, persistent=False)
        self.initialize_new()

    def new_cnn(self) -> CharacterCNN:
        config = self.config
        return CharacterCNN(CHARACTER_ID_COUNTS[config.character_set], config.character_width, config.filters, config.highways, config.width)

    def initialize(self, seed: int) -> None:
        initialize(self, seed, None)
        for part in self.modules():
            if isinstance(part, CharacterCNN):
                part.initialize()
        with torch.no_grad():
            self.output_bias.zero_()

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        """A word outside the output vocabulary counts as the unknown one."""
        self.output_bias.copy_(log_shares[: self.output_vocab])
        rest = log_shares[self.output_vocab :]
        if len(rest):
            self.output_bias[self.config.unknown] = torch.logaddexp(log_shares[self.config.unknown], rest.logsumexp(0))

    # Reading

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

    # Predicting

    def output_targets(self, targets: Tensor) -> Tensor:
        """A target outside the output vocabulary is the unknown word."""
        return targets.where(targets < self.output_vocab, self.config.unknown)

    def set_vocabulary(self, characters: Tensor) -> None:
        """The characters of every word of the output vocabulary, (V, C), for `--softmax cnn`."""
        self.vocabulary_characters = characters

    def output_vectors(self, ids: Tensor) -> Tensor:
        """tokens_w of words of the output vocabulary, (N,) to (N, D)."""
        if self.config.softmax != "cnn":
            return self.output_words(ids)
        assert self.vocabulary_characters is not None, "the task sets the vocabulary"
        words, inverse = torch.unique(ids, return_inverse=True)
        spelled = self.output_characters(self.vocabulary_characters[words])
        return (spelled + self.output_projection(self.output_correction(words)))[inverse]

    @property
    def output_weight(self) -> Tensor:
        """tokens, of the whole output vocabulary."""
        if self.config.softmax != "cnn":
            return self.output_words.weight
        return torch.cat([self.output_vectors(part) for part in torch.arange(self.output_vocab, device=self.output_bias.device).split(LARGE)])

    def loss(self, batch: Batch) -> Tensor:
        """The mean of both directions: -ln p(next word | those before) and -ln p(word before | those after). Only the columns from the first
        target to the last are learnt from; those outside are the burn-in."""
        assert batch.targets is not None
        has_next, real, length = batch.targets != IGNORE_INDEX, batch.real, batch.ids.shape[1]
        columns = has_next.any(0).nonzero()
        first, stop = int(columns[0]), int(columns[-1]) + 1
        x = self.words(batch)
        forward = self.hidden_within(self.forwards, x, first, stop)
        backward = reverse_rows(self.hidden_within(self.backwards, reverse_rows(x, real), length - stop, length - first), real)
        position = torch.arange(length, device=real.device)
        has_previous = real & (position >= max(first, 1)) & (position < stop)
        previous = batch.ids.roll(1, 1)
        previous = previous.where(previous != self.config.begin, self.config.end)  # as in the targets
        hidden = torch.cat([forward[has_next], backward[has_previous]])
        targets = self.output_targets(torch.cat([batch.targets[has_next], previous[has_previous]]))
        return self.nll(self.dropout(hidden), targets) / len(targets)

    def hidden_within(self, layers: nn.ModuleList, x: Tensor, start: int, stop: int) -> Tensor:
        """The last h of the positions from `start` to `stop`, zeros elsewhere, (B, T, D); those before are read without a gradient."""
        states = None
        if start:
            with torch.no_grad():
                states = self.run_lstms(layers, x[:, :start])[1]
        hidden = self.run_lstms(layers, x[:, start:stop], states)[0][-1]
        return pad(hidden, (0, 0, start, x.shape[1] - stop))

    def nll(self, hidden: Tensor, targets: Tensor) -> Tensor:
        if self.training and self.samples_words:
            return sampled_softmax_loss(hidden, self.output_vectors, self.output_bias, targets, self.config.samples)
        return linear_cross_entropy(hidden, self.output_weight, self.output_bias, targets)

    @property
    def samples_words(self) -> bool:
        return self.config.softmax in ("sampled", "cnn") or (self.config.softmax == "auto" and self.output_vocab > LARGE)

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

    @torch.no_grad()
    def prefill(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        assert isinstance(state, CharacterState), "the task says how words are spelled"
        characters = state.character_ids(ids.flatten()).unflatten(0, ids.shape)
        x = self.words(Batch(ids, torch.ones_like(ids, dtype=torch.bool), characters=characters))
        hidden, layers = self.run_lstms(self.forwards, x, state.layers)
        return linear(hidden[-1][:, -1], self.output_weight, self.output_bias), replace(state, layers=layers)

    def decode_step(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        return self.prefill(ids[:, None], state)
