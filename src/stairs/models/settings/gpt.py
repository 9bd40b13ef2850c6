"""The settings, sizes and default training of GPT."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from stairs.errors import BadInput
from stairs.models.settings.attention import AttentionConfig
from stairs.models.settings.common import LARGEST, ModelSettings, Range, Values, bounds


@dataclass(frozen=True)
class GPTConfig(AttentionConfig):
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every sentence
    unknown: int = 1  # the id of a word outside the vocabulary
    norm_first: bool = True  # layer norm before each sublayer, as in GPT-2, or after the sum, as in GPT
    activation: Literal["gelu-tanh", "gelu", "relu", "none"] = "gelu-tanh"  # activation of the feed-forward layer; none: a linear one
    tie_embeddings: bool = True  # the output layer shares the weights of the token embeddings
    memory: int = 0  # Transformer-XL's memory: tokens before each row that are read without learning from them; positions are then rotary
    ranges: ClassVar[Mapping[str, Range]] = {**AttentionConfig.ranges, **bounds(memory=(0, LARGEST))}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory and (self.adds_positions or self.attention_pattern != "full"):
            wrong = f"--positions {self.positions}" if self.adds_positions else f"--attention-pattern {self.attention_pattern}"
            advice = "rotary, relative, buckets or transformer-xl" if self.adds_positions else "full"
            raise BadInput(f"a memory of {self.memory} tokens is read by how far away they are, which {wrong} does not allow; choose {advice}")

    @classmethod
    def complete(cls, given: Values) -> Values:
        return {"positions": "rotary", **given} if given.get("memory") else given

    def check_pattern(self) -> None:
        super().check_pattern()
        if self.attention_pattern == "linformer":
            raise BadInput("linformer mixes the keys of a whole text, and gpt attends only to earlier ones; try --attention-pattern window or sparse")


SETTINGS = ModelSettings(
    config=GPTConfig,
    model="stairs.models.gpt:GPT",
    tokenizer="byte-bpe",
    sizes={
        "nano": {"context": 128, "width": 64, "heads": 2, "layers": 2},
        "micro": {"context": 128, "width": 128, "heads": 4, "layers": 3},
        "mini": {},
        "small": {"width": 384, "heads": 6, "layers": 6},
        "base": {"context": 512, "width": 768, "heads": 12, "layers": 12, "dropout": 0.1},
        "paper": {"context": 512, "width": 768, "heads": 12, "layers": 12, "dropout": 0.1, "norm_first": False},
    },
    training={
        "nano": {"learning_rate": 0.005, "batch_tokens": 1024},
        "micro": {"learning_rate": 0.002, "batch_tokens": 1024},
        "paper": {
            "learning_rate": 0.00025, "schedule": "cosine", "warmup_steps": 2000, "beta1": 0.9, "beta2": 0.999, "adam_epsilon": 1e-08,
            "weight_decay": 0.01, "clip": 1.0, "embedding_lr_scale": 1.0,
        },
    },
)
