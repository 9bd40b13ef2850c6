"""Which size, batch and vocabulary fit into a time on this machine: the one place that chooses.

The products that the machine shows and the multiply-adds of a size give the tokens a second that it would learn from; with the time, how many it can
read. The largest size that can read enough is taken: of two models the smaller learns faster and the larger learns more, and `MAX_TOKENS_CHECKED`
says where they cross. Text that is read again counts a few times only.

It imports nothing heavy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from stairs.models.settings import CONFIGS
from stairs.models.sizes import DEFAULT_TOKENIZER, SIZES, TRAINING_DEFAULTS, TRANSLATION_MODELS
from stairs.training.options import TrainingOptions

SIZES_ASCENDING = ("nano", "micro", "mini", "small", "base")
UPDATE_SHARE = 0.8  # of the time that is spent on updates
UTILISATION = 0.85  # of the products that the machine shows, in those of a training
BF16 = 1.8  # how many times as fast the products are with bfloat16 in hardware
LOGIT_COST = 24  # multiply-adds that the softmax of one logit is worth
# Multiply-adds a token that all but the products is worth: norms, attention, cells, the optimizer. With it the speed of nano, micro and mini of every
# model is known to a third, on one core of the ordinary kind (AVX2, fp32, 79 gigaflops).
OVERHEAD = {"nnlm": 0.0, "gpt": 2e5, "bert": 2.5e5, "elmo": 1.4e6, "seq2seq": 5.5e5, "cove": 7.5e5, "transformer": 4.8e5}
EPOCHS = 16  # so often is a text worth reading again
CHARACTERS_PER_TOKEN = {"words": 5.3, "byte-bpe": 4.0, "wordpiece": 4.0}
VOCABULARY = {"words": 32_768, "byte-bpe": 8192, "wordpiece": 8192}  # about as many tokens
TOKENS_PER_WEIGHT = 5  # that a size above mini should be able to read

# Tokens that a size must be able to read to be better than the size below it. Measured on one core of the ordinary kind (AVX2, fp32), by CPU seconds:
#   gpt          4 MB of Wikipedia, bits per character: 45 s nano 2.315, micro 2.414; 150 s nano 2.153, micro 2.236. At as many tokens the two are
#                about alike, so micro pays where nano flattens, behind what was measured: 5 million is an extrapolation
#   elmo         the same text: 30 s nano 2.365, micro 2.394
#   bert         the same text, loss: 30 s nano 6.99, micro 7.09
#   transformer  number names, BLEU: 30 s nano 97.1, micro 91.2
#   seq2seq      number names, BLEU: 30 s nano 97.0, micro 95.5
# The figures for nnlm and cove, and all for mini, are estimates from these.
MIN_TOKENS: dict[str, dict[str, float]] = {
    "nnlm": {"micro": 3e6, "mini": 8e6},
    "gpt": {"micro": 5e6, "mini": 1.2e7},
    "bert": {"micro": 2e6, "mini": 1e7},
    "elmo": {"micro": 4e5, "mini": 2e6},
    "seq2seq": {"micro": 1e6, "mini": 2e6},
    "cove": {"micro": 1e6, "mini": 2e6},
    "transformer": {"micro": 1e6, "mini": 4e6},
}


@dataclass(frozen=True)
class Recipe:
    """What fits. Whatever the user gives goes before it."""

    size: str
    vocab_size: int | None  # None: as many as the tokenizer usually has
    batch_tokens: int
    learning_rate: float | None  # None: the model's own
    reason: str  # one line, for the user; nothing if there was nothing to choose
    optimizer: dict[str, Any] = field(default_factory=dict)  # other options of a training, as the paper of a size has them

    @property
    def training(self) -> dict[str, Any]:
        """The options of a training by this recipe."""
        own = {} if self.learning_rate is None else {"learning_rate": self.learning_rate}
        return {"batch_tokens": self.batch_tokens, **own, **self.optimizer}


def choose_recipe(
    model: str,
    seconds: float,
    characters: int | None,
    gigaflops: float,
    *,
    bf16: bool = False,
    vocabulary: int | None = None,
) -> Recipe:
    """The recipe for so many `parse_duration` of training on so many `characters` of text (None: not known) at so many float32 `gigaflops`, see
    `machine.gigaflops`. `vocabulary` is the number of tokens, if it is known."""
    if model not in MIN_TOKENS:
        return recipe_of_size(model, "mini")
    kind = DEFAULT_TOKENIZER[model]
    vocab_size = None if vocabulary or kind == "words" or model in TRANSLATION_MODELS else vocabulary_for(characters)
    tokens = vocabulary or vocab_size or VOCABULARY[kind]
    text = None if characters is None else EPOCHS * characters / CHARACTERS_PER_TOKEN[kind]
    readable = {
        size: min(tokens_per_second(model, size, tokens, gigaflops, bf16) * seconds * UPDATE_SHARE, text or math.inf) for size in SIZES_ASCENDING
    }
    size = SIZES_ASCENDING[0]
    for larger in SIZES_ASCENDING[1:]:
        if readable[larger] < min_tokens(model, larger, tokens):
            break
        size = larger
    chosen = recipe_of_size(model, size)
    what = f"size {size} ({describe_shape(model, size)}), batches of {chosen.batch_tokens} tokens{f', vocabulary {vocab_size}' if vocab_size else ''}"
    why = f"because it can read {format_tokens(readable[size])} tokens"
    if size != larger:
        why += f", and {larger}, which wants {format_tokens(min_tokens(model, larger, tokens))}, only {format_tokens(readable[larger])}"
    if text is not None and readable[size] == text:
        why += f": {EPOCHS} times this text"
    speed = tokens_per_second(model, size, tokens, gigaflops, bf16)
    return Recipe(
        size, vocab_size, chosen.batch_tokens, chosen.learning_rate,
        f"{model} in {seconds:.0f} s at about {round_to_two_digits(speed):,} tokens/s: {what}, {why}",
    )  # fmt: skip


def recipe_of_size(model: str, size: str) -> Recipe:
    """How a given size is trained."""
    training = dict(TRAINING_DEFAULTS.get(model, {}).get(size, {}))
    return Recipe(size, None, training.pop("batch_tokens", default_option("batch_tokens")), training.pop("learning_rate", None), "", training)


def default_option(option: str) -> Any:
    return next(field.default for field in fields(TrainingOptions) if field.name == option)


def vocabulary_for(characters: int | None) -> int:
    """Subwords: fewer for a text in which most of many would be seen too seldom. Measured with gpt nano, 15 s, bits per character: 500 thousand
    characters: 8192 2.436, 4096 2.400; 200 thousand: 8192 3.161, 4096 3.027, 2048 2.966."""
    return 8192 if characters is None or characters >= 1_000_000 else 4096 if characters >= 250_000 else 2048


def min_tokens(model: str, size: str, vocabulary: int) -> float:
    """Tokens from which a size is worth its time."""
    return MIN_TOKENS[model].get(size) or TOKENS_PER_WEIGHT * parameter_count(model, size, vocabulary)


def tokens_per_second(model: str, size: str, vocabulary: int, gigaflops: float, bf16: bool = False) -> float:
    """Of training: forward and twice as much backward, two operations for each multiply-add."""
    faster = BF16 if bf16 else 1.0
    return gigaflops * 1e9 * UTILISATION / (6 * (multiply_adds(model, size, vocabulary) / faster + OVERHEAD[model]))


def multiply_adds(model: str, size: str, vocabulary: int) -> float:
    """For each token in the forward pass: blocks and output layer."""
    return MULTIPLY_ADDS[model](build_config(model, size, vocabulary))


def parameter_count(model: str, size: str, vocabulary: int) -> float:
    """About as many parameters: the multiply-adds without attention, and the table of tokens."""
    config = build_config(model, size, vocabulary)
    return MULTIPLY_ADDS[model](config) + vocabulary * config.width


def build_config(model: str, size: str, vocabulary: int) -> Any:
    return CONFIGS[model](vocab_size=vocabulary, **SIZES[model][size])


def describe_shape(model: str, size: str) -> str:
    """As in 2 x 64."""
    config = build_config(model, size, VOCABULARY[DEFAULT_TOKENIZER[model]])
    if model == "nnlm":
        return f"{config.order - 1} x {config.width} and {config.hidden}"
    layers = f"{config.layers} + {config.layers}" if model in TRANSLATION_MODELS else str(config.layers)
    return f"{layers} x {config.width if model in ('gpt', 'bert', 'transformer') else config.hidden}"


def round_to_two_digits(number: float) -> int:
    """To two digits: more are not known."""
    return int(float(f"{number:.2g}"))


def format_tokens(tokens: float) -> str:
    """960, 540 thousand, 1.2 million."""
    about = float(f"{tokens:.2g}")
    return f"{about / 1e6:g} million" if about >= 1e6 else f"{about / 1e3:g} thousand" if about >= 1e3 else f"{about:g}"


def gpt_multiply_adds(c: Any) -> float:
    return block_multiply_adds(c) + c.vocab_size * (c.width + LOGIT_COST)


def bert_multiply_adds(c: Any) -> float:
    return block_multiply_adds(c) + c.mask_prob * (c.vocab_size * (c.width + LOGIT_COST) + c.width**2)


def block_multiply_adds(c: Any) -> float:
    return c.layers * (12 * c.width**2 + 2 * c.context * c.width)


def nnlm_multiply_adds(c: Any) -> float:
    read = (c.order - 1) * c.width
    return read * c.hidden + c.vocab_size * (c.hidden + read + LOGIT_COST)


def elmo_multiply_adds(c: Any) -> float:
    """Half of the words are met again within a batch."""
    characters = c.max_word_length * c.character_width * sum(size * number for size, number in enumerate(c.filters, 1)) / 2
    said = min(c.output_vocab, c.vocab_size, c.samples)
    return characters + 2 * (c.layers * (8 * c.hidden * c.width + c.hidden * c.width) + said * (c.width + LOGIT_COST))


def seq2seq_multiply_adds(c: Any) -> float:
    """Half of the tokens are read, half are said."""
    read = c.layers * 4 * c.hidden * (c.width + c.hidden / 2)
    said = c.layers * 4 * c.hidden * (c.width + c.hidden) + 2 * c.hidden * c.width + c.vocab_size * (c.width + LOGIT_COST)
    return (read + said) / 2


def transformer_multiply_adds(c: Any) -> float:
    return (c.layers * 28 * c.width**2 + c.vocab_size * (c.width + LOGIT_COST)) / 2


MULTIPLY_ADDS: dict[str, Callable[[Any], float]] = {
    "nnlm": nnlm_multiply_adds,
    "gpt": gpt_multiply_adds,
    "bert": bert_multiply_adds,
    "elmo": elmo_multiply_adds,
    "seq2seq": seq2seq_multiply_adds,
    "cove": seq2seq_multiply_adds,
    "transformer": transformer_multiply_adds,
}
