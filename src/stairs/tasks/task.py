"""A Task: one model, one tokenizer, one question. Text -> batch -> loss to train it, text -> answer to use it; an answer is plain data.

torch is imported where a model is used: a classifier that is no neural network answers without it.
"""

from __future__ import annotations

import copy
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, cast

import numpy as np

from stairs.data import TrainingData
from stairs.errors import Unsupported, no_tokens
from stairs.fast.precision import Precision
from stairs.tasks.answers import Answer
from stairs.tasks.config_file import CONFIG, WEIGHTS, Settings, TaskConfig
from stairs.tasks.measurements import Measurements
from stairs.tasks.metrics import without_intervals
from stairs.tasks.parts.fine_tuning import TrainingDefaults
from stairs.tasks.parts.labelled_splits import text_data
from stairs.tasks.verbs import Verbs
from stairs.text.batch import Batch, TrainingRows, batches_in_order, pad_rows
from stairs.text.examples import Example
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.windows import LongTextRule

if TYPE_CHECKING:
    from torch import Tensor, nn

    from stairs.models.base import Model
    from stairs.models.elmo import ELMo
    from stairs.text.tokenizers.open_vocabulary import OpenVocabulary

POSITIONS_PER_BATCH = 2048  # of token vectors that are computed together
POSITIONS_PER_TOKEN = 2  # positions that an evaluation of a text computes for each token, since rows overlap by half
Encoder = Callable[[Batch], "Tensor"]  # token vectors (B, T, D) of a batch
Prediction = str | float | Sequence[str | None]  # a label, a text or a number; the tags of a sentence, the senses of its words
TrainingExamples = TrainingRows | np.ndarray  # the ids of a text (N,) for models that sweep over it


