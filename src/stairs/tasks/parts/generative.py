"""Tasks that answer with new text say it through a copy of the model that is laid out for speaking."""

import functools
from typing import Any

from torch import Tensor

from stairs.errors import Unsupported
from stairs.fast.packed_linear import Precision
from stairs.tasks.task import Task
from stairs.text.batch import IGNORE_INDEX, Batch


class Generative(Task):
    """A task with a `inference_model`."""

    precision: Precision = "fp32"  # of what is said; int8 is faster and almost the same, bf16 where the processor has it

    @functools.cached_property
    def inference_model(self) -> Any:
        """The model, laid out for speaking where that is faster."""
        prepare = getattr(self.model, "for_inference", None)
        return self.model if prepare is None else prepare(self.precision)

    def set_precision(self, precision: Precision) -> None:
        if precision != "fp32" and not hasattr(self.model, "for_inference"):
            raise Unsupported(f"{self.model_name} speaks in fp32 only; leave --precision out")
        self.precision = precision
        self.__dict__.pop("inference_model", None)

    def training_loss(self, batch: Batch) -> tuple[Tensor, int]:
        """Nats of all targets together, and how many there are."""
        assert batch.targets is not None
        count = int((batch.targets != IGNORE_INDEX).sum())
        return self.model.loss(self.add_characters(batch)) * count, count

    def start(self, seed: int, examples: Any = None) -> None:
        super().start(seed, examples)
        self.__dict__.pop("inference_model", None)  # it spoke with the weights of before
