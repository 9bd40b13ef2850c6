"""Supervised: a pretrained encoder, a small head on top, and as much of the encoder as the transfer options train.

    loss = sum over targets of -ln P(target),   P = softmax(head(features))                see `encoder_features.py`

A GPT is trained on its own language-model loss on the same rows as well, weighted by `auxiliary_weight` (Radford et al. 2018).
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
from safetensors.torch import save_file
from torch import Tensor, nn

from stairs.data import TrainingData
from stairs.errors import BadInput, Unsupported
from stairs.layers.initial import initialize
from stairs.models.base import Model
from stairs.models.language_model import LanguageModel
from stairs.models.transfer_options import TransferOptions
from stairs.tasks.config_file import TaskConfig
from stairs.tasks.measurements import Measurements, interval
from stairs.tasks.metric_table import primary_metric
from stairs.tasks.metrics import error_from
from stairs.tasks.parts.encoder_features import EncodedInput, EncoderFeatures, LabelledRows, TrainedModule
from stairs.tasks.parts.feature_cache import cached_features
from stairs.tasks.parts.fine_tuning import MIN_UPDATES, TrainingDefaults, default_learning_rate
from stairs.tasks.parts.labelled_splits import labelled_data
from stairs.tasks.parts.layer_mix import FeatureExtractor
from stairs.tasks.parts.masking import hide_tokens
from stairs.tasks.parts.saved_model import load_model, load_weights
from stairs.tasks.parts.tree_encoder import check_trees, with_trees
from stairs.tasks.task import Task, TrainingExamples
from stairs.text.batch import Batch, next_token_targets
from stairs.text.tokenizers.tokenizer import Tokenizer

HEAD = "head.safetensors"
EPOCHS = {"full": 3.0, "scratch": 5.0, "top": 3.0, "table": 10.0, "bilstm": 10.0, "frozen": 10.0, "features": 40.0}
BATCH = 32  # examples
OUTPUT_LAYERS = ("word_head.", "next_head.", "output.", "output_", "contexts", "decoder")  # they predict words and take no part in encoding
MIN_LENGTH = 8  # tokens of a row
RANGES = {"layer_decay": (0, 1), "auxiliary_weight": (0, 100), "head_dropout": (0, 0.99), "word_dropout": (0, 0.99), "mix_penalty": (0, 1e6),
          "mix_lr_scale": (0, 1000)}  # fmt: skip


class Supervised(EncoderFeatures):
    """An encoder and a head. Each task defines its rows, what the head reads, its targets and its metrics."""

    monitor = "error"
    learns_by = "gradient"
    head: nn.Module

    def __init__(self, model: Model, tokenizer: Tokenizer, transfer: TransferOptions | None = None, **settings: Any) -> None:
        super().__init__(model, tokenizer)
        self.transfer = transfer or TransferOptions()
        check_transfer(self.transfer, model)
        self.settings = settings  # what follows from the labelled examples, such as the names of labels: stored with the run
        if self.transfer.trains_encoder and model.learns_by == "adoption":
            model.vectors = nn.Parameter(model.tensors()["vectors"].clone())  # the table is mapped from a file that must not be written
        self.feature_extractor = FeatureExtractor(model, self.transfer, settings.get("words", ()), self.tokenizer.token)
        if self.pooling == "max" and self.feature_extractor.mixes_for_head:
            raise BadInput("--pooling max takes the maximum of one layer, and several are mixed here; give --layers last, or --pooling mean")
        self.width = self.feature_extractor.width
        self.head = self.new_head()
        self.head.feature_extractor = self.feature_extractor  # stored with the head: everything that is trained besides the encoder
        self.word_vectors: np.ndarray | None = None  # initial word vectors of the BiLSTM
        self.trained = TrainedModule(model, self.head, self.transfer)
        for name, weight in model.named_parameters():
            weight.requires_grad_(is_trained(name, model, self.transfer))
        self.cached_rows: dict[str, LabelledRows] = {}

    @classmethod
    def for_examples(cls, examples: Sequence[Any], source: Task, transfer: TransferOptions, **settings: Any) -> Self:
        """A new head on the encoder of a run, for the labels that the training examples have."""
        model = with_trees(source.model) if transfer.structural_positions else source.model
        return cls(model, source.tokenizer, transfer, **cls.settings_from(examples), **settings)

    # What each task defines

    @classmethod
    @abstractmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        """The settings that follow from the training examples, such as the names of labels."""

    @abstractmethod
    def new_head(self) -> nn.Module: ...

    @abstractmethod
    def rows(self, examples: Sequence[Any]) -> list[EncodedInput]:
        """All that is read for the examples, with targets where they have labels."""

    @abstractmethod
    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        """The targets of rows, as fields of a batch."""

    @abstractmethod
    def summed_loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, int]:
        """The loss summed over the targets of a batch, and their number."""

    @abstractmethod
    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        """Metrics of the predictions that follow from the logits of each row."""

    @abstractmethod
    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> list[Any]:
        """The prediction for each example, as the metrics compare it with the gold one."""

    def details(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        """What a report has besides the metrics."""
        return {}

    # Training

    @property
    def trained_module(self) -> nn.Module:
        return self.trained

    @property
    def learning_rate(self) -> float:
        return default_learning_rate(self.model, self.transfer)

    @property
    def training_defaults(self) -> TrainingDefaults:  # type: ignore[override]
        trains_table = self.transfer.trains_encoder and not self.model.is_transformer and self.transfer.transfer != "scratch"
        trains_bilstm = self.feature_extractor.reads_words and not self.transfer.trains_encoder
        way = "bilstm" if trains_bilstm else "table" if trains_table else self.transfer.transfer
        return {"epochs": EPOCHS[way], "batch_examples": BATCH, "min_updates": MIN_UPDATES}

    def lr_scales(self) -> dict[str, float]:
        """The learning rate of each weight of the encoder, and of the mixes, as a share of the head's."""
        depths = {name: layer_depth(name, self.model) for name, _ in self.model.named_parameters()}
        encoder = {f"model.{name}": self.transfer.layer_decay ** (deepest - depth + 1) for name, (depth, deepest) in depths.items()}
        mixes = [f"head.feature_extractor.{name}" for name, _ in self.feature_extractor.named_parameters() if name.startswith("mixes.")]
        return encoder | dict.fromkeys(mixes, self.transfer.mix_lr_scale)

    def start(self, seed: int, examples: TrainingExamples | None = None) -> None:
        """A new head; the encoder stays as it was pretrained."""
        initialize(self.head, seed)
        self.feature_extractor.reset(self.word_vectors)

    def training_loss(self, batch: Batch) -> tuple[Tensor, int]:
        model, weight, shown = self.model, self.transfer.auxiliary_weight, hide_tokens(batch, self.transfer.word_dropout, self.tokenizer)
        if isinstance(model, LanguageModel) and model.has_auxiliary_loss and self.transfer.trains_encoder and weight:
            hidden = self.encode(shown)
            loss, count = self.summed_loss(self.head(self.features(shown, hidden)).float(), batch)
            own_loss = model.loss(next_token_targets(batch), hidden if self.feature_extractor.is_plain else None)
            loss = loss + weight * count * own_loss
        else:
            loss, count = self.summed_loss(self.head(self.features(shown)).float(), batch)
        return loss + self.transfer.mix_penalty * count * self.feature_extractor.penalty(), count

    def examples(self, data: TrainingData, split: str = "train") -> LabelledRows:
        labelled = self.labelled_rows(labelled_data(data).split(split))
        if self.transfer.transfer == "features" and self.feature_extractor.reads_words and any(row.second is not None for row in labelled.rows):
            raise BadInput(f"--insert {self.transfer.insert} reads two texts apart here, which --transfer features cannot store; use frozen")
        if self.transfer.transfer == "features":
            labelled.vectors = cached_features(self.model, labelled.rows, self.features_depend_on, lambda: self.compute_vectors(labelled.rows))
        if split == "train" and self.needs_scales:
            self.fit_scales(labelled)
        return labelled

    @property
    def needs_scales(self) -> bool:
        """Whether what the head reads comes in any scale: not from a transformer that is trained, nor from new weights, which are drawn to fit."""
        return not self.transfer.trains_encoder or not (self.model.is_transformer or self.transfer.transfer == "scratch")

    def labelled_rows(self, examples: Sequence[Any]) -> LabelledRows:
        return LabelledRows(self.rows(examples), self.tokenizer.pad, self.targets)

    # Evaluation

    def evaluate_split(self, data: TrainingData, split: str = "validation", limit: int | None = None) -> Measurements:
        """With a `limit`, on as many examples, spread evenly, as have about so many tokens; on all of them where their vectors are cached."""
        examples = labelled_data(data).split(split)
        if self.transfer.transfer == "features":
            labelled = self.rows_once(split, lambda: self.examples(data, split))  # the encoder does not change, so its vectors stay the same
        else:
            positions = self.count_positions(data, split)
            if limit is not None and positions > limit:
                numbers = np.unique(np.linspace(0, len(examples) - 1, max(limit * len(examples) // positions, 1)).astype(np.int64))
                examples = [examples[i] for i in numbers]
            labelled = self.rows_once(f"{split} {limit}", lambda: self.labelled_rows(examples))
        logits = self.logits(labelled.rows, labelled.vectors)
        if split == "validation":
            self.fit_to_validation(examples, labelled.rows, logits)
        return self.measurements(examples, labelled.rows, logits)

    def fit_to_validation(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> None:
        """Choose what only examples that were not learnt from can say, such as a threshold."""

    def count_positions(self, data: TrainingData, split: str = "validation") -> int:
        if self.transfer.transfer == "features":
            return 1  # a head alone is evaluated in no time
        return int(self.rows_once(f"all {split}", lambda: self.labelled_rows(labelled_data(data).split(split))).lengths.sum())

    def rows_once(self, name: str, make: Callable[[], LabelledRows]) -> LabelledRows:
        """Rows that every evaluation needs, encoded once."""
        if name not in self.cached_rows:
            self.cached_rows[name] = make()
        return self.cached_rows[name]

    def measurements(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        """The metrics, and the "error" that training minimizes: 1 - the chosen metric, or else the first of the table that was measured."""
        metrics = self.metrics_from(examples, rows, logits)
        metric = primary_metric(metrics, self.settings.get("metric") or "")
        assert metric is not None
        return {"error": error_from(interval(metrics, metric)), **metrics}

    def evaluate_examples(self, examples: Sequence[Any]) -> Measurements:
        rows = self.rows(examples)
        return self.measurements(examples, rows, self.logits(rows))

    def predict_examples(self, examples: Sequence[Any]) -> list[Any]:
        rows = self.rows(examples)
        return self.predictions(examples, rows, self.logits(rows))

    def metrics_and_predictions(self, examples: Sequence[Any]) -> tuple[Measurements, list[Any]]:
        rows = self.rows(examples)
        logits = self.logits(rows)
        mix = {"mix": self.feature_extractor.weights()} if self.feature_extractor.mixes else {}
        metrics = {**self.measurements(examples, rows, logits), **self.details(examples, rows, logits), **mix}
        return metrics, self.predictions(examples, rows, logits)

    def detailed_metrics(self, examples: Sequence[Any]) -> Measurements:
        return self.metrics_and_predictions(examples)[0]

    def logits(self, rows: list[EncodedInput], vectors: list[np.ndarray] | None = None) -> list[np.ndarray]:
        """What the head gives for each row."""
        return self.run_rows(rows, lambda batch: self.head(self.features(batch)), vectors=vectors)

    # Storage

    def describe(self) -> TaskConfig:
        transfer = {name: value for name, value in asdict(self.transfer).items() if value is not False}  # switches that are off are left out
        return {**super().describe(), "transfer": transfer, "settings": self.settings}

    def save(self, folder: Path) -> None:
        super().save(folder)
        save_file({name: tensor.contiguous() for name, tensor in self.head.state_dict().items()}, folder / HEAD, metadata={"format": "pt"})

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        transfer: Callable[..., TransferOptions] = TransferOptions
        build: Callable[..., Self] = cls
        task = build(*load_model(folder, described), transfer(**described["transfer"]), **described["settings"])
        try:
            task.head.load_state_dict(load_weights(folder / HEAD))
        except RuntimeError:
            raise BadInput(f"{folder / HEAD} does not fit this version of stairs; tune the run again") from None
        task.trained_module.eval(), task.model.eval()
        return task


def check_transfer(transfer: TransferOptions, model: Model) -> None:
    """Refuse options that contradict one another or the model."""
    if not model.encodes:
        raise Unsupported(f"{model.name} has no token vectors to learn a task from; try {model.models_that_encode}")
    for name, (low, high) in RANGES.items():
        if not low <= getattr(transfer, name) <= high:
            raise BadInput(f"--{name.replace('_', '-')} {getattr(transfer, name)} is not between {low} and {high}")
    if transfer.transfer == "auto":
        raise BadInput("--transfer auto chooses among trained tasks, and this is one of them; give full, scratch, top, frozen or features")
    if transfer.max_length is not None and transfer.max_length < MIN_LENGTH:
        raise BadInput(f"--max-length {transfer.max_length} is below {MIN_LENGTH}")
    if transfer.word_dropout and not transfer.trains_encoder:
        raise BadInput(f"--word-dropout is for an encoder that learns, and --transfer {transfer.transfer} trains a head; use --transfer full")
    if transfer.whiten and transfer.transfer != "features":
        raise BadInput(f"--whiten is for --transfer features, and this is --transfer {transfer.transfer}")
    if transfer.transfer == "features" and transfer.insert == "none":
        raise BadInput("--insert none reads nothing of the encoder, so --transfer features has nothing to store; use --transfer frozen")
    check_trees(transfer, model)
    blocks = model.block_count
    if transfer.transfer == "top" and not 1 <= transfer.top_layers <= blocks:
        has = f"it has {blocks} blocks" if blocks else "it has no blocks; use --transfer full or features"
        raise BadInput(f"--top-layers {transfer.top_layers} of {model.name}: {has}")


def is_trained(name: str, model: Model, transfer: TransferOptions) -> bool:
    """Whether a weight of the encoder is trained."""
    if not transfer.trains_encoder or (name.startswith(OUTPUT_LAYERS) and not (model.has_auxiliary_loss and transfer.auxiliary_weight)):
        return False
    depth, deepest = layer_depth(name, model)
    return transfer.transfer in ("full", "scratch") or depth > deepest - transfer.top_layers


def layer_depth(name: str, model: Model) -> tuple[int, int]:
    """The layer of a weight, counted from the embeddings, and that of the last block; what comes after the blocks counts as the last."""
    deepest = model.block_count
    block = re.match(r"blocks\.(\d+)\.", name)
    if block:
        return int(block[1]) + 1, deepest
    return 0 if name.startswith(model.embedding_layers) else deepest, deepest
