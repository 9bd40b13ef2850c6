"""A Task owns a model and a tokenizer: text -> batch -> loss, and text -> answer, which is plain data."""

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from stairs.errors import BadInput, Unsupported, preview
from stairs.fast.packed_linear import Precision, for_inference
from stairs.models import MODELS
from stairs.models.base import Model
from stairs.models.elmo import ELMo
from stairs.models.settings import CONFIGS
from stairs.text.batch import Batch, pad_rows
from stairs.text.shards import Shards
from stairs.text.tokenizers.open_vocabulary import OpenVocabulary
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.windows import LongTextRule

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
POSITIONS_PER_TOKEN = 2  # positions of a stream that are read for each one that is judged


class Task:
    """One model, one tokenizer, one question."""

    name = ""
    vector_part: LongTextRule = "head"  # what the vector of a text is made from if the model cannot read all of it
    example_kind = ""  # the kind of labelled examples it is judged by, if by such, as `text.labelled.prefill` calls it

    def __init__(self, model: Model, tokenizer: Tokenizer) -> None:
        self.model = model
        self.tokenizer = tokenizer
        if isinstance(model, ELMo):
            config = model.config
            if not isinstance(tokenizer, OpenVocabulary):
                tokenizer = OpenVocabulary(tokenizer, config.character_set, config.max_word_length)
            self.tokenizer = tokenizer
            if config.softmax == "cnn":
                model.set_vocabulary(tokenizer.character_ids(torch.arange(model.output_vocab)))

    def add_characters(self, batch: Batch) -> Batch:
        """The batch as the model reads it: with the characters of its words, if it reads those."""
        return self.tokenizer.add_characters(batch) if isinstance(self.tokenizer, OpenVocabulary) else batch

    @property
    def trained_module(self) -> nn.Module:
        """All that is trained."""
        return self.model

    def start(self, seed: int, examples: Any = None) -> None:
        """New weights, decided by the seed alone; with the training examples, predictions begin at the unigram distribution of their targets."""
        self.model.initialize(seed)
        counts = None if examples is None else self.target_counts(examples)
        if counts is not None:
            shares = (counts + 0.5) / (counts + 0.5).sum()
            self.model.start_at_unigram(torch.from_numpy(np.log(shares)).float())

    def target_counts(self, examples: Any) -> np.ndarray | None:
        """How often each token of the vocabulary is a target in training (V,); None for tasks that do not predict tokens."""
        return None

    @property
    def learns_by(self) -> str:
        """How `fit` trains it, see `Model.learns_by`."""
        return self.model.learns_by

    @property
    def learning_rate(self) -> float:
        """The highest, unless another is asked for."""
        return self.model.learning_rate

    training_defaults: dict[str, Any] | None = None  # epochs and examples of a step, for tasks that are learnt from labelled examples

    def lr_scales(self) -> dict[str, float]:
        """How many times as fast as the others some weights of the learner learn, by their names."""
        tables = [f"{place}.weight" for place, part in self.trained_module.named_modules() if isinstance(part, nn.Embedding)]
        return dict.fromkeys(tables, self.model.embedding_lr_scale)

    @property
    def model_name(self) -> str:
        """Which step of the staircase answers."""
        return self.model.name

    def answer(self, text: str, *arguments: Any, **options: Any) -> Any:
        """Plain data: what `stairs ask --json` prints."""
        raise Unsupported(f"{self.name} has no answer to a text")

    def evaluate_texts(self, documents: Iterable[str]) -> dict[str, Any]:
        """Quality on plain text."""
        raise Unsupported(f"a {self.name} run of {self.model_name} is judged on labelled examples, not on plain text")

    def evaluate(self, examples: Any) -> dict[str, Any]:
        """Quality on labelled examples."""
        raise Unsupported(f"a {self.name} run of {self.model_name} is judged on plain text, not on labelled examples")

    def detailed_metrics(self, examples: Any) -> dict[str, Any]:
        """`evaluate_benchmark`, and more about the quality where there is more to say."""
        return self.evaluate(examples)

    def metrics_and_predictions(self, examples: Any) -> tuple[dict[str, Any], list[Any]]:
        """`detailed_metrics`, and what it answers for each example, if that can be compared with what others answer."""
        return self.detailed_metrics(examples), []

    monitor = ""  # the measurement that training makes smaller

    def examples(self, shards: Shards, split: str = "train") -> Any:
        """What training goes through: `lengths`, and `batch(numbers, epoch, seed)`."""
        raise Unsupported(f"{self.name} does not learn from plain text")

    def training_loss(self, batch: Batch) -> tuple[torch.Tensor, int]:
        """Nats of all targets together, and how many there are."""
        raise Unsupported(f"{self.name} does not learn by gradients")

    def evaluate_split(self, shards: Shards, split: str = "validation", limit: int | None = None) -> dict[str, Any]:
        """Quality on a split of a corpus; with `most`, on about so many positions of it."""
        raise Unsupported(f"{self.name} is not judged on plain text")

    def count_positions(self, shards: Shards, split: str = "validation") -> int:
        """How many there are to judge on a split, as `most` counts them."""
        return POSITIONS_PER_TOKEN * shards.info(split)["tokens"]

    evaluates_generation = False  # whether it is judged by what it generates, too

    def generate_for_timing(self, shards: Any, sentences: int) -> None:
        """As in the judgement at the end, to see how long that takes."""

    def sample(self, seed: int) -> str:
        """Something it says of its own accord, for the one who waits."""
        return ""

    def vectors(self, texts: list[str], encode: Callable[[Batch], torch.Tensor] | None = None) -> np.ndarray:
        """(N, D), the mean of each text's token vectors, for steps that encode."""
        if self.model.pools_special_tokens:
            from stairs.tasks.encode import Encode  # which is a Task itself

            encoder = Encode(self.model, self.tokenizer)
            encoder.long_text = self.vector_part
            return encoder.vectors(texts, encode or self.model.encode)
        return np.stack([found.mean(0) for _, found in self.token_vectors(texts, encode)]) if texts else np.zeros((0, 0), np.float32)

    def token_vectors(self, texts: list[str], encode: Callable[[Batch], torch.Tensor] | None = None) -> Iterator[tuple[list[str], np.ndarray]]:
        """The tokens of each text and their vectors (T, D); `encode` may give others than the model's last."""
        for text in texts:
            ids = self.tokenizer.encode(text)
            if not ids:
                raise BadInput(f"there are no tokens in {preview(text)}; give a text with words")
            row, first = self.tokenizer.with_special_ids(ids, self.model.adds_end_token)
            with torch.no_grad():
                found = (encode or self.model.encode)(self.add_characters(Batch(*pad_rows([row], self.tokenizer.pad))))
            yield [self.tokenizer.token(i) for i in ids], found[0, first : first + len(ids)].float().numpy()  # without those of the marks

    def for_inference(self, precision: Precision) -> Self:
        """The same task with a model that answers faster: its weights laid out anew and, unless in fp32, rounded."""
        if not hasattr(self.model, "blocks"):
            raise Unsupported(f"{self.model_name} has no blocks to compute in {precision}; leave --precision out")
        twin = copy.copy(self)
        twin.model = for_inference(self.model, precision)
        return twin

    def log_probability(self, text: str) -> float:
        """Natural log of the probability of a sentence and its end, for steps that predict."""
        raise Unsupported(f"a {self.name} run of {self.model_name} gives no probability to a sentence; try a run trained on next-token")

    recipe: dict[str, Any] | None = None  # what was chosen from the time and the machine, if anything was: training/recipe.py

    def describe(self) -> dict[str, Any]:
        described = {"task": self.name, "model": self.model_name, "config": self.model.describe()}
        return described if self.recipe is None else {**described, "recipe": self.recipe}

    def corpus_statistics(self) -> dict[str, Any]:
        """What an answer needs to know of the text that was learnt from, besides the weights."""
        return {}

    def save(self, folder: Path) -> None:
        """Everything an answer needs, as JSON and safetensors."""
        (folder / CONFIG).write_text(json.dumps({**self.describe(), **self.corpus_statistics()}, indent=2, ensure_ascii=False) + "\n", "utf-8")
        save_file(self.model.tensors(), folder / WEIGHTS, metadata={"format": "pt"})
        self.tokenizer.save(folder)

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        """What `save` wrote, back again."""
        model = MODELS[described["model"]](config_from(described["model"], described["config"], folder / CONFIG))
        model.restore(load_weights(folder / WEIGHTS))
        return cls(model.eval(), Tokenizer.load(folder))


def config_from(step: str, values: dict[str, Any], where: Path) -> Any:
    kind: Callable[..., Any] = CONFIGS[step]
    try:
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
    except TypeError as error:
        raise BadInput(f"{where} does not fit {step}: {error}; it may come from another version") from None


def load_weights(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise BadInput(f"{path} is not a safetensors file that can be read: {error}") from None
