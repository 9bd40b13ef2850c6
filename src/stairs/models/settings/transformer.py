"""The settings, sizes and default training of the Transformer."""

from dataclasses import dataclass

from stairs.layers.head_count import check_heads
from stairs.models.settings.common import LARGEST, ModelConfig, ModelSettings, bounds


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every text
    context: int = 256  # maximum tokens of a sentence
    width: int = 256  # width of a token vector
    heads: int = 4  # attention heads of each block
    layers: int = 3  # blocks, in the encoder and in the decoder each
    feed_forward: int | None = None  # width of the feed-forward layer; four times the width if not given
    dropout: float = 0.1  # dropout probability
    norm_first: bool = True  # layer norm before each sublayer, which trains faster, or after the sum, as in the paper
    label_smoothing: float = 0.1  # label smoothing: the share of each target that is spread over the vocabulary
    ranges = bounds("layers", "feed_forward", context=(2, LARGEST), dropout=(0, 0.99), label_smoothing=(0, 0.99))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.width, self.heads)

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
        "micro": {"learning_rate": 0.003, "batch_tokens": 512},
        "paper": {
            "learning_rate": (512 * 4000) ** -0.5, "schedule": "inverse-sqrt", "warmup_steps": 4000, "beta1": 0.9, "beta2": 0.98,
            "adam_epsilon": 1e-09, "weight_decay": 0.0, "clip": 0.0, "embedding_lr_scale": 1.0,
        },
    },
)
