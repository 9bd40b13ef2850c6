"""The settings, sizes and default training of ELMo."""

from dataclasses import dataclass
from typing import Literal

from stairs.errors import BadInput
from stairs.models.settings.common import LARGEST, ModelConfig, ModelSettings, bounds


@dataclass(frozen=True)
class ELMoConfig(ModelConfig):
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every sentence
    unknown: int = 1  # the id of a word outside the output vocabulary
    context: int = 64  # words of a row of training text
    burn_in: int = 0  # burn-in: words read before and after each row without learning from them
    character_set: Literal["unicode", "bytes"] = "unicode"  # characters of a word: code points, or bytes of UTF-8
    max_word_length: int = 20  # maximum characters of a word; the rest is not read
    character_width: int = 16  # width of a character vector
    filters: tuple[int, ...] = (32, 32, 64, 128, 128)  # convolution filters of width 1, 2, 3, ...
    highways: int = 1  # highway layers on top of the filters
    width: int = 128  # width of a word vector, and of the projection of each LSTM
    hidden: int = 512  # width of the cell of each LSTM
    layers: int = 2  # LSTM layers in each direction
    cell_clip: float | None = None  # clip the cells of the LSTMs at this value, as the paper's program at 3; not clipped if not given
    projection_clip: float | None = None  # clip the projections of the LSTMs at this value, as the paper's program at 3; not clipped if not given
    output_vocab: int = 32768  # output vocabulary: the most frequent words; the others are predicted as unknown
    softmax: Literal["auto", "full", "sampled", "cnn"] = "auto"  # cnn: sampled, with word vectors from characters; auto: sampled above 8192
    samples: int = 2048  # words drawn for the sampled softmax
    correction_width: int = 128  # width of the correction of a word vector from characters, with --softmax cnn; 0: no correction
    dropout: float = 0.1  # dropout probability
    ranges = bounds(
        "max_word_length", "character_width", "width", "hidden", "layers", "samples",
        context=(2, LARGEST), burn_in=(0, LARGEST), correction_width=(0, LARGEST), highways=(0, LARGEST), output_vocab=(6, 1 << 24),
        dropout=(0, 0.99), cell_clip=(1e-3, 1e6), projection_clip=(1e-3, 1e6),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.filters or min(self.filters) < 1:
            raise BadInput(f"filters {' '.join(map(str, self.filters))} must be at least 1 of each width, as in --filters 32 32 64")
        if self.width >= self.hidden:
            advice = "give a smaller --width or a larger --hidden"
            raise BadInput(f"the projection of an LSTM must be narrower than its cell of {self.hidden}, got a width of {self.width}; {advice}")

SETTINGS = ModelSettings(
    config=ELMoConfig,
    model="stairs.models.elmo:ELMo",
    tokenizer="words",
    sizes={
        "nano": {"width": 32, "hidden": 128, "filters": (16, 16, 32, 32), "samples": 1024, "dropout": 0.0},
        "micro": {"width": 64, "hidden": 256, "filters": (16, 16, 32, 64, 64), "samples": 1024, "dropout": 0.0},
        "mini": {},
        "small": {"width": 256, "hidden": 1024, "filters": (32, 32, 64, 128, 256)},
        "base": {"width": 512, "hidden": 2048, "filters": (32, 32, 64, 128, 256, 512), "max_word_length": 30, "highways": 2},
        "paper": {
            "width": 512, "hidden": 4096, "filters": (32, 32, 64, 128, 256, 512, 1024), "highways": 2, "character_set": "bytes",
            "max_word_length": 48, "softmax": "sampled", "samples": 8192, "output_vocab": 793471, "context": 20, "burn_in": 20,
            "cell_clip": 3.0, "projection_clip": 3.0,
        },
    },
    training={
        "nano": {"learning_rate": 0.005, "batch_tokens": 1024},
        "micro": {"learning_rate": 0.003, "batch_tokens": 1024},
    },
)
