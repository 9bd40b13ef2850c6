"""What fits into a time on this machine: size, batch, vocabulary, optimizer, dropout, masking and objective. The one place that chooses.

The measured gigaflops of the machine and the multiply-adds of a size give its tokens per second; with the time, the number of tokens it can train on.
The largest size that can train on enough tokens is taken: of two models the smaller learns faster and the larger learns more, and `MIN_TOKENS` says
where they cross. Text that is read again counts up to `EPOCHS` times. What a size trains with besides was measured at equal CPU time, leaving out one
part after the other: docs/recipes-measured.md.

It does not import torch.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from stairs.models.settings import DEFAULT_TOKENIZER, TRAINING_DEFAULTS, TRANSLATION_MODELS
from stairs.training.options import TrainingOptions
from stairs.training.training_cost import build_config, parameter_count, tokens_per_second

SIZES_ASCENDING = ("nano", "micro", "mini", "small", "base")
UPDATE_SHARE = 0.8  # of the time is spent on updates
EPOCHS = 16  # a text is worth reading this many times
FEW_TRANSLATED_CHARACTERS = 6_000_000  # of both languages: about 50,000 pairs of sentences
CHARACTERS_PER_TOKEN = {"words": 5.3, "byte-bpe": 4.0, "wordpiece": 4.0}
VOCABULARY = {"words": 32_768, "byte-bpe": 8192, "wordpiece": 8192}  # typical sizes
# BERT computes its softmax for the masked tokens only, so that more subwords cost it little, and a word that is one subword is named at once. Mini,
# 60 MB of English Wikipedia, 240 CPU seconds with bf16, share of masked words that are named right: 8192 0.205, 16,384 0.219, 32,768 0.223.
MASKED_MODELS, LARGE_VOCABULARY, MUCH_TEXT = ("bert", "roberta"), 32_768, 20_000_000  # characters
TOKENS_PER_PARAMETER = 5  # tokens that a size above mini should train on, per parameter

# Tokens that a size must train on to be better than the size below it. Measured on one core of the ordinary kind (AVX2, fp32), by CPU seconds:
#   gpt          4 MB of Wikipedia, bits per character: 45 s nano 2.315, micro 2.414; 150 s (micro: 0.55 million tokens) nano 2.153, micro 2.236.
#                With bf16, Muon and 10 MB: 480 s (micro: 3.8 million tokens) nano 2.049, micro 1.987. They cross in between, at about 1.7 million
#   elmo         the same text: 30 s nano 2.365, micro 2.394
#   bert         the same text, loss: 30 s nano 6.99, micro 7.09
#   transformer  number names, BLEU: 30 s nano 97.1, micro 91.2. With bf16, Muon and Multi30k: 240 s micro 42.3, mini 31.9; 1800 s (mini: 5.8 million
#                tokens) micro 57.8, mini 52.6: mini pays later, and 20 million is a guess
#   seq2seq      number names, BLEU: 30 s nano 97.0, micro 95.5
# The figures for nnlm, cove, roberta, unilm and xlnet, and the others for mini, are estimates from these.
MIN_TOKENS: dict[str, dict[str, float]] = {
    "nnlm": {"micro": 3e6, "mini": 8e6},
    "gpt": {"micro": 1.7e6, "mini": 1.2e7},
    **{model: {"micro": 2e6, "mini": 1e7} for model in ("bert", "roberta", "unilm", "xlnet")},
    "elmo": {"micro": 4e5, "mini": 2e6},
    "seq2seq": {"micro": 1e6, "mini": 2e6},
    "cove": {"micro": 1e6, "mini": 2e6},
    "transformer": {"micro": 1e6, "mini": 2e7},
}


# Of a model that is trained for minutes to hours: how the matrices in its blocks are trained, and settings of its config.
TRANSFORMERS = ("gpt", "bert", "roberta", "unilm", "xlnet", "transformer")
TRAINING: dict[str, dict[str, Any]] = {model: {"optimizer": "muon", "stacking": 0.6} for model in TRANSFORMERS}
SETTINGS: dict[str, dict[str, Any]] = {"bert": {"objective": "none", "mask_prob": 0.3}, "roberta": {"mask_prob": 0.3}}
FEW_PASSES = 2.0  # over the text: below, a model meets hardly anything twice and cannot learn it by heart, so it needs no dropout
# Token embeddings that start from a sweep of skip-gram: the share of the time that it may take, its floating-point operations for a token and a
# number of its vector, and a limit, since more tokens were not measured.
SKIPGRAM_SHARE, SKIPGRAM_OPERATIONS, SKIPGRAM_MAX_TOKENS = 0.04, 440, 2e7
SETTING_NAMES = {
    "optimizer": "optimizer {}", "stacking": "blocks that join one by one in {:.0%} of the time",
    "skipgram_tokens": "embeddings from skip-gram on {:,} tokens", "objective": "objective {}", "mask_prob": "{:.0%} of the tokens masked",
    "dropout": "dropout {:g} for {:.2g} passes over the text",
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """What fits. Options of the user override it."""

    size: str
    vocab_size: int | None  # None: the tokenizer's default
    batch_tokens: int
    learning_rate: float | None  # None: the model's default
    reason: str  # one line for the user; empty if there was nothing to choose
    optimizer: dict[str, Any] = field(default_factory=dict)  # other training options: the optimizer, and what a paper says of it
    settings: dict[str, Any] = field(default_factory=dict)  # of the model's config, beside those of its size

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
    size: str | None = None,
) -> Recipe:
    """The recipe for this many `seconds` of training on this many `characters` of text (None: unknown) at this many float32 `gigaflops`, see
    `machine.gigaflops`. `vocabulary` is the vocabulary size, if it is known, and `size` the size, if it is not to be chosen."""
    if model not in MIN_TOKENS:
        return recipe_of_size(model, size or "mini")
    kind = DEFAULT_TOKENIZER[model]
    is_free = vocabulary is None and kind != "words"
    sizes = SIZES_ASCENDING if size is None else (size,)
    vocabularies = {name: vocabulary_for(model, characters, name) if is_free else vocabulary or VOCABULARY[kind] for name in sizes}
    text = math.inf if characters is None else characters / CHARACTERS_PER_TOKEN[kind]
    speeds = {name: tokens_per_second(model, name, tokens, gigaflops, bf16) for name, tokens in vocabularies.items()}
    possible = {name: min(speed * seconds * UPDATE_SHARE, EPOCHS * text) for name, speed in speeds.items()}
    chosen = largest_worthwhile(model, possible, vocabularies)
    tokens = vocabularies[chosen]
    vocab_size = tokens if is_free else None
    passes = possible[chosen] / text
    settings = {**SETTINGS.get(model, {}), **dropout_for(model, chosen, passes)}
    recipe = recipe_of_size(model, chosen)
    optimizer = {**TRAINING.get(model, {}), **skipgram_tokens(model, chosen, seconds, text, gigaflops)}
    parts = [f"size {chosen} ({describe_shape(model, chosen)})", f"batches of {recipe.batch_tokens} tokens"]
    parts += [f"vocabulary {vocab_size}"] if vocab_size else []
    parts += [SETTING_NAMES[name].format(value, passes) for name, value in {**optimizer, **settings}.items()]
    speed = round_to_two_digits(speeds[chosen])
    reason = f"{model} in {seconds:.0f} s at about {speed:,} tokens/s: {', '.join(parts)}, {explain(model, chosen, possible, passes, vocabularies)}"
    return Recipe(chosen, vocab_size, recipe.batch_tokens, recipe.learning_rate, reason, {**recipe.optimizer, **optimizer}, settings)


def largest_worthwhile(model: str, possible: dict[str, float], vocabularies: dict[str, int]) -> str:
    """Of some sizes, the smallest first: the largest that can train on enough tokens; `possible` are those of each."""
    chosen, *larger = possible
    for size in larger:
        if possible[size] < min_tokens(model, size, vocabularies[size]):
            break
        chosen = size
    return chosen


def dropout_for(model: str, size: str, passes: float) -> dict[str, float]:
    """No dropout where the text is read so few times that nothing can be learnt by heart; sizes that have none anyway stay as they are, and so does
    the training on a text of unknown length, with 0 passes."""
    config = build_config(model, size, VOCABULARY[DEFAULT_TOKENIZER[model]])
    return {"dropout": 0.0} if config.dropout and 0 < passes < FEW_PASSES else {}


def skipgram_tokens(model: str, size: str, seconds: float, text: float, gigaflops: float) -> dict[str, int]:
    """Of models that read running text: how many of its `text` tokens skip-gram reads in its share of the time."""
    if model not in TRAINING or model in TRANSLATION_MODELS:
        return {}
    width = build_config(model, size, VOCABULARY[DEFAULT_TOKENIZER[model]]).width
    affordable = SKIPGRAM_SHARE * seconds * gigaflops * 1e9 / (SKIPGRAM_OPERATIONS * width)
    return {"skipgram_tokens": round_to_two_digits(min(affordable, text, SKIPGRAM_MAX_TOKENS))}


def explain(model: str, chosen: str, possible: dict[str, float], passes: float, vocabularies: dict[str, int]) -> str:
    """Why this size; `passes` over the text."""
    why = f"because it can train on {format_tokens(possible[chosen])} tokens"
    larger = next((size for size in list(possible)[list(possible).index(chosen) + 1 :]), None)
    if larger is not None:
        needed = format_tokens(min_tokens(model, larger, vocabularies[larger]))
        why += f", and {larger} needs {needed} but could train on {format_tokens(possible[larger])}"
    return f"{why}: {EPOCHS} times this text" if passes == EPOCHS else why


def recipe_of_size(model: str, size: str) -> Recipe:
    """The recipe of a given size."""
    training = dict(TRAINING_DEFAULTS.get(model, {}).get(size, {}))
    return Recipe(size, None, training.pop("batch_tokens", TrainingOptions.batch_tokens), training.pop("learning_rate", None), "", training)


def vocabulary_for(model: str, characters: int | None, size: str = "nano") -> int:
    """The number of subwords: smaller for a short text, in which most would be rare. Measured with gpt nano, 15 s, bits per character: 500
    thousand characters: 8192 2.436, 4096 2.400; 200 thousand: 8192 3.161, 4096 3.027, 2048 2.966. Translations are short of text sooner (Sennrich &
    Zhang 2019, "Revisiting Low-Resource Neural Machine Translation"), and half of their subwords have to be predicted from the other half."""
    if model in TRANSLATION_MODELS and characters is not None and characters < FEW_TRANSLATED_CHARACTERS:
        return 4096 if characters >= 1_000_000 else 2048
    if model in MASKED_MODELS and size not in ("nano", "micro") and characters is not None and characters >= MUCH_TEXT:
        return LARGE_VOCABULARY
    return 8192 if characters is None or characters >= 1_000_000 else 4096 if characters >= 250_000 else 2048


def min_tokens(model: str, size: str, vocabulary: int) -> float:
    """Tokens that a size must train on to be worth its time."""
    return MIN_TOKENS[model].get(size) or TOKENS_PER_PARAMETER * parameter_count(model, size, vocabulary)


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
