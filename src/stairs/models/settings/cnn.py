"""The settings and sizes of the CNN. It learns from labelled examples alone: `stairs tune cnn labels.csv`."""

from dataclasses import dataclass

from stairs.errors import BadInput
from stairs.models.settings.common import LARGEST, ModelConfig, ModelSettings, bounds

DILATED_LAYERS = {"tag": 3, "span": 4}  # by the kind of labelled examples, unless they are given: a tag depends on its neighbourhood


@dataclass(frozen=True)
class CNNConfig(ModelConfig):
    context: int = 512  # maximum tokens of a text
    word_width: int = 100  # width of a word vector
    width: int = 300  # width of a token's vector: the filters of all windows together
    windows: tuple[int, ...] = (3, 4, 5)  # words that the filters of the first layer read at a time, an equal number of filters for each
    dilated_layers: int = 0  # layers of dilated windows of three words above the first; if not given, 3 for tag and 4 for span
    dilation: int = 2  # factor by which the words of a window stand further apart in each layer; 1: side by side in all of them
    input_dropout: float = 0.2  # dropout probability of the word vectors
    dropout: float = 0.5  # dropout probability of the filters
    ranges = bounds(
        "word_width", "width", "dilation", context=(2, LARGEST), dilated_layers=(0, 64), input_dropout=(0, 0.99), dropout=(0, 0.99)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.windows or min(self.windows) < 1 or max(self.windows) > self.context:
            raise BadInput(f"windows {' '.join(map(str, self.windows))} must read 1 word or more and fit in a text, as in --windows 3 4 5")
        if self.width % len(self.windows):
            raise BadInput(f"width {self.width} cannot be shared equally by {len(self.windows)} windows; give a multiple of {len(self.windows)}")


SETTINGS = ModelSettings(
    config=CNNConfig,
    model="stairs.models.cnn:CNN",
    sizes={
        "nano": {"word_width": 50, "width": 60},
        "micro": {"width": 150},
        "mini": {},
        "small": {"word_width": 200, "width": 600},
        "base": {"word_width": 300, "width": 900, "windows": (2, 3, 4, 5, 6, 7)},
        "paper": {"word_width": 300, "input_dropout": 0.0},
    },
)
