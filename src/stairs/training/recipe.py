"""Which size, batch and vocabulary fit into a time on this machine: the one place that chooses.

The measured gigaflops of the machine and the multiply-adds of a size give its tokens per second; with the time, the number of tokens it can train on.
The largest size that can train on enough tokens is taken: of two models the smaller learns faster and the larger learns more, and `MIN_TOKENS` says
where they cross. Text that is read again counts up to `EPOCHS` times.

It does not import torch.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stairs.models.settings import (
    CONFIGS,
    DEFAULT_TOKENIZER,
    SIZES,
    TRAINING_DEFAULTS,
    TRANSLATION_MODELS,
    BERTConfig,
    ELMoConfig,
    GPTConfig,
    NNLMConfig,
    Seq2SeqConfig,
    TransformerConfig,
)
from stairs.training.options import TrainingOptions

SIZES_ASCENDING = ("nano", "micro", "mini", "small", "base")
UPDATE_SHARE = 0.8  # of the time is spent on updates
UTILISATION = 0.85  # of the measured gigaflops, reached in training
BF16 = 1.8  # speed-up of matrix products with bfloat16 in hardware
LOGIT_COST = 24  # multiply-adds that take as long as the softmax of one logit
# Multiply-adds per token that take as long as everything but the matrix products: norms, attention, cells, the optimizer. With it the speed of nano,
# micro and mini of every model is right within a third, on one core of the ordinary kind (AVX2, fp32, 79 gigaflops).
OVERHEAD = {
    "nnlm": 0.0, "gpt": 2e5, "bert": 2.5e5, "roberta": 2.5e5, "unilm": 2.5e5, "xlnet": 5e5, "elmo": 1.4e6, "seq2seq": 5.5e5, "cove": 7.5e5,
    "transformer": 4.8e5,
}  # fmt: skip
EPOCHS = 16  # a text is worth reading this many times
CHARACTERS_PER_TOKEN = {"words": 5.3, "byte-bpe": 4.0, "wordpiece": 4.0}
VOCABULARY = {"words": 32_768, "byte-bpe": 8192, "wordpiece": 8192}  # typical sizes
TOKENS_PER_PARAMETER = 5  # tokens that a size above mini should train on, per parameter

# Tokens that a size must train on to be better than the size below it. Measured on one core of the ordinary kind (AVX2, fp32), by CPU seconds:
#   gpt          4 MB of Wikipedia, bits per character: 45 s nano 2.315, micro 2.414; 150 s nano 2.153, micro 2.236. With the same tokens the
#                two are about equal, so micro pays where nano flattens, beyond what was measured: 5 million is an extrapolation
#   elmo         the same text: 30 s nano 2.365, micro 2.394
#   bert         the same text, loss: 30 s nano 6.99, micro 7.09
#   transformer  number names, BLEU: 30 s nano 97.1, micro 91.2
#   seq2seq      number names, BLEU: 30 s nano 97.0, micro 95.5
# The figures for nnlm, cove, roberta, unilm and xlnet, and all for mini, are estimates from these.
MIN_TOKENS: dict[str, dict[str, float]] = {
    "nnlm": {"micro": 3e6, "mini": 8e6},
    "gpt": {"micro": 5e6, "mini": 1.2e7},
    **{model: {"micro": 2e6, "mini": 1e7} for model in ("bert", "roberta", "unilm", "xlnet")},
    "elmo": {"micro": 4e5, "mini": 2e6},
    "seq2seq": {"micro": 1e6, "mini": 2e6},
    "cove": {"micro": 1e6, "mini": 2e6},
    "transformer": {"micro": 1e6, "mini": 4e6},
}


@dataclass(frozen=True)
class Recipe:
    """What fits. Options of the user override it."""

    size: str
    vocab_size: int | None  # None: the tokenizer's default
    batch_tokens: int
    learning_rate: float | None  # None: the model's default
    reason: str  # one line for the user; empty if there was nothing to choose
    optimizer: dict[str, Any] = field(default_factory=dict)  # other training options, as the paper has them

    @property
    def training(self) -> dict[str, Any]:
        """The training options of this recipe."""
        learning_rate = {} if self.learning_rate is None else {"learning_rate": self.learning_rate}
        return {"batch_tokens": self.batch_tokens, **learning_rate, **self.optimizer}


def choose_recipe(
    model: str,
    seconds: float,
    characters: int | None,
    gigaflops: float,
    *,
    bf16: bool = False,
    vocabulary: int | None = None,
) -> Recipe:
    """The recipe for this many `seconds` of training on this many `characters` of text (None: unknown) at this many float32 `gigaflops`, see
    `machine.gigaflops`. `vocabulary` is the vocabulary size, if it is known."""
    if model not in MIN_TOKENS:
        return recipe_of_size(model, "mini")
    kind = DEFAULT_TOKENIZER[model]
    vocab_size = None if vocabulary or kind == "words" or model in TRANSLATION_MODELS else vocabulary_for(characters)
    tokens = vocabulary or vocab_size or VOCABULARY[kind]
    text = None if characters is None else EPOCHS * characters / CHARACTERS_PER_TOKEN[kind]
    speeds = {size: tokens_per_second(model, size, tokens, gigaflops, bf16) for size in SIZES_ASCENDING}
    possible = {size: min(speed * seconds * UPDATE_SHARE, text or math.inf) for size, speed in speeds.items()}
    size = SIZES_ASCENDING[0]
    for larger in SIZES_ASCENDING[1:]:
        if possible[larger] < min_tokens(model, larger, tokens):
            break
        size = larger
    recipe = recipe_of_size(model, size)
    what = f"size {size} ({describe_shape(model, size)}), batches of {recipe.batch_tokens} tokens{f', vocabulary {vocab_size}' if vocab_size else ''}"
    why = f"because it can train on {format_tokens(possible[size])} tokens"
    if size != larger:
        needed = format_tokens(min_tokens(model, larger, tokens))
        why += f", and {larger} needs {needed} but could train on {format_tokens(possible[larger])}"
    if text is not None and possible[size] == text:
        why += f": {EPOCHS} times this text"
    return Recipe(
        size, vocab_size, recipe.batch_tokens, recipe.learning_rate,
        f"{model} in {seconds:.0f} s at about {round_to_two_digits(speeds[size]):,} tokens/s: {what}, {why}",
    )  # fmt: skip


def recipe_of_size(model: str, size: str) -> Recipe:
    """The recipe of a given size."""
    training = dict(TRAINING_DEFAULTS.get(model, {}).get(size, {}))
    return Recipe(size, None, training.pop("batch_tokens", TrainingOptions.batch_tokens), training.pop("learning_rate", None), "", training)


def vocabulary_for(characters: int | None) -> int:
    """The number of subwords: smaller for a short text, in which most would be rare. Measured with gpt nano, 15 s, bits per character: 500
    thousand characters: 8192 2.436, 4096 2.400; 200 thousand: 8192 3.161, 4096 3.027, 2048 2.966."""
    return 8192 if characters is None or characters >= 1_000_000 else 4096 if characters >= 250_000 else 2048


def min_tokens(model: str, size: str, vocabulary: int) -> float:
    """Tokens that a size must train on to be worth its time."""
    return MIN_TOKENS[model].get(size) or TOKENS_PER_PARAMETER * parameter_count(model, size, vocabulary)


def tokens_per_second(model: str, size: str, vocabulary: int, gigaflops: float, bf16: bool = False) -> float:
    """Speed of training: one forward and twice as much backward, two operations per multiply-add."""
    speed_up = BF16 if bf16 else 1.0
    return gigaflops * 1e9 * UTILISATION / (6 * (multiply_adds(model, size, vocabulary) / speed_up + OVERHEAD[model]))


def multiply_adds(model: str, size: str, vocabulary: int) -> float:
    """Per token in the forward pass: blocks and output layer."""
    return MULTIPLY_ADDS[model](build_config(model, size, vocabulary))


def parameter_count(model: str, size: str, vocabulary: int) -> float:
    """Approximately: the multiply-adds without attention, and the token embeddings."""
    config = build_config(model, size, vocabulary)
    width: int = config.width
    return MULTIPLY_ADDS[model](config) + vocabulary * width


def build_config(model: str, size: str, vocabulary: int) -> Any:
    return CONFIGS[model](vocab_size=vocabulary, **SIZES[model][size])


def describe_shape(model: str, size: str) -> str:
    """Layers and width, as in 2 x 64."""
    config = build_config(model, size, VOCABULARY[DEFAULT_TOKENIZER[model]])
    if model == "nnlm":
        return f"{config.order - 1} x {config.width} and {config.hidden}"
    layers = f"{config.layers} + {config.layers}" if model in TRANSLATION_MODELS else str(config.layers)
    return f"{layers} x {config.hidden if model in ('seq2seq', 'cove', 'elmo') else config.width}"


def round_to_two_digits(number: float) -> int:
    """More digits are not known."""
    return int(float(f"{number:.2g}"))


def format_tokens(tokens: float) -> str:
    """960, 540 thousand, 1.2 million."""
    rounded = float(f"{tokens:.2g}")
    return f"{rounded / 1e6:g} million" if rounded >= 1e6 else f"{rounded / 1e3:g} thousand" if rounded >= 1e3 else f"{rounded:g}"


def gpt_multiply_adds(config: GPTConfig) -> float:
    return block_multiply_adds(config) + config.vocab_size * (config.width + LOGIT_COST)


def bert_multiply_adds(config: BERTConfig) -> float:
    return block_multiply_adds(config) + config.mask_prob * (config.vocab_size * (config.width + LOGIT_COST) + config.width**2)


def block_multiply_adds(config: GPTConfig | BERTConfig) -> float:
    return config.layers * (12 * config.width**2 + 2 * config.attended_keys * config.width)


def nnlm_multiply_adds(config: NNLMConfig) -> float:
    inputs = (config.order - 1) * config.width
    return inputs * config.hidden + config.vocab_size * (config.hidden + inputs + LOGIT_COST)


def elmo_multiply_adds(config: ELMoConfig) -> float:
    """Half of the words occur again within a batch."""
    characters = config.max_word_length * config.character_width * sum(size * number for size, number in enumerate(config.filters, 1)) / 2
    outputs = min(config.output_vocab, config.vocab_size, config.samples)
    cells = config.layers * (8 * config.hidden * config.width + config.hidden * config.width)
    return characters + 2 * (cells + outputs * (config.width + LOGIT_COST))


def seq2seq_multiply_adds(config: Seq2SeqConfig) -> float:
    """Half of the tokens are read, half are generated."""
    source = config.encoder_width
    encoder = config.layers * 4 * source * (config.width + source / 2)
    decoder = config.layers * 4 * config.hidden * (config.width + config.hidden) + (config.hidden + source) * config.width
    decoder += 4 * config.hidden * source + config.width**2 if config.attention_query == "before" else 0  # C_i enters the cell, y_{i-1} the readout
    return (encoder + decoder + config.vocab_size * (config.width + LOGIT_COST)) / 2


def transformer_multiply_adds(config: TransformerConfig) -> float:
    return (config.layers * 28 * config.width**2 + config.vocab_size * (config.width + LOGIT_COST)) / 2


MULTIPLY_ADDS: dict[str, Callable[[Any], float]] = {
    "nnlm": nnlm_multiply_adds,
    "gpt": gpt_multiply_adds,
    **dict.fromkeys(("bert", "roberta", "unilm", "xlnet"), bert_multiply_adds),
    "elmo": elmo_multiply_adds,
    "seq2seq": seq2seq_multiply_adds,
    "cove": seq2seq_multiply_adds,
    "transformer": transformer_multiply_adds,
}
