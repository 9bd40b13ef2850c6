"""GPT-2 in `transformers`: the settings and the names of the tensors. Its matrices are (in, out), ours (out, in)."""

from typing import Any

from torch import Tensor

from stairs.errors import Unsupported
from stairs.formats.huggingface.tensors import TensorPair, linear_pairs, refuse_unlike
from stairs.models.settings import GPTConfig

EPSILON = 1e-5  # of our norms
DERIVED_TENSORS = (".attn.bias", ".attn.masked_bias")  # the causal mask


def normalize_names(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensor names of a model with its output layer, also for a bare one; an output layer tied to the embeddings is left out."""
    body = ("wte.", "wpe.", "h.", "ln_f.")
    renamed = {f"transformer.{name}" if name.startswith(body) else name: tensor for name, tensor in tensors.items()
        if not name.endswith(DERIVED_TENSORS)}
    table, output = renamed.get("transformer.wte.weight"), renamed.get("lm_head.weight")
    if table is not None and output is not None and table.equal(output):
        del renamed["lm_head.weight"]
    return renamed


def our_config(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> GPTConfig:
    width = settings["n_embd"]
    required = {
        "activation_function": (settings.get("activation_function", "gelu_new"), ("gelu_new", "gelu_pytorch_tanh")),
        "n_inner": (settings.get("n_inner"), (None, 4 * width)),
        "layer_norm_epsilon": (settings.get("layer_norm_epsilon", EPSILON), (EPSILON,)),
        "scale_attn_weights": (settings.get("scale_attn_weights", True), (True,)),
        "scale_attn_by_inverse_layer_idx": (settings.get("scale_attn_by_inverse_layer_idx", False), (False,)),
        "add_cross_attention": (settings.get("add_cross_attention", False), (False,)),
    }
    refuse_unlike(required, where, "GPT-2")
    return GPTConfig(
        vocab_size=settings["vocab_size"],
        context=settings["n_positions"],
        width=width,
        heads=settings["n_head"],
        layers=settings["n_layer"],
        dropout=settings.get("resid_pdrop", 0.1),
        tie_embeddings="lm_head.weight" not in tensors,
    )


def tensor_pairs(config: GPTConfig) -> list[TensorPair]:
    """Every tensor under both names."""
    pairs = [TensorPair("transformer.wte.weight", ("tokens.weight",)), TensorPair("transformer.wpe.weight", ("positions.weight",))]
    for number in range(config.layers):
        theirs, ours = f"transformer.h.{number}", f"blocks.{number}"
        three = tuple(f"{ours}.attention.{role}" for role in ("query", "key", "value"))
        pairs += linear_pairs(f"{theirs}.ln_1", f"{ours}.attention_norm")
        pairs += linear_pairs(f"{theirs}.attn.c_attn", *three, transposed=True)
        pairs += linear_pairs(f"{theirs}.attn.c_proj", f"{ours}.attention.output", transposed=True)
        pairs += linear_pairs(f"{theirs}.ln_2", f"{ours}.feed_forward_norm")
        pairs += linear_pairs(f"{theirs}.mlp.c_fc", f"{ours}.feed_forward.inner", transposed=True)
        pairs += linear_pairs(f"{theirs}.mlp.c_proj", f"{ours}.feed_forward.outer", transposed=True)
    pairs += linear_pairs("transformer.ln_f", "norm")
    return pairs if config.tie_embeddings else [*pairs, TensorPair("lm_head.weight", ("output.weight",))]


def hf_generation_config(ids: dict[str, int], suppressed_ids: list[int]) -> dict[str, Any]:
    """generation_config.json: the special ids, and the ids that are never generated."""
    suppressed = {"suppress_tokens": suppressed_ids} if suppressed_ids else {}
    return {"bos_token_id": ids["begin"], "eos_token_id": ids["end"], "pad_token_id": ids["pad"], **suppressed}


def hf_config(config: GPTConfig, ids: dict[str, int]) -> dict[str, Any]:
    """config.json."""
    if not config.norm_first:
        raise Unsupported("a gpt with norms after the sums has no counterpart in transformers, whose GPT-2 has them before; train with norm-first")
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": config.vocab_size,
        "n_positions": config.context,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "activation_function": "gelu_new",
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout,
        "layer_norm_epsilon": EPSILON,
        "initializer_range": 0.02,
        "bos_token_id": ids["begin"],
        "eos_token_id": ids["end"],
        "pad_token_id": ids["pad"],
        "tie_word_embeddings": config.tie_embeddings,
    }
