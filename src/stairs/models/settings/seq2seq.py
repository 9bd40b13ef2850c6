"""The settings, sizes and default training of Seq2Seq and CoVe."""

from dataclasses import dataclass
from typing import Literal

from stairs.errors import BadInput
from stairs.layers.score_names import ScoreName, check_score_widths
from stairs.models.settings.common import LARGEST, ModelConfig, ModelSettings, bounds


@dataclass(frozen=True)
class Seq2SeqConfig(ModelConfig):
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every text
    context: int = 256  # maximum tokens of a sentence
    width: int = 256  # width of a token vector
    hidden: int = 512  # width of the decoder's state
    source_width: int | None = None  # width of the encoder's states, half of it for each direction; as wide as hidden if not given
    layers: int = 1  # recurrent layers, in the encoder and in the decoder each
    cell: Literal["rnn", "lstm", "gru"] = "lstm"  # recurrent cell
    attention: Literal["none", ScoreName] = "none"  # attention score, divided by sqrt(D) if named scaled; none: the whole source in one vector
    attention_query: Literal["after", "before"] = "after"  # the decoder state that attends: after it read the last token, or before
    dropout: float = 0.2  # dropout probability
    label_smoothing: float = 0.1  # label smoothing: the share of each target that is spread over the vocabulary
    ranges = bounds("width", "hidden", "source_width", "layers", context=(2, LARGEST), dropout=(0, 0.99), label_smoothing=(0, 0.99))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoder_width % 2:
            name = "hidden" if self.source_width is None else "source_width"
            raise BadInput(f"{name} {self.encoder_width} is shared by two directions; give an even number")
        if self.attention != "none":
            check_score_widths(self.attention, self.hidden, self.encoder_width)
        elif self.attention_query == "before":
            raise BadInput("attention_query before needs an attention score, and attention is none; take one such as additive, or the query after")

    @property
    def encoder_width(self) -> int:
        return self.hidden if self.source_width is None else self.source_width


SEQ2SEQ = ModelSettings(
    config=Seq2SeqConfig,
    model="stairs.models.seq2seq:Seq2Seq",
    tokenizer="byte-bpe",
    sizes={
        "nano": {"width": 64, "hidden": 128},
        "micro": {"width": 128, "hidden": 256},
        "mini": {},
        "small": {"width": 512, "layers": 2},
        "base": {"width": 512, "hidden": 1024, "layers": 2},
        "paper": {
            "width": 620, "hidden": 1000, "source_width": 2000, "cell": "gru", "attention": "additive", "attention_query": "before",
            "dropout": 0.0, "label_smoothing": 0.0,
        },
    },
    training={
        "nano": {"learning_rate": 0.005, "batch_tokens": 512},
        "micro": {"learning_rate": 0.003, "batch_tokens": 512},
    },
)
COVE = ModelSettings(
    config=Seq2SeqConfig,
    model="stairs.models.seq2seq:CoVe",
    tokenizer="byte-bpe",
    sizes={
        "nano": {"width": 64, "hidden": 128, "layers": 2, "attention": "bilinear"},
        "micro": {"width": 128, "hidden": 256, "layers": 2, "attention": "bilinear"},
        "mini": {"layers": 2, "attention": "bilinear"},
        "small": {"width": 300, "layers": 2, "attention": "bilinear"},
        "base": {"width": 300, "hidden": 600, "layers": 2, "attention": "bilinear"},
        "paper": {"width": 300, "hidden": 600, "layers": 2, "attention": "bilinear", "label_smoothing": 0.0},
    },
    training={
        "nano": {"learning_rate": 0.005, "batch_tokens": 512},
        "micro": {"learning_rate": 0.003, "batch_tokens": 512},
    },
)
