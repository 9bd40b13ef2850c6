"""The settings, sizes and default training of BERT, and of RoBERTa, UniLM and XLNet, which are BERTs trained in other ways."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from stairs.errors import BadInput
from stairs.layers.score_names import PositionName
from stairs.models.settings.attention import AttentionConfig
from stairs.models.settings.common import LARGEST, ModelSettings, Range, Values, bounds
from stairs.text.special import MASK

Objective = Literal["next-sentence", "none", "full-sentences", "sentence-order", "prefix", "three-masks", "permutation"]
PAIR_OBJECTIVES = ("next-sentence", "sentence-order")  # they relate two sentences in one row


@dataclass(frozen=True)
class BERTConfig(AttentionConfig):
    context: int = 128  # context length, in tokens
    feed_forward: int | None = None  # width of the feed-forward layer; four times the width if not given
    dropout: float = 0.1  # dropout probability
    activation: Literal["gelu", "gelu-tanh", "relu", "none"] = "gelu"  # activation of the feed-forward layer; none: a linear one
    segments: int = 2  # segment ids: the first and the second sentence of a pair
    epsilon: float = 1e-12  # epsilon of the layer norms
    objective: Objective = "next-sentence"  # objective beside the masked tokens
    mask_prob: float = 0.15  # share of the tokens that are predicted
    mask_token_share: float = 0.8  # share of the predicted tokens that [MASK] replaces
    random_share: float = 0.1  # share of the predicted tokens that a random token replaces; the rest stay as they are
    whole_word_masking: bool = True  # mask all pieces of a word or none; Chinese words as jieba segments them
    short_seq_prob: float = 0.1  # share of the examples that are shorter than the context on purpose
    tree_distance: int = 0  # structural positions: largest distance and depth in a dependency tree with vectors of its own; 0: none
    output_heads: tuple[str, ...] | None = None  # layers on top of the blocks: pooler, words, next; None: what the objective needs
    ranges: ClassVar[Mapping[str, Range]] = {
        **AttentionConfig.ranges,
        **bounds(
            "segments", "feed_forward",
            context=(8, LARGEST), mask_prob=(0.001, 0.99), mask_token_share=(0, 1), random_share=(0, 1), short_seq_prob=(0, 1),
            tree_distance=(0, LARGEST),
        ),
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mask_token_share + self.random_share > 1:
            raise BadInput(f"mask_token_share {self.mask_token_share} and random_share {self.random_share}, of the same tokens, exceed 1 together")
        if self.attention_pattern == "linformer" and self.objective in ("prefix", "three-masks", "permutation"):
            raise BadInput(f"objective {self.objective} hides words from one another, and linformer mixes all; choose another --attention-pattern")
        if self.tree_distance:
            self.check_trees()
        if self.output_heads is None:
            object.__setattr__(self, "output_heads", ("pooler", "words", "next") if self.objective in PAIR_OBJECTIVES else ("words",))

    def check_trees(self) -> None:
        """Structural positions take the place of positions inside the attention, and all words attend to all."""
        fits = {"positions": self.adds_positions, "attention_pattern": self.attention_pattern == "full", "score": self.score != "additive"}
        unfit = [f"{name.replace('_', '-')} {getattr(self, name)}" for name, is_fit in fits.items() if not is_fit]
        if unfit:
            raise BadInput(f"structural positions do not go with {unfit[0]}, which this bert has; give another run")

    @property
    def unpads(self) -> bool:
        return super().unpads and not self.tree_distance


@dataclass(frozen=True)
class RoBERTaConfig(BERTConfig):
    segments: int = 1  # segment ids: every sentence has the same
    objective: Objective = "full-sentences"  # objective beside the masked tokens
    short_seq_prob: float = 0.0  # share of the examples that are shorter than the context on purpose


@dataclass(frozen=True)
class UniLMConfig(BERTConfig):
    segments: int = 6  # segment ids, which also tell the masks apart: two of bidirectional rows, one for each reading direction, two of pairs
    objective: Objective = "three-masks"  # objective beside the masked tokens
    mask: int = MASK  # the id of [MASK]
    ranges: ClassVar[Mapping[str, Range]] = {**BERTConfig.ranges, **bounds(segments=(6, LARGEST))}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attention_pattern != "full":
            raise BadInput(f"unilm hides words by masks of its own, and cannot have the attention pattern {self.attention_pattern}; choose full")


@dataclass(frozen=True)
class XLNetConfig(BERTConfig):
    positions: PositionName = "transformer-xl"  # those of Transformer-XL, which also tell whether two tokens are of one segment
    objective: Objective = "permutation"  # permutation: words in a random order; none: masked tokens
    memory: int = 0  # Transformer-XL's memory: tokens of the document before each row that are read without learning from them
    mask: int = MASK  # the id of [MASK]
    ranges: ClassVar[Mapping[str, Range]] = {**BERTConfig.ranges, **bounds(memory=(0, LARGEST))}

    def __post_init__(self) -> None:
        super().__post_init__()
        own = {"positions": "transformer-xl", "attention_pattern": "full", "objective": "permutation or none"}
        for name, value in own.items():
            if getattr(self, name) not in value.split(" or "):
                raise BadInput(f"xlnet has the {name.replace('_', ' ')} {value} and not {getattr(self, name)}; leave the flag out, or train a bert")

    @property
    def has_relative_segments(self) -> bool:
        return True


SIZES: dict[str, Values] = {
    "nano": {"width": 64, "heads": 2, "layers": 2, "dropout": 0.0},
    "micro": {"width": 128, "layers": 3, "dropout": 0.0},
    "mini": {},
    "small": {"width": 512, "heads": 8},
    "base": {"context": 512, "width": 768, "heads": 12, "layers": 12},
    "large": {"context": 512, "width": 1024, "heads": 16, "layers": 24},
    "paper": {"context": 512, "width": 768, "heads": 12, "layers": 12},
}
TRAINING: dict[str, Values] = {
    "nano": {"learning_rate": 0.002, "batch_tokens": 1024},
    "micro": {"learning_rate": 0.001, "batch_tokens": 1024},
    "paper": {
        "learning_rate": 0.0001, "schedule": "linear", "warmup_steps": 10000, "beta1": 0.9, "beta2": 0.999, "adam_epsilon": 1e-06,
        "weight_decay": 0.01, "clip": 1.0, "embedding_lr_scale": 1.0,
    },
}  # fmt: skip
SETTINGS = ModelSettings(config=BERTConfig, model="stairs.models.bert:BERT", tokenizer="wordpiece", sizes=SIZES, training=TRAINING)
ROBERTA = ModelSettings(
    config=RoBERTaConfig,
    model="stairs.models.bert:RoBERTa",
    tokenizer="byte-bpe",
    sizes={**SIZES, "paper": {**SIZES["large"], "epsilon": 1e-5, "whole_word_masking": False}},
    training={**TRAINING, "paper": {**TRAINING["paper"], "learning_rate": 0.0004, "warmup_steps": 30000, "beta2": 0.98, "clip": 0.0}},
    is_climbed_by_default=False,
)
UNILM = ModelSettings(
    config=UniLMConfig,
    model="stairs.models.bert:UniLM",
    tokenizer="wordpiece",
    sizes={**SIZES, "paper": SIZES["large"]},
    training={**TRAINING, "paper": {**TRAINING["paper"], "learning_rate": 3e-5, "warmup_steps": 40000}},
    is_climbed_by_default=False,
)
XLNET = ModelSettings(
    config=XLNetConfig,
    model="stairs.models.bert:XLNet",
    tokenizer="wordpiece",
    sizes={**SIZES, "paper": {**SIZES["large"], "mask_prob": 1 / 6}},
    training={**TRAINING, "paper": {**TRAINING["paper"], "learning_rate": 0.0004, "warmup_steps": 40000}},
    is_climbed_by_default=False,
)
