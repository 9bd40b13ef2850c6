"""The settings of every step, on one page. The command line's flags are made from these fields and the words behind them.

It imports nothing heavy, so that `--help` answers at once.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

from stairs.errors import BadInput, preview
from stairs.layers.head_count import check_heads

LARGEST = 1 << 20
FROM_TOKENIZER = ("vocab_size", "begin", "end", "unknown", "impossible_ids", "output_heads")  # fields nobody types


@dataclass(frozen=True)
class ModelConfig:
    """What the settings of all models share."""

    vocab_size: int  # how many different ids the tokenizer has

    @property
    def context(self) -> int:
        """Tokens of a row; 0 for any number."""
        return 0

    @property
    def width(self) -> int:
        """Of a token's vector; 0 without one."""
        return 0

    @property
    def layers(self) -> int:
        return 0


@dataclass(frozen=True)
class NGramConfig(ModelConfig):
    begin: int = 2  # the id before every sentence
    end: int = 3  # the id after every sentence
    unknown: int = 1  # the id of what is not in the vocabulary
    order: int = 3  # n: how many words, counting the predicted one
    prune: tuple[int, ...] = (0,)  # leave out n-grams seen no more often than this: a number per order, the last for all longer ones
    impossible_ids: tuple[int, ...] = (0, 2, 4)  # ids that no text has: padding, begin, mask

    def __post_init__(self) -> None:
        check_range(self, "order", 1, 32)
        if list(self.prune) != sorted(self.prune) or not self.prune or self.prune[0] != 0:
            came = " ".join(map(str, self.prune))
            raise BadInput(f"prune {came} must begin with 0, since words are kept, and never fall, as in --prune 0 0 1")


@dataclass(frozen=True)
class NNLMConfig(ModelConfig):
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
        check_range(self, "order", 2, 64)
        for name in ("width", "hidden", "samples", "context"):
            check_range(self, name, 1, LARGEST)
        check_range(self, "dropout", 0, 0.99)


@dataclass(frozen=True)
class GPTConfig(ModelConfig):
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
    tie_embeddings: bool = True  # the output layer is the table of token vectors

    def __post_init__(self) -> None:
        check_heads(self.width, self.heads)
        for name in ("width", "layers", "context"):
            check_range(self, name, 1, LARGEST)
        check_range(self, "dropout", 0, 0.99)
        if self.positions == "rotary" and self.width // self.heads % 2:
            raise BadInput(f"rotary positions need heads of an even width, got {self.width} / {self.heads}; change the number of heads")


@dataclass(frozen=True)
class BERTConfig(ModelConfig):
    context: int = 128  # how many tokens it can look at
    width: int = 256  # of a token's vector
    heads: int = 4  # attentions side by side in a block
    layers: int = 4  # blocks on top of one another
    feed_forward: int | None = None  # width inside a block's network; four times the width if not given
    dropout: float = 0.1  # share of numbers switched off in training
    activation: Literal["gelu", "gelu-tanh", "relu"] = "gelu"  # inside a block's network
    segments: int = 2  # kinds of sentence: the first and the second of a pair
    epsilon: float = 1e-12  # keeps the norms from dividing by zero
    objective: Literal["next-sentence", "none", "sentence-order", "prefix", "permutation"] = "next-sentence"  # learnt with the words left out
    mask_prob: float = 0.15  # share of the tokens that are asked for
    mask_token_share: float = 0.8  # share of those that [MASK] stands for
    random_share: float = 0.1  # share of those that another token stands for; the rest stay
    whole_word_masking: bool = True  # ask for all pieces of a word or for none; Chinese words as jieba cuts them
    short_seq_prob: float = 0.1  # share of the examples that are shorter than the context on purpose
    output_heads: tuple[str, ...] | None = None  # what stands on the blocks: pooler, words, next; None: what the objective needs

    def __post_init__(self) -> None:
        check_heads(self.width, self.heads)
        for name in ("width", "layers", "segments"):
            check_range(self, name, 1, LARGEST)
        check_range(self, "context", 8, LARGEST)
        for name, low, high in (("dropout", 0, 0.99), ("mask_prob", 0.001, 0.99), ("mask_token_share", 0, 1), ("random_share", 0, 1),
            ("short_seq_prob", 0, 1)):
            check_range(self, name, low, high)
        if self.feed_forward is not None:
            check_range(self, "feed_forward", 1, LARGEST)
        if self.mask_token_share + self.random_share > 1:
            raise BadInput(
                f"mask_token_share {self.mask_token_share} and random_share {self.random_share} are shares of the same tokens "
                "and cannot exceed 1 together"
            )
        if self.output_heads is None:
            pairs = self.objective in ("next-sentence", "sentence-order")
            object.__setattr__(self, "output_heads", ("pooler", "words", "next") if pairs else ("words",))


