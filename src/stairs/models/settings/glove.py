"""The settings, sizes and default training of GloVe."""

from dataclasses import dataclass

from stairs.models.settings.common import ModelConfig, ModelSettings, bounds


@dataclass(frozen=True)
class GloVeConfig(ModelConfig):
    width: int = 100  # width of a word vector
    window: int = 10  # words on either side that count as context
    x_max: float = 10.0  # count from which a pair has weight 1
    power: float = 0.75  # exponent of the weight of rarer pairs
    ranges = bounds("width", window=(1, 1000), x_max=(1e-3, 1e12), power=(0, 10))


SETTINGS = ModelSettings(
    config=GloVeConfig,
    model="stairs.models.glove:GloVe",
    tokenizer="words",
    min_count=5,  # a word seen less often has too few neighbours to learn from
    sizes={
        "mini": {},
        "small": {"width": 200},
        "base": {"width": 300},
        "paper": {"width": 300, "x_max": 100.0},
    },
)