class Task(Verbs, ABC):
    """What every task has. Callers ask the claims below, and never the name: so a new task is served by all of them."""

    name: ClassVar[str] = ""
    example_kind: ClassVar[str] = ""  # the labelled examples it is evaluated on, as `text.labelled.read` calls them; "" for plain text
    monitor: ClassVar[str] = ""  # the measurement that training minimizes

    # Claims
    has_model = True  # `model` is there: not for a classifier that is no neural network
    generates = False  # it answers with new text, token by token
    predicts_next = False  # it gives the probability of each next token: `next_tokens`, `token_bits` and `log_probability`
    translates = False  # it answers with a text in another language, and is trained on pairs of sentences
    takes_pairs = False  # it answers about two texts: `answer(text, second=...)`
    gives_labels = False  # it gives a text one of `labels`, with `probabilities(texts)`
    has_text_features = False  # a linear layer on `text_features(texts)` decides
    has_confusion = False  # `stairs tune` writes a confusion matrix
    has_word_vectors = False  # each word of its vocabulary has one vector, whatever its context
    evaluates_generation = False  # a finished run is also evaluated on what it generates
    needs_trees = False  # it reads sentences with their dependency trees only: those of a CoNLL-U file

    long_text: LongTextRule | None = None  # what is read of a text that is too long; None where no text is
    vector_part: LongTextRule = "head"  # the part of a long text that its vector is made from
    training_defaults: TrainingDefaults | None = None  # epochs and examples of a batch, for tasks that learn from labelled examples
    recipe: Settings | None = None  # the size and schedule that were chosen for the time and the machine, see training/recipe.py

    def __init__(self, model: Model, tokenizer: Tokenizer) -> None:
        self.model = model
        self.tokenizer = tokenizer
        if model.reads_characters:
            from stairs.tasks.parts.saved_model import open_vocabulary

            self.tokenizer = open_vocabulary(cast("ELMo", model), tokenizer)

    def add_characters(self, batch: Batch) -> Batch:
        """The batch as the model reads it: with the characters of its words, if it reads those."""
        return cast("OpenVocabulary", self.tokenizer).add_characters(batch) if self.model.reads_characters else batch

    @property
    def fills_blanks(self) -> bool:
        """Whether it names the words that fit a blank."""
        return False

    @property
    def model_name(self) -> str:
        return self.model.name

    # Answering

    @abstractmethod
    def answer(self, text: str) -> Answer:
        """Plain data, which `stairs ask --json` prints. Each task has its own keyword arguments; another one is an error."""

    @abstractmethod
    def summary(self, answer: Answer) -> str:
        """What a person wants to read of an answer."""

    def answers(self, texts: Sequence[str], **options: object) -> Iterator[Answer]:
        """`answer` for each text."""
        answer: Callable[..., Answer] = self.answer
        for text in texts:
            yield answer(text, **options)

    @classmethod
    def answer_options(cls) -> tuple[str, ...]:
        """The keyword arguments of `answer`."""
        parameters = inspect.signature(cls.answer).parameters.values()
        return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)

    def log_probability(self, text: str) -> float:
        """The natural logarithm of the probability of a sentence and its end.

        >>> gpt.log_probability("the cat sat .") < 0
        True
        """
        raise Unsupported(f"a {self.name} run of {self.model_name} gives no probability to a sentence; try a run trained on next-token")

    def sample(self, seed: int) -> str:
        """Something to read while training goes on."""
        return ""

    # Vectors

    def vectors(self, texts: list[str], encode: Encoder | None = None) -> np.ndarray:
        """(N, D): the mean of each text's token vectors, for models that encode."""
        if self.model.pools_special_tokens:
            from stairs.tasks.encode import Encode  # which is a Task itself

            encoder = Encode(self.model, self.tokenizer)
            encoder.long_text = self.vector_part
            return encoder.vectors(texts, encode or self.model.encode)
        lengths = [len(ids) for ids in self.ids_of_texts(texts)]
        order = sorted(range(len(texts)), key=lengths.__getitem__)  # so that little is padding
        means = [vectors.mean(0) for _, vectors in self.token_vectors([texts[number] for number in order], encode)]
        return np.stack(means)[np.argsort(order)] if means else np.zeros((0, 0), np.float32)

    def token_vectors(self, texts: list[str], encode: Encoder | None = None) -> Iterator[tuple[list[str], np.ndarray]]:
        """The tokens of each text and their vectors (T, D), without those of special tokens; `encode` may give those of another layer."""
        import torch

        ids_of_texts = self.ids_of_texts(texts)
        for batch in batches_in_order([len(ids) for ids in ids_of_texts], POSITIONS_PER_BATCH):
            rows, firsts = zip(*(self.tokenizer.with_special_ids(ids_of_texts[i], self.model.adds_end_token) for i in batch), strict=True)
            with torch.no_grad():
                hidden = (encode or self.model.encode)(self.add_characters(Batch(*pad_rows(rows, self.tokenizer.pad))))
            for own, first, ids in zip(hidden, firsts, (ids_of_texts[i] for i in batch), strict=True):
                yield [self.tokenizer.token(i) for i in ids], own[first : first + len(ids)].float().numpy()

    def ids_of_texts(self, texts: list[str]) -> list[list[int]]:
        """The token ids of each text; one without any is refused."""
        ids_of_texts = self.tokenizer.encode_batch(texts)
        if [] in ids_of_texts:
            number = ids_of_texts.index([])
            raise no_tokens(texts[number], f"text {number + 1}" if len(texts) > 1 else "")
        return ids_of_texts

    def for_inference(self, precision: Precision) -> Self:
        """A copy that answers faster: its weights are laid out for inference and, unless in fp32, rounded."""
        if not self.model.is_transformer:
            raise Unsupported(f"{self.model_name} has no blocks to compute in {precision}; leave --precision out")
        from stairs.fast.packed_linear import for_inference

        twin = copy.copy(self)
        twin.model = for_inference(self.model, precision)
        return twin

    # Training

    @property
    def trained_module(self) -> nn.Module:
        """All weights that are trained."""
        return self.model

    @property
    def learns_by(self) -> str:
        """How `fit` trains it, see `Model.learns_by`."""
        return self.model.learns_by

    @property
    def learning_rate(self) -> float:
        """The default peak learning rate."""
        return self.model.learning_rate

    def lr_scales(self) -> dict[str, float]:
        """Learning-rate scales of some weights of the trained module, by name; 1 for the others."""
        from torch import nn

        embeddings = [f"{name}.weight" for name, module in self.trained_module.named_modules() if isinstance(module, nn.Embedding)]
        return dict.fromkeys(embeddings, self.model.embedding_lr_scale)

    def start(self, seed: int, examples: TrainingExamples | None = None) -> None:
        """New weights, which depend on the seed alone; with the training rows, predictions start at the unigram distribution of their targets."""
        self.model.initialize(seed)
        counts = None if examples is None else self.target_counts(examples)
        if counts is not None:
            import torch

            shares = (counts + 0.5) / (counts + 0.5).sum()
            self.model.start_at_unigram(torch.from_numpy(np.log(shares)).float())

    def target_counts(self, examples: TrainingExamples) -> np.ndarray | None:
        """How often each token of the vocabulary is a target in training, (V,); None for tasks that do not predict tokens."""
        return None

    def examples(self, data: TrainingData, split: str = "train") -> TrainingExamples:
        """The `TrainingRows` of a split; for models that sweep, its ids (N,)."""
        raise Unsupported(f"{self.name} is not trained")

    def training_loss(self, batch: Batch) -> tuple[Tensor, int]:
        """The loss summed over all targets of a batch, in nats, and their number."""
        raise Unsupported(f"{self.name} is not trained by gradients")

    # Evaluation

    def evaluate_texts(self, documents: Iterable[str]) -> Measurements:
        """Metrics on plain text."""
        raise Unsupported(f"a {self.name} run of {self.model_name} is evaluated on labelled examples, not on plain text")

    def evaluate_examples(self, examples: Sequence[Example]) -> Measurements:
        """Metrics on labelled examples."""
        raise Unsupported(f"a {self.name} run of {self.model_name} is evaluated on plain text, not on labelled examples")

    def detailed_metrics(self, examples: Sequence[Example]) -> Measurements:
        """`evaluate_examples`, with a report in more detail where there is one."""
        return self.evaluate_examples(examples)

    def metrics_and_predictions(self, examples: Sequence[Example]) -> tuple[Measurements, Sequence[Prediction]]:
        """`detailed_metrics`, and the prediction for each example; none where predictions cannot be compared with those of others."""
        return self.detailed_metrics(examples), []

    def evaluate_split(self, data: TrainingData, split: str = "validation", limit: int | None = None) -> Measurements:
        """Metrics on a split of the training data; with a `limit`, on about so many positions of it."""
        raise Unsupported(f"{self.name} is not trained")

    def validate(self, data: TrainingData, limit: int | None = None) -> Measurements:
        """`evaluate_split` of validation data, without intervals: evaluations on the way are only compared with one another."""
        with without_intervals():
            return self.evaluate_split(data, limit=limit)

    def count_positions(self, data: TrainingData, split: str = "validation") -> int:
        """The positions of a split, as the `limit` of `evaluate_split` counts them."""
        return POSITIONS_PER_TOKEN * int(text_data(data).info(split)["tokens"])

    def generate_for_timing(self, data: TrainingData, sentences: int) -> None:
        """Generate as in the evaluation of the finished run, so that its time can be measured."""
        raise Unsupported(f"{self.name} generates nothing that is evaluated")

    # Storage

    def describe(self) -> TaskConfig:
        """The task, the model and its settings, as config.json and run.json hold them."""
        described: TaskConfig = {"task": self.name, "model": self.model_name, "config": self.model.describe()}
        return described if self.recipe is None else {**described, "recipe": self.recipe}

    def corpus_statistics(self) -> Settings:
        """What an answer needs to know of the training text besides the weights."""
        return {}

    def save(self, folder: Path) -> None:
        """Everything an answer needs, as JSON and safetensors."""
        from safetensors.torch import save_file

        (folder / CONFIG).write_text(json.dumps({**self.describe(), **self.corpus_statistics()}, indent=2, ensure_ascii=False) + "\n", "utf-8")
        save_file(self.model.tensors(), folder / WEIGHTS, metadata={"format": "pt"})
        self.tokenizer.save(folder)

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        """Load what `save` wrote."""
        from stairs.tasks.parts.saved_model import load_model

        return cls(*load_model(folder, described))
