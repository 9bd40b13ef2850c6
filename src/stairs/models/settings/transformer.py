"""The settings, sizes and default training of the Transformer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from stairs.layers.head_count import check_heads
from stairs.layers.score_names import PositionName
from stairs.models.settings.attention import AttentionConfig
from stairs.models.settings.common import LARGEST, ModelSettings, Range, bounds


@dataclass(frozen=True)
class TransformerConfig(AttentionConfig):
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every text
    context: int = 256  # maximum tokens of a sentence
    layers: int = 3  # blocks, in the encoder and in the decoder each
    cross_heads: int | None = None  # heads of the attention from the decoder to the source; as many as `heads` if not given
    feed_forward: int | None = None  # width of the feed-forward layer; four times the width if not given
    dropout: float = 0.1  # dropout probability
    positions: PositionName = "sinusoidal"  # sinusoidal or learned position embeddings; rotary, relative or bucketed (T5) ones in the attention; none
    norm_first: bool = True  # layer norm before each sublayer, which trains faster, or after the sum, as in the paper
    activation: Literal["relu", "gelu", "gelu-tanh", "none"] = "relu"  # activation of the feed-forward layer; none: a linear one
    label_smoothing: float = 0.1  # label smoothing: the share of each target that is spread over the vocabulary
    ranges: ClassVar[Mapping[str, Range]] = {**AttentionConfig.ranges, **bounds("feed_forward", context=(2, LARGEST), label_smoothing=(0, 0.99))}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cross_heads is not None:
            check_heads(self.width, self.cross_heads)

SETTINGS = ModelSettings(
    config=TransformerConfig,
    model="stairs.models.transformer:Transformer",
    tokenizer="byte-bpe",
    sizes={
        "nano": {"width": 64, "heads": 2, "layers": 2},
        "micro": {"width": 128, "layers": 2},
        "mini": {},
        "small": {"width": 512, "heads": 8},
        "base": {"context": 512, "width": 512, "heads": 8, "layers": 6},
        "large": {"context": 512, "width": 1024, "heads": 16, "layers": 6, "dropout": 0.3},
        "paper": {"context": 512, "width": 512, "heads": 8, "layers": 6, "norm_first": False},
    },
    training={
        "nano": {"learning_rate": 0.005, "batch_tokens": 512},
        "micro": {"learning_rate": 0.003, "batch_tokens": 2048},
        "paper": {
            "learning_rate": (512 * 4000) ** -0.5, "schedule": "inverse-sqrt", "warmup_steps": 4000, "beta1": 0.9, "beta2": 0.98,
            "adam_epsilon": 1e-09, "weight_decay": 0.0, "clip": 0.0, "embedding_lr_scale": 1.0,
        },
    },
)
