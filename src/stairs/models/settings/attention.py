"""What the settings of models made of attention share: GPT, BERT and the Transformer."""

from dataclasses import dataclass
from typing import Literal

from stairs.errors import BadInput
from stairs.layers.head_count import check_heads
from stairs.layers.score_names import ADDED_POSITIONS, PatternName, PositionName, ScoreName, SharedProjections
from stairs.models.settings.common import LARGEST, ModelConfig, bounds


@dataclass(frozen=True)
class AttentionConfig(ModelConfig):
    context: int = 256  # context length, in tokens
    width: int = 256  # width of a token vector
    heads: int = 4  # attention heads of each block
    layers: int = 4  # number of Transformer blocks
    dropout: float = 0.0  # dropout probability
    positions: PositionName = "learned"  # learned or sinusoidal, added to tokens; rotary, relative, buckets (T5), transformer-xl: in attention; none
    max_distance: int = 16  # positions relative: the largest distance with vectors of its own; those beyond share them
    attention_pattern: PatternName = "full"  # full; window; sparse: a window, global and random blocks; linformer: mixtures of all keys
    radius: int = 64  # attention-pattern window and sparse: how far a token attends to either side
    block: int = 32  # attention-pattern sparse: tokens of a block; the radius is a multiple of it
    global_blocks: int = 1  # attention-pattern sparse: blocks at the beginning that all attend to, and that attend to all
    random_blocks: int = 2  # attention-pattern sparse: random blocks that each block attends to
    rank: int = 64  # attention-pattern linformer: mixtures of the keys and values
    linformer_projection: Literal["shared", "per-layer"] = "shared"  # one projection of keys and values for all layers, or two for each layer
    score: ScoreName | Literal["folded"] = "scaled"  # attention score; scaled: divided by sqrt(D); folded: sqrt(D) in the initial weights, as T5
    share_projections: SharedProjections = "none"  # which of the projections of query, key and value are one; qk: query and key, kv: key and value
    residual: bool = True  # residual connections around each sublayer; without them little is learnt
    ranges = bounds(
        "width", "layers", "context", "max_distance", "radius", "block", "rank",
        dropout=(0, 0.99), global_blocks=(0, LARGEST), random_blocks=(0, LARGEST),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.width, self.heads)
        if self.positions == "rotary" and self.width // self.heads % 2:
            raise BadInput(f"rotary positions need heads of an even width, got {self.width} / {self.heads}; change the number of heads")
        if self.positions == "transformer-xl" and self.width % 2:
            raise BadInput(f"the sinusoids of transformer-xl positions need an even width, got {self.width}; change --width")
        if self.positions in ("relative", "transformer-xl") and self.score == "additive":
            what = f"{self.positions} positions are added to keys, which the additive score does not multiply"
            raise BadInput(f"{what}; choose another --score or --positions")
        if self.score == "folded" and self.share_projections in ("qk", "all"):
            shared = f"share-projections {self.share_projections}"
            raise BadInput(f"score folded starts with a smaller query projection, which {shared} also gives to the key; choose another --score")
        self.check_pattern()

    def check_pattern(self) -> None:
        pattern = self.attention_pattern
        if pattern in ("window", "sparse") and self.radius >= self.context:
            raise BadInput(f"a radius of {self.radius} covers the context of {self.context}; give a smaller --radius or --attention-pattern full")
        if pattern == "sparse" and (self.block > self.context or self.radius % self.block):
            what = f"is longer than the context of {self.context}" if self.block > self.context else f"does not divide the radius of {self.radius}"
            raise BadInput(f"a block of {self.block} tokens {what}; give another --block or --radius")
        if pattern == "linformer":
            if self.rank >= self.context:
                raise BadInput(f"a rank of {self.rank} saves nothing in a context of {self.context}; give a lower --rank or --attention-pattern full")
            if not self.adds_positions:
                raise BadInput(f"linformer mixes keys of all positions, and {self.positions} ones need the distance of each; try --positions learned")

    @property
    def adds_positions(self) -> bool:
        """Whether positions are added to the token vectors, if there are any, and the attention knows nothing of them."""
        return self.positions in ADDED_POSITIONS

    @property
    def has_relative_segments(self) -> bool:
        """Whether the attention knows which tokens are of one segment, so that nothing is added to the token vectors."""
        return False

    @property
    def attended_keys(self) -> int:
        """About how many keys a query is compared with in a full row, for estimates."""
        near, blocks = 2 * self.radius + 1, (self.global_blocks + self.random_blocks) * self.block
        keys = {"full": self.context, "window": near, "sparse": near + blocks, "linformer": self.rank}
        return min(keys[self.attention_pattern], self.context)

    @property
    def reads_beyond_context(self) -> bool:
        """Whether there are positions for texts longer than the context."""
        return self.positions != "learned" and self.attention_pattern != "linformer"

    @property
    def unpads(self) -> bool:
        """Whether rows can be computed without their padding: the attention needs neither positions nor blocks."""
        return self.adds_positions and self.attention_pattern == "full"

    def extras(self, usual: PositionName) -> list[str]:
        """What this attention has beyond that of its paper, for a format that has no place for it."""
        fields = {
            "positions": usual, "attention_pattern": "full", "score": "scaled", "share_projections": "none", "residual": True,
        }  # fmt: skip
        return [f"--{name.replace('_', '-')} {getattr(self, name)}" for name, value in fields.items() if getattr(self, name) != value]
