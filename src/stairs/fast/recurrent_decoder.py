"""Decoding with models that carry a small state along: the states of their cells, or the last few words.

A step equals the last position of `predict` for the whole text, which is what a model without it computes anew (`Model.decode_step`): for all three
tests/contract/test_every_model.py, for ELMo also tests/models/test_elmo.py.
"""

from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from stairs.fast.decode_state import CharacterState, DecodeState, IdsState, SourceState
from stairs.layers.recurrent import State
from stairs.text.batch import Batch


class CharacterModel(Protocol):
    """What decoding needs of ELMo."""

    forwards: nn.ModuleList
    output_bias: nn.Parameter

    @property
    def output_weight(self) -> Tensor: ...

    def words(self, batch: Batch) -> Tensor: ...

    def run_lstms(self, layers: nn.ModuleList, x: Tensor, states: list[State] | None) -> tuple[list[Tensor], list[State]]: ...


@torch.no_grad()
def prefill_words(model: CharacterModel, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
    """From the left, on from the states of the cells; words are read as their characters."""
    assert isinstance(state, CharacterState), "the task says how words are spelled"
    characters = state.character_ids(ids.flatten()).unflatten(0, ids.shape)
    x = model.words(Batch(ids, torch.ones_like(ids, dtype=torch.bool), characters=characters))
    hidden, layers = model.run_lstms(model.forwards, x, state.layers)
    return linear(hidden[-1][:, -1], model.output_weight, model.output_bias), replace(state, layers=layers)


class RecurrentDecoder(Protocol):
    """What decoding needs of Seq2Seq."""

    def decode(self, ids: Tensor, state: SourceState) -> tuple[Tensor, SourceState]: ...

    def logits(self, hidden: Tensor) -> Tensor: ...


@torch.no_grad()
def prefill_targets(model: RecurrentDecoder, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
    """On from the states of the decoder's cells; the source is encoded once."""
    assert isinstance(state, SourceState)
    hidden, state = model.decode(ids, state)
    return model.logits(hidden[:, -1]).float(), state


class WindowConfig(Protocol):
    @property
    def order(self) -> int: ...

    @property
    def begin(self) -> int: ...


class WindowModel(Protocol):
    """What decoding needs of NNLM."""

    output: nn.Linear

    @property
    def config(self) -> WindowConfig: ...

    def features(self, contexts: Tensor) -> Tensor: ...


@torch.no_grad()
def decode_window(model: WindowModel, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
    """The state is the last n-1 words."""
    last = state.ids if isinstance(state, IdsState) else ids.new_full((len(ids), model.config.order - 1), model.config.begin)
    last = torch.cat([last[:, 1:], ids[:, None]], 1)
    return model.output(model.features(last)), IdsState(last)
