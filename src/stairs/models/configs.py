"""The settings of every step, on one page. The command line's flags are made from these fields and the words behind them.

It imports nothing heavy, so that `--help` answers at once.
"""

from dataclasses import dataclass
from typing import Any, Literal

from stairs.errors import BadInput
from stairs.layers.heads import check_heads

LARGEST = 1 << 20
FROM_TOKENIZER = ("vocab_size", "begin", "end", "unknown", "never")  # fields nobody types: the tokenizer fills them


@dataclass(frozen=True)
class NGramConfig:
    vocab_size: int  # how many different ids the tokenizer has
    begin: int = 2  # the id before every sentence
    end: int = 3  # the id after every sentence
    unknown: int = 1  # the id of what is not in the vocabulary
    order: int = 3  # n: how many words, counting the predicted one
    prune: tuple[int, ...] = (0,)  # leave out n-grams seen no more often than this: a number per order, the last for all longer ones
    never: tuple[int, ...] = (0, 2, 4)  # ids that no text has: padding, begin, mask

    def __post_init__(self) -> None:
        within(self, "order", 1, 32)
        if list(self.prune) != sorted(self.prune) or not self.prune or self.prune[0] != 0:
            came = " ".join(map(str, self.prune))
            raise BadInput(f"prune {came} must begin with 0, since words are kept, and never fall, as in --prune 0 0 1")


@dataclass(frozen=True)
class NNLMConfig:
    vocab_size: int  # how many different ids the tokenizer has
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every sentence
    unknown: int = 1  # the id of what is not in the vocabulary
    order: int = 5  # n: how many words, counting the predicted one
    width: int = 64  # of a word's vector
    hidden: int = 256  # width of the tanh layer
    direct: bool = True  # connect the word vectors to the output directly as well
    softmax: Literal["auto", "full", "sampled"] = "auto"  # train against all words or a sample; auto: a sample above 32768 words
    samples: int = 2048  # words drawn for the sampled softmax
    dropout: float = 0.0  # share of the hidden layer switched off in training
    context: int = 256  # tokens in a row of training text

    def __post_init__(self) -> None:
        within(self, "order", 2, 64)
        for name in ("width", "hidden", "samples", "context"):
            within(self, name, 1, LARGEST)
        within(self, "dropout", 0, 0.99)


@dataclass(frozen=True)
class GPTConfig:
    vocab_size: int  # how many different ids the tokenizer has
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every sentence
    unknown: int = 1  # the id of what is not in the vocabulary
    context: int = 256  # how many tokens it can look back on
    width: int = 256  # of a token's vector
    heads: int = 4  # attentions side by side in a block
    layers: int = 4  # blocks on top of one another
    dropout: float = 0.0  # share of numbers switched off in training
    norm_first: bool = True  # norm before each sublayer, as GPT-2 has it, or after the sum, as GPT has it
    positions: Literal["learned", "sinusoidal", "rotary"] = "learned"  # how it is told where a token stands
    tied: bool = True  # the output layer is the table of token vectors

    def __post_init__(self) -> None:
        check_heads(self.width, self.heads)
        for name in ("width", "layers", "context"):
            within(self, name, 1, LARGEST)
        within(self, "dropout", 0, 0.99)
        if self.positions == "rotary" and self.width // self.heads % 2:
            raise BadInput(f"rotary positions need heads of an even width, got {self.width} / {self.heads}; change the number of heads")


def within(config: Any, name: str, low: float, high: float) -> None:
    value = getattr(config, name)
    if not low <= value <= high:
        raise BadInput(f"{name} {value} is not between {low} and {high}")


CONFIGS: dict[str, Any] = {"ngram": NGramConfig, "nnlm": NNLMConfig, "gpt": GPTConfig}

USUAL_TOKENIZER = {"ngram": "words", "nnlm": "byte-bpe", "gpt": "byte-bpe"}

SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "ngram": {"mini": {}, "small": {"order": 4}, "base": {"order": 5}, "paper": {"order": 5}},
    "nnlm": {
        "mini": {},
        "small": {"width": 128, "hidden": 512},
        "base": {"order": 8, "width": 256, "hidden": 1024},
        "paper": {"order": 6, "width": 100, "hidden": 60, "softmax": "full"},
    },
    "gpt": {
        "mini": {},
        "small": {"width": 384, "heads": 6, "layers": 6},
        "base": {"context": 512, "width": 768, "heads": 12, "layers": 12, "dropout": 0.1},
        "paper": {"context": 512, "width": 768, "heads": 12, "layers": 12, "dropout": 0.1, "norm_first": False},
    },
}
