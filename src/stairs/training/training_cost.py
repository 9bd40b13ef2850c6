"""What training a model costs: multiply-adds and parameters of its sizes, and its tokens per second on a machine. It does not import torch."""

from collections.abc import Callable
from typing import Any

from stairs.models.settings import (
    CONFIGS,
    SIZES,
    BERTConfig,
    ELMoConfig,
    GPTConfig,
    NNLMConfig,
    Seq2SeqConfig,
    TransformerConfig,
)

UTILISATION = 0.85  # of the measured gigaflops, reached in training
BF16 = 1.8  # speed-up of matrix products with bfloat16 in hardware
LOGIT_COST = 24  # multiply-adds that take as long as the softmax of one logit
# Multiply-adds per token that take as long as everything but the matrix products: norms, attention, cells, the optimizer. With it the speed of nano,
# micro and mini of every model is right within a third, on one core of the ordinary kind (AVX2, fp32, 79 gigaflops).
OVERHEAD = {
    "nnlm": 0.0, "gpt": 2e5, "bert": 2.5e5, "roberta": 2.5e5, "unilm": 2.5e5, "xlnet": 5e5, "elmo": 1.4e6, "seq2seq": 5.5e5, "cove": 7.5e5,
    "transformer": 4.8e5,
}  # fmt: skip


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
