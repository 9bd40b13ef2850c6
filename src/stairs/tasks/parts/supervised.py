"""Supervised: what labelled examples teach. A pretrained encoder, a small head on top, and as much of the encoder as the transfer lets learn.

    loss = sum over what is asked of -ln P(what the label says), with P = softmax(head(features))          see `encoder_features.py`

A gpt learns its own language on the same rows besides, `auxiliary_weight` times as much (Radford et al. 2018).
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from stairs.errors import BadInput, preview
from stairs.layers.initial import initialize
from stairs.models.base import Model
from stairs.models.language_model import LanguageModel
from stairs.models.transfer_options import TransferOptions
from stairs.progress import say_verbose
from stairs.tasks.metrics import METRICS, error_from
from stairs.tasks.parts.encoder_features import EncoderFeatures
from stairs.tasks.parts.epochs import MIN_UPDATES
from stairs.tasks.parts.feature_cache import cached_features
from stairs.tasks.parts.fine_tuning import TrainedModule, check_transfer, default_learning_rate, encoder_lr_scales
from stairs.tasks.parts.layer_mix import FeatureExtractor
from stairs.tasks.parts.rows import EncodedInput, InputFormat, LabelledRows
from stairs.tasks.task import Task, load_weights
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.examples import Example
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.windows import LongTextRule

HEAD = "head.safetensors"
EPOCHS = {"full": 3.0, "top": 3.0, "table": 10.0, "frozen": 10.0, "features": 40.0}
BATCH = 32  # examples of a step


@dataclass(frozen=True)
class LabelledSplits:
    """Labelled examples: what `fit` is given instead of the shards of a text. Without a test part the finished run is judged on the validation part
    again, and its caller has examples of his own for the test."""

    train: Sequence[Example]
    validation: Sequence[Example]
    encoder: str = ""  # the hash of the weights that training begins with
    test: Sequence[Example] = ()

    def split(self, split: str) -> Sequence[Example]:
        return {"train": self.train, "validation": self.validation, "test": self.test}[split]

    @property
    def final_split(self) -> str:
        """Judged once, with the weights that were chosen."""
        return "test" if self.test else "validation"

    split_format: ClassVar[None] = None  # the caller made the splits

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the examples, wherever they came from, and of the encoder."""
        digest = hashlib.sha256(self.encoder.encode())
        for example in (*self.train, None, *self.validation, None, *self.test):
            digest.update(repr(example and replace(example, where="")).encode())
        return digest.hexdigest()


