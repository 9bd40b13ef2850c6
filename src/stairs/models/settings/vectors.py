"""The settings, sizes and default training of adopted word vectors."""

from dataclasses import dataclass

from stairs.models.settings.common import ModelConfig, ModelSettings, bounds


@dataclass(frozen=True)
class VectorsConfig(ModelConfig):
    """Vectors that another tool trained: `stairs adopt` makes them a run; they are not trained further."""

    width: int = 100  # width of a word vector
    ranges = bounds("width")


SETTINGS = ModelSettings(
    config=VectorsConfig,
    model="stairs.models.vectors:Vectors",
    sizes={
        "mini": {},
        "small": {},
        "base": {},
        "paper": {},
    },
)
