"""The settings, sizes and default training of CBOW and skip-gram."""

from dataclasses import dataclass
from typing import Literal

from stairs.errors import BadInput, preview
from stairs.models.settings.common import ModelConfig, ModelSettings, bounds


@dataclass(frozen=True)
class Word2VecConfig(ModelConfig):
    width: int = 100  # width of a word vector
    window: int = 5  # maximum distance of a neighbour; drawn from 1 to this for each word
    negatives: int = 5  # negative samples of each word
    subsample: float = 1e-3  # subsampling threshold for frequent words, as a share of the text; 0: none
    softmax: Literal["negative", "nce", "hierarchical"] = "negative"  # negative sampling, noise-contrastive estimation, or hierarchical softmax
    subwords: str = ""  # subwords: shortest and longest character n-gram, as in 3-6; none if not given
    buckets: int = 1 << 18  # hash buckets of the character n-grams
    power: float = 0.75  # exponent of a word's count in the distribution of negative samples
    ranges = bounds("width", window=(1, 1000), negatives=(1, 1000), subsample=(0, 1), power=(0, 10), buckets=(1, 1 << 28))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.subword_lengths  # noqa: B018  raises if they are none

    @property
    def subword_lengths(self) -> tuple[int, int] | None:
        """Of the shortest and of the longest character n-gram."""
        if not self.subwords:
            return None
        shortest, dash, longest = self.subwords.partition("-")
        longest = longest if dash else shortest
        if not (shortest.isdecimal() and longest.isdecimal() and 1 <= int(shortest) <= int(longest) <= 64):
            raise BadInput(f"subwords {preview(self.subwords)} are not lengths of n-grams; give the shortest and the longest, as in 3-6")
        return int(shortest), int(longest)


def word2vec_settings(model: str, **paper: object) -> ModelSettings:
    """Both share all sizes but that of their paper."""
    return ModelSettings(
        config=Word2VecConfig,
        model=f"stairs.models.word2vec:{model}",
        tokenizer="words",
        min_count=5,  # a word seen less often has too few neighbours to learn from
        sizes={"mini": {}, "small": {"width": 200}, "base": {"width": 300, "buckets": 2000000}, "paper": {"width": 300, **paper}},
    )


CBOW = word2vec_settings("CBOW", window=4, softmax="hierarchical", subsample=0.0)
SKIPGRAM = word2vec_settings("SkipGram", subsample=1e-5)