class Supervised(EncoderFeatures):
    """An encoder and a head. Each task says which rows it reads, what the head sees, what is asked, and how it is judged."""

    monitor = "error"
    learns_by = "gradient"
    head: nn.Module
    long_text: LongTextRule = "head+tail"

    def __init__(self, model: Model, tokenizer: Tokenizer, transfer: TransferOptions | None = None, **settings: Any) -> None:
        super().__init__(model, tokenizer)
        self.transfer = transfer or TransferOptions()
        check_transfer(self.transfer, model)
        self.settings = settings  # what the labels decided, such as their names: kept with the run
        if self.transfer.trains_encoder and model.learns_by == "adoption":
            model.vectors = nn.Parameter(model.tensors()["vectors"].clone())  # the table lies in a file that is not to be written
        self.feature_extractor = FeatureExtractor(model, self.transfer, settings.get("words", ()), self.tokenizer.token)
        self.width = self.feature_extractor.width
        self.head = self.new_head()
        self.head.feature_extractor = self.feature_extractor  # what learns besides the encoder is kept together
        self.word_vectors: np.ndarray | None = None  # that the reader begins with
        self.trained = TrainedModule(model, self.head, self.transfer)
        self.cached_rows: dict[str, LabelledRows] = {}

    # What each task says for itself

    def new_head(self) -> nn.Module:
        raise AssertionError("each task has its own")

    def rows(self, examples: Sequence[Any]) -> list[EncodedInput]:
        """All that is read for the examples, with targets where they have labels."""
        raise AssertionError("each task has its own")

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        """What is asked of rows, as fields of a batch."""
        raise AssertionError("each task has its own")

    def summed_loss(self, said: Tensor, batch: Batch) -> tuple[Tensor, int]:
        """Nats of all that is asked, and how much that is."""
        raise AssertionError("each task has its own")

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> dict[str, Any]:
        """How good it is, by what the head said of each row."""
        raise AssertionError("each task has its own")

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> list[Any]:
        """What it answers for each example, as the metrics compare it with the truth."""
        raise AssertionError("each task has its own")

    def measurements(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> dict[str, Any]:
        """`metrics_from`, and the "error" that training makes smaller: of the metric that was chosen, or else the first that is measured."""
        found = self.metrics_from(examples, rows, said)
        metric = next(name for name in (self.settings.get("metric"), *METRICS[self.example_kind]) if name in found)
        return {"error": error_from(found[metric]), **found}

    # Learning

    @property
    def trained_module(self) -> nn.Module:
        return self.trained

    @property
    def learning_rate(self) -> float:
        return default_learning_rate(self.model, self.transfer)

    @property
    def training_defaults(self) -> dict[str, Any]:  # type: ignore[override]
        way = self.transfer.transfer if hasattr(self.model, "blocks") or not self.transfer.trains_encoder else "table"
        return {"epochs": EPOCHS[way], "batch_examples": BATCH, "min_updates": MIN_UPDATES}

    def lr_scales(self) -> dict[str, float]:
        mixes = [f"head.feature_extractor.{name}" for name, _ in self.feature_extractor.named_parameters() if name.startswith("mixes.")]
        return encoder_lr_scales(self.model, self.transfer) | dict.fromkeys(mixes, self.transfer.mix_lr_scale)

    def start(self, seed: int, examples: Any = None) -> None:
        """A new head; the encoder is what pretraining made it."""
        initialize(self.head, seed)
        self.feature_extractor.reset(self.word_vectors)

    def training_loss(self, batch: Batch) -> tuple[Tensor, int]:
        if isinstance(self.model, LanguageModel) and self.model.name == "gpt" and self.transfer.trains_encoder and self.transfer.auxiliary_weight:
            hidden = self.encode(batch)
            nats, count = self.summed_loss(self.head(self.features(batch, hidden)).float(), batch)
            nats = nats + self.transfer.auxiliary_weight * count * self.model.loss(next_token_targets(batch), hidden
                if self.feature_extractor.is_plain
                else None)
        else:
            nats, count = self.summed_loss(self.head(self.features(batch)).float(), batch)
        return nats + self.transfer.mix_penalty * count * self.feature_extractor.penalty(), count

    def examples(self, shards: Any, split: str = "train") -> LabelledRows:
        found = LabelledRows(self.rows(shards.split(split)), self.tokenizer.pad, self.targets)
        if self.transfer.transfer == "features":
            found.vectors = cached_features(self.model, found.rows, self.features_depend_on, lambda: self.compute_vectors(found.rows))
        if split == "train" and (not self.transfer.trains_encoder or not hasattr(self.model, "blocks")):
            self.fit_scales(found)
        return found

    # Judging and answering

    def evaluate_split(self, shards: Any, split: str = "validation", limit: int | None = None) -> dict[str, Any]:
        """On a split; with `most`, unless their vectors are known, on as many examples of it as have about so many tokens, spread evenly."""
        examples = shards.split(split)
        if self.transfer.transfer == "features":
            given = self.cache_rows(split, lambda: self.examples(shards, split))  # the encoder does not change, so neither does what it says
            return self.measurements(examples, given.rows, self.logits(given.rows, given.vectors))
        positions = self.count_positions(shards, split)
        if limit is not None and positions > limit:
            examples = [examples[i] for i in np.unique(np.linspace(0, len(examples) - 1, max(limit * len(examples) // positions,
                1)).astype(np.int64))]
        given = self.cache_rows(f"{split} {limit}", lambda: LabelledRows(self.rows(examples), self.tokenizer.pad, self.targets))
        return self.measurements(examples, given.rows, self.logits(given.rows))

    def count_positions(self, shards: Any, split: str = "validation") -> int:
        if self.transfer.transfer == "features":
            return 1  # a head is judged in no time
        return int(self.cache_rows(f"all {split}", lambda: LabelledRows(self.rows(shards.split(split)), self.tokenizer.pad,
            self.targets)).lengths.sum())

    def cache_rows(self, name: str, make: Callable[[], LabelledRows]) -> LabelledRows:
        """Rows that every look asks for, encoded once."""
        if name not in self.cached_rows:
            self.cached_rows[name] = make()
        return self.cached_rows[name]

    def evaluate(self, examples: Sequence[Any]) -> dict[str, Any]:
        rows = self.rows(examples)
        return self.measurements(examples, rows, self.logits(rows))

    def predict(self, examples: Sequence[Any]) -> list[Any]:
        rows = self.rows(examples)
        return self.predictions(examples, rows, self.logits(rows))

    def metrics_and_predictions(self, examples: Sequence[Any]) -> tuple[dict[str, Any], list[Any]]:
        rows = self.rows(examples)
        said = self.logits(rows)
        learnt = {"mix": self.feature_extractor.weights()} if self.feature_extractor.mixes else {}
        return self.measurements(examples, rows, said) | self.details(examples, rows, said) | learnt, self.predictions(examples, rows, said)

    def detailed_metrics(self, examples: Sequence[Any]) -> dict[str, Any]:
        return self.metrics_and_predictions(examples)[0]

    def details(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> dict[str, Any]:
        """What a report says besides the score."""
        return {}

    def logits(self, rows: list[EncodedInput], vectors: list[np.ndarray] | None = None) -> list[np.ndarray]:
        """What the head says of each row."""
        return self.run_rows(rows, lambda batch: self.head(self.features(batch)), vectors=vectors)

    @property
    def max_tokens(self) -> int | None:
        """Tokens of a row; None for any number."""
        most = [length for length in (self.model.reads_at_most, self.transfer.max_length) if length]
        return min(most, default=None)

    @property
    def input_format(self) -> InputFormat:
        return InputFormat(self.tokenizer, self.max_tokens, self.long_text)

    def encode_texts(self, texts: Sequence[str], where: Sequence[str]) -> list[list[int]]:
        """The ids of each text; one without any is named by where it stands."""
        found = self.tokenizer.encode_batch(list(texts))
        for ids, text, place in zip(found, texts, where, strict=True):
            if not ids:
                raise BadInput(f"{place + ': ' if place else ''}there are no tokens in {preview(text)}; give a text with words")
        return found

    def note_truncation(self, form: InputFormat, texts: int) -> None:
        if form.truncated_texts:
            say_verbose(f"{form.truncated_texts} of {texts} texts are longer than {form.max_tokens} tokens; the {self.long_text} of each was read")

    # Keeping

    def describe(self) -> dict[str, Any]:
        transfer = {name: value for name, value in asdict(self.transfer).items() if value is not False}  # a switch that is off goes without saying
        return {**super().describe(), "transfer": transfer, "settings": self.settings}

    def save(self, folder: Path) -> None:
        super().save(folder)
        save_file({name: tensor.contiguous() for name, tensor in self.head.state_dict().items()}, folder / HEAD, metadata={"format": "pt"})

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        plain = Task.open.__func__(Task, folder, described)  # type: ignore[attr-defined]
        task = cls(plain.model, plain.tokenizer, TransferOptions(**described["transfer"]), **described["settings"])
        try:
            task.head.load_state_dict(load_weights(folder / HEAD))
        except RuntimeError:
            raise BadInput(f"{folder / HEAD} does not fit this version of stairs; tune the run again") from None
        task.trained_module.eval(), task.model.eval()
        return task


def next_token_targets(batch: Batch) -> Batch:
    """The same rows, asked for the token that follows each."""
    following = torch.cat([batch.ids[:, 1:], batch.ids[:, :1]], 1)
    real = torch.cat([batch.real[:, 1:], torch.zeros_like(batch.real[:, :1])], 1)
    return replace(batch, targets=following.masked_fill(~real, IGNORE_INDEX))
