"""What every step is: a model with up to three verbs, which says itself which of them it has."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from stairs.errors import BadInput, Unsupported
from stairs.fast.int8 import Int8Linear
from stairs.fast.packed_linear import PackedLinear, Precision, for_inference
from stairs.layers.vocabulary import linear_cross_entropy, linear_nll
from stairs.text.batch import IGNORE_INDEX, Batch


class Model(nn.Module):
    """Ids in, vectors or chances out. A model knows nothing of text."""

    name = ""
    learns_by = "gradient"  # or "counting", or "sweeping": see fast/corpus_slice.py
    pretrains_with = "next-token"
    learning_rate = 1e-3  # the highest, unless another is asked for
    embedding_lr_scale = 1.0  # how many times as fast the tables of embeddings learn
    schedule = "linear"  # how it falls while the model sweeps over the text; or "constant"
    epochs = 5.0  # of a model that sweeps, unless told otherwise
    is_thread_invariant = False  # whether its sweeps give the same bits with any number of threads, --deterministic or not
    models_that_encode = "word2vec, elmo, gpt or bert"
    default_pooling = "mean"  # which token vectors stand for a text when a task is learnt: "mean", "cls" or "last"
    reads_characters = False  # whether words come to it as their letters, which `character_ids` gives for ids
    character_ids: Callable[[Tensor], Tensor]
    reads_context = False  # whether the vector of a token knows the others
    default_layers: str | None = None  # the layers that a task mixes unless it is told others, see tasks/parts/layer_mix.py
    takes_pairs = False  # whether its vectors tell how two texts in one row relate
    adds_end_token = False  # whether a text is read with the mark of its end
    pools_special_tokens = False  # whether the mean of a text's token vectors counts those of its marks, as transformers and sentence-transformers do

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config

    def encode(self, batch: Batch) -> Tensor:
        """A vector per token, (B, T, D)."""
        raise Unsupported(f"{self.name} has no token vectors; try {self.models_that_encode}")

    @property
    def reads_at_most(self) -> int | None:
        """Tokens of a row; None for any number."""
        return getattr(self.config, "context", None)

    @property
    def depth(self) -> int:
        """How many layers `hidden_states` gives; 0 if there is but one vector for each token."""
        return len(getattr(self, "blocks", ()))

    def check_layer(self, layer: int) -> int:
        """The number of a layer, counted from 0; below 0 it is counted from the last."""
        if not -self.depth <= layer < self.depth:
            there = f"it has {self.depth}, numbered from 0" if self.depth else "it has one vector for each token"
            raise BadInput(f"{self.name} has no layer {layer}; {there}")
        return layer % self.depth

    def hidden_states(self, batch: Batch) -> list[Tensor]:
        """A vector per token from every layer, the lowest first, (B, T, D) each."""
        blocks = getattr(self, "blocks", ())
        return record_outputs(blocks, lambda: self.encode(batch)) if blocks else [self.encode(batch)]

    def predict(self, batch: Batch) -> Tensor:
        """Log-chances of what follows each position, (B, T, V), up to a constant."""
        raise Unsupported(f"{self.name} does not predict tokens; try ngram, gpt or bert")

    def loss(self, batch: Batch) -> Tensor:
        """What training makes smaller: the mean surprise, in nats, of the batch's targets."""
        raise Unsupported(f"{self.name} has no loss of its own; a task gives it one")

    def log_likelihood(self, batch: Batch) -> Tensor:
        """Natural-log probability of each target (B, T), 0 where none is asked."""
        assert batch.targets is not None
        asked = batch.targets != IGNORE_INDEX
        scores = self.predict(batch).log_softmax(-1).gather(-1, batch.targets.clamp(min=0)[..., None])[..., 0]
        return scores.masked_fill(~asked, 0.0)

    def decode_step(self, ids: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Read one more id per row, (B,): log-chances of what follows, (B, V), and the state to go on from; None is the start."""
        read = ids[:, None] if state is None else torch.cat([state, ids[:, None]], 1)
        return self.predict(Batch(read, torch.ones_like(read, dtype=torch.bool)))[:, -1], read

    def initialize(self, seed: int) -> None:
        """Begin anew: every weight a function of the seed alone. Steps that count have none."""

    def start_at_unigram(self, log_shares: Tensor) -> None:
        """Let the untrained model predict each token of the vocabulary with its share of the text, e^log_shares (V,), so that no update is spent on
        finding out which tokens are frequent. Only models with a softmax over the vocabulary do."""

    def prefill(self, ids: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Read several ids per row, (B, T): what `decode_step` gives after the last of them."""
        for column in ids.unbind(1):
            logits, state = self.decode_step(column, state)
        return logits, state

    def check_length(self, length: int) -> None:
        """Refuse a row that is longer than the context, for models that have one."""
        most, enough = self.config.context, 1 << (length - 1).bit_length()
        if length > most:
            raise BadInput(f"{type(self).__name__} reads at most {most} tokens, got {length}; shorten the text or train with --context {enough}")

    def reorder(self, state: Any, rows: Tensor) -> Any:
        """The state to go on from with these rows, in this order, as a beam does. Rows may come more than once, or not at all."""
        return state[rows] if isinstance(state, Tensor) else [state[row] for row in rows.tolist()]

    def matched_order(self, state: Any) -> np.ndarray | None:
        """After `decode_step`, the length of the n-gram each chance rests on, for models that have n-grams."""
        return None

    def oov_vector(self, word: str) -> np.ndarray | None:
        """The vector (D,) of a word outside the vocabulary, for models that know its characters."""
        return None

    def optimizer_state(self) -> dict[str, Tensor]:
        """What sweeping remembers besides the weights, such as AdaGrad's sums."""
        return {}

    @classmethod
    def can(cls, verb: str) -> bool:
        return getattr(cls, verb) is not getattr(Model, verb)

    def tensors(self) -> dict[str, Tensor]:
        """What a saved model holds."""
        return {name: tensor.contiguous() for name, tensor in self.state_dict().items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take saved tensors."""
        self.check_tensors(tensors)
        self.load_state_dict(tensors)

    def check_tensors(self, tensors: dict[str, Tensor]) -> None:
        """BadInput says which of the saved tensors do not fit."""
        own = self.state_dict()
        wrong = [f"{name} missing" for name in own if name not in tensors] + [f"{name} unknown" for name in tensors if name not in own]
        wrong += [
            f"{name} is {tuple(tensors[name].shape)}, not {tuple(own[name].shape)}"
            for name in own
            if name in tensors and tensors[name].shape != own[name].shape
        ]
        if wrong:
            raise BadInput(f"the saved tensors do not fit this {self.name}: {'; '.join(wrong[:3])} ({len(wrong)} in all)")

    def describe(self) -> dict[str, Any]:
        return asdict(self.config)


class LanguageModel(Model):
    """A model that ends in a softmax over the vocabulary: it has a hidden vector for each position, and an output layer that may be the table of
    token vectors."""

    tokens: nn.Embedding
    output: nn.Module | None  # None: the table of token vectors
    label_smoothing = 0.0  # see `linear_cross_entropy`; in training only

    def hidden(self, batch: Batch) -> Tensor:
        """What the output layer reads, (B, T, D)."""
        raise AssertionError("each speaker has its own")

    def logits(self, hidden: Tensor) -> Tensor:
        return nn.functional.linear(hidden, self.tokens.weight) if self.output is None else self.output(hidden)

    @property
    def output_weight(self) -> Tensor:
        return self.tokens.weight if self.output is None else cast(Tensor, self.output.weight)

    def predict(self, batch: Batch) -> Tensor:
        return self.logits(self.hidden(batch))

    def loss(self, batch: Batch, hidden: Tensor | None = None) -> Tensor:
        """`hidden`: what `self.hidden` gives for the batch, if it is known."""
        assert batch.targets is not None
        asked = batch.targets != IGNORE_INDEX
        smoothing = self.label_smoothing if self.training else 0.0
        hidden = self.hidden(batch) if hidden is None else hidden
        return linear_cross_entropy(hidden[asked], self.output_weight, None, batch.targets[asked], smoothing) / asked.sum()

    @torch.no_grad()
    def log_likelihood(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        asked = batch.targets != IGNORE_INDEX
        found = linear_nll(self.hidden(batch)[asked], self.output_weight, None, batch.targets[asked])
        return torch.zeros(asked.shape, device=asked.device).masked_scatter(asked, -found)

    def for_inference(self, precision: Precision = "fp32") -> Self:
        """A copy that says the same faster: weights laid out anew, and in bf16 or int8 rounded. The output layer, most of the work, gains most."""
        twin = for_inference(self, precision)
        if self.output is None:
            twin.output = (Int8Linear if precision == "int8" else PackedLinear)(twin.tokens.weight)
        return twin


class EncoderDecoder(LanguageModel):
    """A speaker that has read a source before it begins: `batch.source`."""

    pretrains_with = "translate"
    reads_context = True
    adds_end_token = True

    def initial_state(self, source: Batch, rows: int = 1, length: int | None = None) -> Any:
        """The state before the first token is said, with room for so many `as_rows` for each source, one after the other, of so many tokens each;
        `choose_words` makes them more than one, all at once."""
        raise AssertionError("each translator has its own")

    def alignment(self, batch: Batch) -> Tensor | None:
        """How much each step looked at each token of the source, (B, T, S); None where there is but one vector to look at."""
        return None


def record_outputs(places: Iterable[nn.Module], work: Callable[[], Any]) -> list[Tensor]:
    """What passed through some places while `work` was done."""
    found: list[Tensor] = []
    with ExitStack() as hooks:
        for place in places:
            hooks.callback(place.register_forward_hook(lambda module, given, gave: found.append(gave)).remove)
        work()
    return found


def as_array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