@dataclass(frozen=True)
class Seq2SeqConfig(ModelConfig):
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every text
    context: int = 256  # tokens of a sentence, at most
    width: int = 256  # of a token's vector
    hidden: int = 512  # width of the state; half of it reads the source from either end
    layers: int = 1  # cells on top of one another, in the encoder and in the decoder
    cell: Literal["rnn", "lstm", "gru"] = "lstm"  # what carries the state along
    attention: Literal["none", "dot", "scaled", "additive", "bilinear", "projected"] = "none"  # score of the context of each step; none: one vector
    dropout: float = 0.2  # share of numbers switched off in training
    label_smoothing: float = 0.1  # how much of what is wanted is any word, so that nobody is too sure

    def __post_init__(self) -> None:
        for name in ("width", "hidden", "layers"):
            check_range(self, name, 1, LARGEST)
        check_range(self, "context", 2, LARGEST)
        for name in ("dropout", "label_smoothing"):
            check_range(self, name, 0, 0.99)
        if self.hidden % 2:
            raise BadInput(f"hidden {self.hidden} is read half from the left and half from the right; give an even number")


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every text
    context: int = 256  # tokens of a sentence, at most
    width: int = 256  # of a token's vector
    heads: int = 4  # attentions side by side in a block
    layers: int = 3  # blocks on top of one another, in the encoder and in the decoder
    feed_forward: int | None = None  # width inside a block's network; four times the width if not given
    dropout: float = 0.1  # share of numbers switched off in training
    norm_first: bool = True  # norm before each sublayer, which learns faster, or after the sum, as the paper has it
    label_smoothing: float = 0.1  # how much of what is wanted is any word, so that nobody is too sure

    def __post_init__(self) -> None:
        check_heads(self.width, self.heads)
        check_range(self, "layers", 1, LARGEST)
        check_range(self, "context", 2, LARGEST)
        for name in ("dropout", "label_smoothing"):
            check_range(self, name, 0, 0.99)
        if self.feed_forward is not None:
            check_range(self, "feed_forward", 1, LARGEST)


@dataclass(frozen=True)
class ELMoConfig(ModelConfig):
    begin: int = 2  # the id before every text
    end: int = 3  # the id after every sentence
    unknown: int = 1  # the id of what cannot be said
    context: int = 64  # words in a row of training text
    burn_in: int = 0  # words before each row, and behind it, that are read first and not learnt from
    character_set: Literal["unicode", "bytes"] = "unicode"  # what a word is spelt in
    max_word_length: int = 20  # letters of a word that are read
    character_width: int = 16  # of a letter's vector
    filters: tuple[int, ...] = (32, 32, 64, 128, 128)  # that look at one letter, at two, at three, ...
    highways: int = 1  # layers on top of the filters
    width: int = 128  # of a word's vector, and of what each LSTM tells
    hidden: int = 512  # what each LSTM remembers
    layers: int = 2  # LSTMs on top of one another, in each direction
    output_vocab: int = 32768  # words that can be said, the most frequent; the others are unknown
    softmax: Literal["auto", "full", "sampled", "cnn"] = "auto"  # train against all words, a sample, or a sample spelt; auto: a sample above 8192
    samples: int = 2048  # words drawn for the sampled softmax
    correction_width: int = 128  # width of what is added to a spelt word, with --softmax cnn
    dropout: float = 0.1  # share of numbers switched off in training

    def __post_init__(self) -> None:
        for name in ("max_word_length", "character_width", "width", "hidden", "layers", "samples", "correction_width"):
            check_range(self, name, 1, LARGEST)
        check_range(self, "context", 2, LARGEST)
        for name in ("burn_in", "highways"):
            check_range(self, name, 0, LARGEST)
        check_range(self, "output_vocab", 6, 1 << 24)
        check_range(self, "dropout", 0, 0.99)
        if not self.filters or min(self.filters) < 1:
            raise BadInput(f"filters {' '.join(map(str, self.filters))} must be at least 1 of each width, as in --filters 32 32 64")
        if self.width >= self.hidden:
            raise BadInput(f"an LSTM that remembers {self.hidden} numbers can tell fewer, not {self.width}; give a smaller width or a larger hidden")


