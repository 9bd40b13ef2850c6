"""The settings, sizes and default training of NNLM."""

from dataclasses import dataclass
from typing import Literal

from stairs.models.settings.common import ModelConfig, ModelSettings, bounds


@dataclass(frozen=True)
class NNLMConfig(ModelConfig):
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every sentence
    unknown: int = 1  # the id of a word outside the vocabulary
    order: int = 5  # n, the order of the n-grams: words of context plus the predicted one
    width: int = 64  # width of a word vector
    hidden: int = 256  # width of the tanh layer
    direct: bool = True  # direct connections from the word vectors to the output layer
    softmax: Literal["auto", "full", "sampled"] = "auto"  # full softmax, or sampled softmax; auto: sampled for more than 32768 words
    samples: int = 2048  # words drawn for the sampled softmax
    dropout: float = 0.0  # dropout of the hidden layer
    context: int = 256  # tokens of a row of training text
    ranges = bounds("width", "hidden", "samples", "context", order=(2, 64), dropout=(0, 0.99))


SETTINGS = ModelSettings(
    config=NNLMConfig,
    model="stairs.models.nnlm:NNLM",
    tokenizer="byte-bpe",
    sizes={
        "nano": {"order": 4, "width": 32, "hidden": 64},
        "micro": {"width": 32, "hidden": 128},
        "mini": {},
        "small": {"width": 128, "hidden": 512},
        "base": {"order": 8, "width": 256, "hidden": 1024},
        "paper": {"order": 6, "width": 100, "hidden": 60, "softmax": "full"},
    },
    training={
        "nano": {"batch_tokens": 1024},
        "micro": {"batch_tokens": 1024},
    },
)
