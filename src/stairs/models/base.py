"""What every step is: a model with up to three verbs, which says itself which of them it has."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from stairs.errors import BadInput, Unsupported
from stairs.text.batch import IGNORE_INDEX, Batch


class Model(nn.Module):
    """Ids in, vectors or logits out. A model knows nothing of text."""

    name: ClassVar[str] = ""
    blocks: nn.ModuleList  # where `is_transformer`; of an encoder-decoder those of the encoder

    # What it can do: claims that tasks, commands and pictures ask for
    is_transformer: ClassVar[bool] = False  # made of `blocks` of attention
    is_encoder_decoder: ClassVar[bool] = False  # reads a source and generates a target
    encodes: ClassVar[bool] = False  # has a vector for each token: `encode`
    predicts: ClassVar[bool] = False  # has probabilities of tokens: `predict`, `log_likelihood`
    generates: ClassVar[bool] = False  # reads from left to right and can continue a text: `prefill`, `decode_step`
    fills_blanks: bool = False  # predicts a token from both sides of it
    takes_pairs: ClassVar[bool] = False  # its vectors say how two texts in one row relate
    reads_context: ClassVar[bool] = False  # the vector of a token depends on the others
    reads_characters: ClassVar[bool] = False  # reads words as their characters
    has_ngrams: ClassVar[bool] = False  # knows which n-gram is behind a probability: `matched_order`, `target_scores`
    has_subwords: bool = False  # makes vectors of words it has not seen: `oov_vector`
    has_pooler: bool = False  # has a vector for a whole row: `pool`

    # How it is trained and used unless told otherwise
    learns_by: ClassVar[Literal["gradient", "counting", "sweeping", "adoption"]] = "gradient"  # sweeping: see fast/corpus_slice.py
    pretrains_with: ClassVar[str] = "next-token"  # name of the task
    learning_rate: float = 1e-3  # peak learning rate
    embedding_lr_scale: float = 1.0  # learning rate of the embeddings, as a multiple of the others'
    schedule: ClassVar[Literal["linear", "constant"]] = "linear"  # of the learning rate of a model that sweeps
    epochs: ClassVar[float] = 5.0  # of a model that sweeps
    is_thread_invariant: ClassVar[bool] = False  # sweeps give the same bits with any number of threads, --deterministic or not
    default_pooling: ClassVar[Literal["mean", "cls", "last"]] = "mean"  # which token vectors stand for a text
    default_layers: ClassVar[str | None] = None  # layers that a task mixes, see tasks/parts/layer_mix.py
    adds_end_token: ClassVar[bool] = False  # a text is read with the mark of its end
    pools_special_tokens: ClassVar[bool] = False  # the mean over a text counts its special tokens, as transformers and sentence-transformers do
    models_that_encode: ClassVar[str] = "word2vec, elmo, gpt or bert"

    character_ids: Callable[[Tensor], Tensor]

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
    def block_count(self) -> int:
        """How many blocks of attention it has."""
        return len(self.blocks) if self.is_transformer else 0

    @property
    def depth(self) -> int:
        """How many layers `hidden_states` gives; 0 if there is but one vector for each token."""
        return self.block_count

    def encode_cls(self, batch: Batch) -> Tensor:
        """The vector of the first token of each row, (B, 1, D)."""
        return self.encode(batch)[:, :1]

    def pool(self, hidden: Tensor) -> Tensor:
        """A vector for each row as a whole, (B, D), from the token vectors (B, T, D)."""
        raise Unsupported(f"{self.name} has no pooler; take the mean of its token vectors")

    def check_layer(self, layer: int) -> int:
        """The number of a layer, counted from 0; below 0 it is counted from the last."""
        if not -self.depth <= layer < self.depth:
            there = f"it has {self.depth}, numbered from 0" if self.depth else "it has one vector for each token"
            raise BadInput(f"{self.name} has no layer {layer}; {there}")
        return layer % self.depth

    def hidden_states(self, batch: Batch) -> list[Tensor]:
        """A vector per token from every layer, the lowest first, (B, T, D) each."""
        return record_outputs(self.blocks, lambda: self.encode(batch)) if self.is_transformer else [self.encode(batch)]

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
