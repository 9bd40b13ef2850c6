"""What every model is: ids in, vectors or predictions out. A model says itself what it can do, and which others can do the rest."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor, nn

from stairs.errors import BadInput, Unsupported
from stairs.fast.decode_state import DecodeState, IdsState
from stairs.layers.capture import FastPath, capture
from stairs.models.settings import ModelConfig, saved_config
from stairs.text.batch import IGNORE_INDEX, Batch


class Model(nn.Module, FastPath):
    """Ids in, vectors or logits out. A model knows nothing of text."""

    name: ClassVar[str] = ""
    config: ModelConfig
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
    takes_trees: ClassVar[bool] = False  # can know where words stand in a dependency tree: `tree_distance` of its config
    has_auxiliary_loss: ClassVar[bool] = False  # its own loss is added when a task is learnt (Radford et al. 2018)
    embedding_layers: ClassVar[tuple[str, ...]] = ("tokens.", "positions.", "segments.", "vectors", "ngrams")  # weights below the first block

    # How it is trained and used unless told otherwise
    learns_by: ClassVar[Literal["gradient", "counting", "sweeping", "adoption"]] = "gradient"  # sweeping: see fast/corpus_slice.py
    pretrains_with: ClassVar[str] = "next-token"  # name of the task
    learning_rate: float = 1e-3  # peak learning rate
    embedding_lr_scale: float = 1.0  # learning rate of the embeddings, as a multiple of the others'
    schedule: ClassVar[Literal["linear", "constant"]] = "linear"  # of the learning rate of a model that sweeps
    epochs: ClassVar[float] = 5.0  # of a model that sweeps
    is_thread_invariant: ClassVar[bool] = False  # sweeps give the same bits with any number of threads, --deterministic or not
    default_pooling: ClassVar[Literal["mean", "max", "cls", "last"]] = "mean"  # which token vectors stand for a text
    default_layers: ClassVar[str | None] = None  # layers that a task mixes, see tasks/parts/layer_mix.py
    adds_end_token: ClassVar[bool] = False  # a text is read with the mark of its end
    pools_special_tokens: ClassVar[bool] = False  # the mean over a text counts its special tokens, as transformers and sentence-transformers do
    models_that_encode: ClassVar[str] = "word2vec, elmo, gpt or bert"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config

    # Vectors

    def encode(self, batch: Batch) -> Tensor:
        """A vector for each token, (B, T, D)."""
        raise Unsupported(f"{self.name} has no token vectors; try {self.models_that_encode}")

    def encode_cls(self, batch: Batch) -> Tensor:
        """The vector of the first token alone, (B, 1, D)."""
        return self.encode(batch)[:, :1]

    def pool(self, hidden: Tensor) -> Tensor:
        """A vector for each row as a whole, (B, D), from the token vectors (B, T, D)."""
        raise Unsupported(f"{self.name} has no pooler; take the mean of its token vectors")

    @property
    def depth(self) -> int:
        """How many layers `hidden_states` gives; 0 if there is but one vector for each token."""
        return self.block_count

    @property
    def block_count(self) -> int:
        return len(self.blocks) if self.is_transformer else 0

    def hidden_states(self, batch: Batch) -> list[Tensor]:
        """A vector for each token from every layer, the lowest first, (B, T, D) each."""
        if not self.is_transformer:
            return [self.encode(batch)]
        with capture(self, *self.blocks, detach=False) as seen:
            self.encode(batch)
        return list(seen.values())

    @torch.no_grad()
    def attention_weights(self, batch: Batch) -> list[Tensor]:
        """How much each token attends to each, in every head of every block, the lowest first, (B, H, T, T) each."""
        with capture(self) as seen:
            self.encode(batch)
        return [seen[f"blocks.{number}.attention"] for number in range(self.block_count)]

    def check_layer(self, layer: int) -> int:
        """The index of a layer, counted from 0; a negative one counts from the last."""
        if not -self.depth <= layer < self.depth:
            has = f"it has {self.depth}, numbered from 0" if self.depth else "it has one vector for each token"
            raise BadInput(f"{self.name} has no layer {layer}; {has}")
        return layer % self.depth

    # Predictions

    def predict(self, batch: Batch) -> Tensor:
        """Logits of the token that follows each position, (B, T, V)."""
        raise Unsupported(f"{self.name} does not predict tokens; try ngram, gpt or bert")

    def loss(self, batch: Batch) -> Tensor:
        """The objective of training: the mean negative log-likelihood of the batch's targets, in nats."""
        raise Unsupported(f"{self.name} has no loss of its own; a task gives it one")

    def log_likelihood(self, batch: Batch) -> Tensor:
        """Natural-log probability of each target (B, T), 0 where there is none."""
        assert batch.targets is not None
        scores = self.predict(batch).log_softmax(-1).gather(-1, batch.targets.clamp(min=0)[..., None])[..., 0]
        return scores.masked_fill(batch.targets == IGNORE_INDEX, 0.0)

    def prefill(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        """Read ids (B, T), after those of the state: logits of the token that follows, (B, V), and the state to continue from."""
        for column in ids.unbind(1):
            logits, state = self.decode_step(column, state)
        assert state is not None
        return logits, state

    def decode_step(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        """`prefill` for one more id in each row, (B,)."""
        if self.predicts and not self.generates:
            raise Unsupported(f"{self.name} reads the whole text at once and cannot continue it; try ngram or gpt")
        assert state is None or isinstance(state, IdsState)
        prefix = ids[:, None] if state is None else torch.cat([state.ids, ids[:, None]], 1)
        return self.predict(Batch(prefix, torch.ones_like(prefix, dtype=torch.bool)))[:, -1], IdsState(prefix)

    def matched_order(self, state: DecodeState) -> np.ndarray | None:
        """After a step, the order of the n-gram behind the probability of each token, for models of n-grams."""
        return None

    @property
    def reads_at_most(self) -> int | None:
        """Tokens of a row; None for any number."""
        return self.config.context or None

    def row_limit(self, wanted: int | None) -> int | None:
        """Tokens of a row if so many are wanted: at most a context, unless positions go beyond it; None for any number."""
        if wanted and self.config.reads_beyond_context:
            return wanted
        return min(filter(None, (wanted, self.reads_at_most)), default=None)

    def check_length(self, length: int) -> int:
        """The length, if a row may have it; BadInput beyond the context, unless there are positions for it."""
        context = self.config.context
        if context and length > context and not self.config.reads_beyond_context:
            enough = 1 << (length - 1).bit_length()
            raise BadInput(f"{type(self).__name__} reads at most {context} tokens, got {length}; shorten the text or train with --context {enough}")
        return length

    @property
    def needs_trees(self) -> bool:
        """Whether it reads batches with `tree_distances` only."""
        return False

    def position_ids(self, batch: Batch) -> Tensor:
        """Those that a batch brings, which are within the context, (B, T), or 0, 1, 2 and so on for all rows, (T,)."""
        if batch.position_ids is not None:
            return batch.position_ids
        return torch.arange(self.check_length(batch.ids.shape[1]), device=batch.ids.device)

    # Weights

    def initialize(self, seed: int) -> None:
        """New weights, each a function of the seed and its name. Models that count have none."""

    def initialize_new(self) -> None:
        """The weights of seed 0, with which a model is built; none if it is built on the meta device, to take saved ones."""
        if not self.is_unallocated:
            self.initialize(0)

    @property
    def is_unallocated(self) -> bool:
        return any(weight.is_meta for weight in self.parameters())

    def start_at_unigram(self, log_shares: Tensor) -> None:
        """Let the untrained model predict each token with its share of the text, e^log_shares (V,), so that no update is spent on learning which
        tokens are frequent. Only models with a softmax over the vocabulary do."""

    def oov_vector(self, word: str) -> np.ndarray | None:
        """The vector (D,) of a word outside the vocabulary, for models that know its subwords."""
        return None

    def optimizer_state(self) -> dict[str, Tensor]:
        """What a model that sweeps remembers besides its weights, such as AdaGrad's sums."""
        return {}

    def tensors(self) -> dict[str, Tensor]:
        """What a saved model holds."""
        return {name: tensor.contiguous() for name, tensor in self.state_dict().items()}

    @classmethod
    def from_saved(cls, config: Mapping[str, object], tensors: Mapping[str, Tensor], path: Path) -> Self:
        """The model of which `describe` gave the config and `tensors` the rest; `path` is the file that holds the config."""
        return cls.from_tensors(saved_config(cls.name, config, path), tensors)

    @classmethod
    def from_tensors(cls, config: ModelConfig, tensors: Mapping[str, Tensor]) -> Self:
        """A model with these tensors. Nothing is allocated and initialised only to be replaced, except where a kernel has its own layout."""
        with torch.device("meta" if cls.learns_by == "gradient" else "cpu"):
            model = cls(config)
        model.restore(tensors)
        return model

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take saved tensors, by copying them: those of a mapped file are not aligned as a product wants them, and its last bits might differ."""
        self.check_tensors(tensors)
        if self.is_unallocated:
            own = self.state_dict()
            tensors = {name: tensor.to(own[name].dtype, copy=True) for name, tensor in tensors.items()}
        self.load_state_dict(tensors, assign=self.is_unallocated)

    def check_tensors(self, tensors: Mapping[str, Tensor]) -> None:
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

    def describe(self) -> dict[str, object]:
        """The config, as it is saved."""
        return asdict(self.config)


def as_array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
