"""Tasks that answer with new text generate it with a copy of the model that is laid out for inference."""

import functools

from torch import Tensor

from stairs.errors import Unsupported
from stairs.fast.precision import Precision
from stairs.models.base import Model
from stairs.models.language_model import LanguageModel
from stairs.tasks.task import Task, TrainingExamples
from stairs.text.batch import IGNORE_INDEX, Batch


class Generative(Task):
    """A task with an `inference_model`."""

    generates = True
    precision: Precision = "fp32"  # of what is generated; int8 is faster and almost the same, as is bf16 where the processor has it

    @functools.cached_property
    def inference_model(self) -> Model:
        """A copy of the model that generates faster, where there is one."""
        return self.model.for_inference(self.precision) if isinstance(self.model, LanguageModel) else self.model

    def set_precision(self, precision: Precision) -> None:
        if precision != "fp32" and not isinstance(self.model, LanguageModel):
            raise Unsupported(f"{self.model_name} generates in fp32 only; leave --precision out")
        self.precision = precision
        self.__dict__.pop("inference_model", None)

    def training_loss(self, batch: Batch) -> tuple[Tensor, int]:
        assert batch.targets is not None
        count = int((batch.targets != IGNORE_INDEX).sum())
        return self.model.loss(self.add_characters(batch)) * count, count

    def start(self, seed: int, examples: TrainingExamples | None = None) -> None:
        super().start(seed, examples)
        self.__dict__.pop("inference_model", None)  # it has the weights from before
