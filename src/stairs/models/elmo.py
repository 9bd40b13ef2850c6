"""ELMo: vectors of words in their context, from two language models that read letters.

Peters et al. 2018, "Deep contextualized word representations":

    x_k   = the word, from its letters                                          see layers/characters.py
    h_k,1 = LSTM(x_k),   h_k,2 = LSTM(h_k,1) + h_k,1                            one pair of them reads from the left, one from the right
    p(t_k+1 | t_1 .. t_k) = softmax(h_k,2 tokens^T + b) from the left, p(t_k-1 | t_k .. t_N) from the right: the x and the softmax are the same

    R_k = [x_k, x_k], [h_k,1 of both], [h_k,2 of both]                          three vectors for each word
    ELMo_k = gamma * sum_j softmax(s)_j R_k,j                                   mixed anew for every task, see tasks/parts/layer_mix.py

Any word has letters, so there is no unknown word to read. To be said are the `head_outputs` most frequent words; all others are one.

The softmax in training: over all words, over a sample of them, or with `cnn` over a sample whose vectors are made from their letters, and corrected:

    tokens_w = CNN(letters of w) + M c_w                                        Jozefowicz et al. 2016; c_w is short

Departures: where the paper carries the state from one row of text to the next, ours reads `burn_in` words before the row, and behind it for the
other direction, without learning from them: what a row teaches depends on the text alone, and a run that was interrupted goes on exactly. b
begins at the logarithm of the words' shares of the training text. The paper's program clips the LSTMs' cells and projections at 3; ours clips
neither. All sizes are trained by our AdamW, schedule and gradients of length 1 at most, where the program has Adagrad at a steady rate of 0.2
and lets gradients be 10 long; batches are of 2048 words instead of 128 rows of 20.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from stairs.fast.decode_state import DecodeState, RecurrentState
from stairs.layers.characters import CharacterCNN, unique_with_inverse
from stairs.layers.dropout import Dropout
from stairs.layers.initial import initialize
from stairs.layers.recurrent import Recurrent, State, reverse_rows
from stairs.layers.vocabulary import linear_cross_entropy, linear_nll, sampled_softmax_loss
from stairs.models.base import Model
from stairs.models.settings import ELMoConfig
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.character_ids import CHARACTER_ID_COUNTS, FIRST_SPECIAL, WORD_BEGIN, WORD_END

LARGE = 8192  # words against which the full softmax is slow to train


class ELMo(Model):
    """Two language models, three vectors for each word."""

    name = "elmo"
    encodes = True
    predicts = True
    generates = True
    pretrains_with = "bidirectional-lm"
    reads_characters = True
    reads_context = True
    adds_end_token = True
    default_layers = "all"
    config: ELMoConfig

    def __init__(self, config: ELMoConfig) -> None:
        super().__init__(config)
        width, layers = config.width, range(config.layers)
        self.learning_rate = 2e-3 * min(1.0, 512 / config.hidden) ** 0.5
        self.output_vocab = min(config.output_vocab, config.vocab_size)
        self.character_ids = one_character_ids  # the letters of ids; a task puts its tokenizer's own in this place
        self.characters = CharacterCNN(CHARACTER_ID_COUNTS[config.character_set], config.character_width, config.filters, config.highways, width)
        self.forwards = nn.ModuleList(Recurrent("lstm", width, config.hidden, width) for _ in layers)
        self.backwards = nn.ModuleList(Recurrent("lstm", width, config.hidden, width) for _ in layers)
        self.dropout = Dropout(config.dropout)
        self.layer_taps = nn.ModuleList(nn.Identity() for _ in range(self.depth))  # R passes through here, for who looks
        if config.softmax == "cnn":
            self.output_characters = CharacterCNN(CHARACTER_ID_COUNTS[config.character_set], config.character_width, config.filters, config.highways,
                width)
            self.output_correction = nn.Embedding(self.output_vocab, config.correction_width)
            self.output_projection = nn.Linear(config.correction_width, width, bias=False)
        else:
            self.output_words = nn.Embedding(self.output_vocab, width)
        self.output_bias = nn.Parameter(torch.zeros(self.output_vocab))
        self.initialize(0)

    def initialize(self, seed: int) -> None:
        initialize(self, seed, None)
        for part in self.modules():
            if isinstance(part, CharacterCNN):
                part.initialize()
        with torch.no_grad():
            self.output_bias.zero_()

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        """A word that cannot be said counts as the unknown one."""
        self.output_bias.copy_(log_shares[: self.output_vocab])
        rest = log_shares[self.output_vocab :]
        if len(rest):
            self.output_bias[self.config.unknown] = torch.logaddexp(log_shares[self.config.unknown], rest.logsumexp(0))

    # Reading

    def words(self, batch: Batch) -> Tensor:
        """x, (B, T, D): each different word once."""
        if batch.characters is not None:
            words, places = unique_with_inverse(batch.characters.flatten(0, 1))
        else:
            ids, places = unique_with_inverse(batch.ids.where(batch.real, self.config.begin).flatten())
            words = self.character_ids(ids)
        return self.characters(words)[places].unflatten(0, batch.ids.shape)

    def run_lstms(self, layers: nn.ModuleList, x: Tensor, states: list[State] | None = None) -> tuple[list[Tensor], list[State]]:
        """h of every layer, (B, T, D) each, in the direction of the positions; and the states after the last."""
        found, after = [], []
        for number, layer in enumerate(layers):
            h, state = layer(self.dropout(x), None if states is None else states[number])
            x = h if number == 0 else h + x
            found.append(x)
            after.append(state)
        return found, after

    @property
    def reads_at_most(self) -> None:
        """The context is that of training alone: what reads word by word reads on."""

    @property
    def depth(self) -> int:
        return self.config.layers + 1

    def hidden_states(self, batch: Batch) -> list[Tensor]:
        """R: [x, x], then both directions of each LSTM side by side, (B, T, 2 D) each."""
        x = self.words(batch)
        from_left = self.run_lstms(self.forwards, x)[0]
        from_right = [reverse_rows(h, batch.real) for h in self.run_lstms(self.backwards, reverse_rows(x, batch.real))[0]]
        found = [torch.cat([x, x], -1), *(torch.cat(pair, -1) for pair in zip(from_left, from_right, strict=True))]
        return [place(layer) for place, layer in zip(self.layer_taps, found, strict=True)]

    def encode(self, batch: Batch) -> Tensor:
        """Their mean: the mix that no task has changed yet."""
        return torch.stack(self.hidden_states(batch)).mean(0)

    # Predicting

    def output_targets(self, targets: Tensor) -> Tensor:
        """What is to be said for each target: a word beyond those that can be is the unknown one."""
        return targets.where(targets < self.output_vocab, self.config.unknown)

    def output_vectors(self, ids: Tensor) -> Tensor:
        """Of words that can be said, (N,) to (N, D)."""
        if self.config.softmax != "cnn":
            return self.output_words(ids)
        words, places = unique_with_inverse(ids)
        return (self.output_characters(self.character_ids(words)) + self.output_projection(self.output_correction(words)))[places]

    @property
    def output_weight(self) -> Tensor:
        """Of all of them, (outputs, D)."""
        if self.config.softmax != "cnn":
            return self.output_words.weight
        return torch.cat([self.output_vectors(part) for part in torch.arange(self.output_vocab, device=self.output_bias.device).split(LARGE)])

    def loss(self, batch: Batch) -> Tensor:
        """The mean of both directions. Words at the ends of the rows that nobody asks for are read, and not learnt from."""
        assert batch.targets is not None
        asked, real, length = batch.targets != IGNORE_INDEX, batch.real, batch.ids.shape[1]
        columns = asked.any(0).nonzero()
        first, last = int(columns[0]), int(columns[-1])
        x = self.words(batch)
        from_left = self.hidden_after_context(self.forwards, x[:, : last + 1], first)[asked[:, first : last + 1]]
        turned = self.hidden_after_context(self.backwards, reverse_rows(x, real)[:, : length - first], length - 1 - last)
        from_right = reverse_rows(pad(turned, (0, 0, length - 1 - last, first)), real)
        has_one = real & (torch.arange(length, device=real.device) >= max(first, 1)) & (torch.arange(length, device=real.device) <= last)
        before = batch.ids.roll(1, 1)[has_one]
        before = before.where(before != self.config.begin, self.config.end)  # as the targets have it
        targets = self.output_targets(torch.cat([batch.targets[asked], before]))
        return self.nll(self.dropout(torch.cat([from_left, from_right[has_one]])), targets) / len(targets)

    def hidden_after_context(self, layers: nn.ModuleList, x: Tensor, carried: int) -> Tensor:
        """The last h of each position behind those that are only carried along."""
        states = None
        if carried:
            with torch.no_grad():
                states = self.run_lstms(layers, x[:, :carried])[1]
        return self.run_lstms(layers, x[:, carried:], states)[0][-1]

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
        asked = batch.targets != IGNORE_INDEX
        hidden = self.run_lstms(self.backwards if backwards else self.forwards, self.words(batch))[0][-1][asked]
        found = linear_nll(hidden, self.output_weight, self.output_bias, self.output_targets(batch.targets[asked]))
        return torch.zeros(asked.shape, device=asked.device).masked_scatter(asked, -found.float())

    def predict(self, batch: Batch) -> Tensor:
        """From the left."""
        return nn.functional.linear(self.run_lstms(self.forwards, self.words(batch))[0][-1], self.output_weight, self.output_bias)

    @torch.no_grad()
    def prefill(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        before = state.layers if isinstance(state, RecurrentState) else None
        hidden, after = self.run_lstms(self.forwards, self.words(Batch(ids, torch.ones_like(ids, dtype=torch.bool))), before)
        return nn.functional.linear(hidden[-1][:, -1], self.output_weight, self.output_bias), RecurrentState(after)

    def decode_step(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        return self.prefill(ids[:, None], state)


def one_character_ids(ids: Tensor) -> Tensor:
    """Without a tokenizer an id is a word of one letter."""
    marks = torch.full_like(ids, WORD_BEGIN), torch.full_like(ids, WORD_END)
    return torch.stack([marks[0], FIRST_SPECIAL + ids % (CHARACTER_ID_COUNTS["bytes"] - FIRST_SPECIAL), marks[1]], 1)