@dataclass(frozen=True)
class Word2VecConfig(ModelConfig):
    width: int = 100  # of a word's vector
    window: int = 5  # words on either side that count as near; for each word fewer may be drawn
    negatives: int = 5  # words drawn to be told apart from the right one
    subsample: float = 1e-3  # share of the text above which a word's occurrences are thinned out; 0: none
    softmax: Literal["negative", "hierarchical"] = "negative"  # against words drawn, or down a Huffman tree of all words
    subwords: str = ""  # lengths of the character n-grams that are parts of a word, as in 3-6; none if not given
    buckets: int = 1 << 18  # rows for the n-grams of characters
    power: float = 0.75  # of a word's count, when words are drawn

    def __post_init__(self) -> None:
        for name, low, high in (("width", 1, LARGEST), ("window", 1, 1000), ("negatives", 1, 1000), ("subsample", 0, 1), ("power", 0, 10)):
            check_range(self, name, low, high)
        check_range(self, "buckets", 1, 1 << 28)
        self.subword_lengths  # noqa: B018  raises if they are none

    @property
    def subword_lengths(self) -> tuple[int, int] | None:
        """Of the shortest and of the longest n-gram of characters."""
        if not self.subwords:
            return None
        shortest, dash, longest = self.subwords.partition("-")
        longest = longest if dash else shortest
        if not (shortest.isdecimal() and longest.isdecimal() and 1 <= int(shortest) <= int(longest) <= 64):
            raise BadInput(f"subwords {preview(self.subwords)} are no lengths of n-grams; give the shortest and the longest, as in 3-6")
        return int(shortest), int(longest)


@dataclass(frozen=True)
class GloVeConfig(ModelConfig):
    width: int = 100  # of a word's vector
    window: int = 10  # words on either side that count as near
    x_max: float = 10.0  # pairs that occur as often as this, or more often, weigh 1
    power: float = 0.75  # of the weight of rarer pairs

    def __post_init__(self) -> None:
        check_range(self, "width", 1, LARGEST)
        check_range(self, "window", 1, 1000)
        check_range(self, "x_max", 1e-3, 1e12)
        check_range(self, "power", 0, 10)


@dataclass(frozen=True)
class VectorsConfig(ModelConfig):
    """Vectors that another tool trained: `stairs adopt` makes them a run, and nobody trains them."""

    width: int = 100  # of a word's vector

    def __post_init__(self) -> None:
        check_range(self, "width", 1, LARGEST)


def check_range(config: Any, name: str, low: float, high: float) -> None:
    value = getattr(config, name)
    if not low <= value <= high:
        raise BadInput(f"{name} {value} is not between {low} and {high}")


def make_config(model: str, special_ids: dict[str, Any], **options: Any) -> Any:
    """The settings of a step: of what a tokenizer tells (its `roles`), what the step has a field for, and what was chosen."""
    names = {field.name for field in fields(CONFIGS[model])}
    return CONFIGS[model](**{name: value for name, value in special_ids.items() if name in names}, **options)


CONFIGS: dict[str, Any] = {
    "ngram": NGramConfig,
    "nnlm": NNLMConfig,
    "gpt": GPTConfig,
    "bert": BERTConfig,
    "seq2seq": Seq2SeqConfig,
    "cove": Seq2SeqConfig,
    "elmo": ELMoConfig,
    "transformer": TransformerConfig,
    "cbow": Word2VecConfig,
    "skipgram": Word2VecConfig,
    "glove": GloVeConfig,
    "vectors": VectorsConfig,
}
