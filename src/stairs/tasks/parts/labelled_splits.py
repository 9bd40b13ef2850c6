"""Labelled examples as training data: what `fit` is given in place of the shards of a text."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from stairs.data import TrainingData
from stairs.errors import Unsupported

if TYPE_CHECKING:
    from stairs.models.base import Model
    from stairs.text.shards import Shards


@dataclass(frozen=True)
class LabelledSplits:
    """Training, validation and test examples of any kind. Without a test split the finished run is evaluated on the validation split again, and the
    caller has test examples of his own."""

    train: Sequence[Any]
    validation: Sequence[Any]
    encoder: "str | Model" = ""  # the model that training starts from, or the hash of its weights
    test: Sequence[Any] = ()
    split_format: ClassVar[None] = None  # the caller made the splits

    def split(self, name: str) -> Sequence[Any]:
        return {"train": self.train, "validation": self.validation, "test": self.test}[name]

    @property
    def final_split(self) -> str:
        """The split that the finished model is evaluated on, once."""
        return "test" if self.test else "validation"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the examples, wherever they came from, and of the encoder."""
        encoder = self.encoder if isinstance(self.encoder, str) else weights_hash(self.encoder)
        digest = hashlib.sha256(encoder.encode())
        for example in (*self.train, None, *self.validation, None, *self.test):
            digest.update(repr(example and replace(example, where="")).encode())
        return digest.hexdigest()


def labelled_data(data: TrainingData) -> LabelledSplits:
    """The training data of a task that learns from labelled examples."""
    if not isinstance(data, LabelledSplits):
        raise Unsupported("this task learns from labelled examples, and this is the text of a corpus; give LabelledSplits")
    return data


def weights_hash(model: "Model") -> str:
    """Of the settings of a model and all its tensors, by name."""
    digest = hashlib.sha256(repr(model.describe()).encode())
    for name, tensor in sorted(model.tensors().items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensor.detach().cpu().float().numpy()).data)
    return digest.hexdigest()


def text_data(data: TrainingData) -> "Shards":
    """The training data of a task that learns from text."""
    if isinstance(data, LabelledSplits):
        raise Unsupported("this task learns from text, and these are labelled examples; give the shards of a corpus")
    return cast("Shards", data)
