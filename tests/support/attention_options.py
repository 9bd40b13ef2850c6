"""Every option of the attention of gpt, bert and transformer, at a size for tests; contract tests run through them all."""

from typing import Any

SMALL_PATTERN = {"context": 64, "radius": 8, "block": 4}
OPTIONS: dict[str, dict[str, Any]] = {
    "learned": {"positions": "learned"},
    "sinusoidal": {"positions": "sinusoidal"},
    "rotary": {"positions": "rotary"},
    "relative": {"positions": "relative", "max_distance": 3},
    "buckets": {"positions": "buckets"},
    "transformer-xl": {"positions": "transformer-xl"},
    "no positions": {"positions": "none"},
    "window": {**SMALL_PATTERN, "attention_pattern": "window", "radius": 2},
    "sparse": {**SMALL_PATTERN, "attention_pattern": "sparse", "radius": 4, "random_blocks": 1},
    "linformer": {"context": 16, "attention_pattern": "linformer", "rank": 5},
    "linformer per layer": {"context": 16, "attention_pattern": "linformer", "rank": 5, "linformer_projection": "per-layer"},
    "window and relative": {**SMALL_PATTERN, "attention_pattern": "window", "radius": 2, "positions": "relative", "max_distance": 2},
    "sparse and buckets": {**SMALL_PATTERN, "attention_pattern": "sparse", "radius": 4, "positions": "buckets"},
    "window and rotary": {**SMALL_PATTERN, "attention_pattern": "window", "radius": 2, "positions": "rotary"},
    "sparse and transformer-xl": {**SMALL_PATTERN, "attention_pattern": "sparse", "radius": 4, "positions": "transformer-xl"},
    "dot": {"score": "dot"},
    "folded": {"score": "folded"},
    "additive": {"score": "additive"},
    "bilinear": {"score": "scaled-bilinear"},
    "projected": {"score": "scaled-projected"},
    "relative and folded": {"positions": "relative", "score": "folded"},
    "shared qk": {"share_projections": "qk"},
    "shared kv": {"share_projections": "kv"},
    "shared all": {"share_projections": "all"},
    "no residual": {"residual": False},
    "no activation": {"activation": "none"},
}
MODELS_WITH_OPTIONS = ("gpt", "bert", "transformer")
REFUSED = {("gpt", "linformer"), ("gpt", "linformer per layer")}  # see tests/models/test_attention_settings.py
CASES = [(name, option) for name in MODELS_WITH_OPTIONS for option in OPTIONS if (name, option) not in REFUSED]
CASES += [("transformer", "cross heads"), ("gpt", "memory")]
OPTIONS["cross heads"] = {"cross_heads": 4}
OPTIONS["memory"] = {"context": 10, "memory": 6, "positions": "rotary"}
