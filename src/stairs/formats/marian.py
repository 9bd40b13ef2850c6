"""A Transformer as `transformers` keeps those of its encoder-decoders that have the paper's waves: Marian, with the norm after the sum, and Pegasus,
with the norm before. The settings, and the names of the tensors, which both share."""

from typing import Any

import torch
from torch import Tensor

from stairs.errors import Unsupported
from stairs.formats.tensors import Same, linear, refuse_unlike
from stairs.models.configs import TransformerConfig

WAVES = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")  # of the one table
BIAS = "final_logits_bias"  # of the output layer, which ours does not have
KINDS = {False: ("marian", "MarianMTModel"), True: ("pegasus", "PegasusForConditionalGeneration")}  # by where the norm stands
SIDES = ("layers", "attention_heads", "ffn_dim")
ROLES = (("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "output"))


def own(tensors: dict[str, Tensor], config: TransformerConfig, waves: Tensor, where: str) -> dict[str, Tensor]:
    """What a Transformer of ours has weights for; the rest must be what follows from the settings."""
    for name in WAVES:
        if name in tensors and not torch.allclose(tensors[name], waves, atol=1e-5):
            raise Unsupported(f"{where}: its positions are not the paper's waves in the order of the paper; only such a model can be adopted")
    if BIAS in tensors and bool(tensors[BIAS].any()):
        raise Unsupported(f"{where}: its output layer has a bias, and a transformer of the paper has none")
    return {name: tensor for name, tensor in tensors.items() if name not in (*WAVES, *COPIES, BIAS)}


def config_of(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> TransformerConfig:
    usual = {
        "activation_function": (settings.get("activation_function", "gelu"), ("relu",)),
        "scale_embedding": (settings.get("scale_embedding", False), (True,)),
        "share_encoder_decoder_embeddings": (settings.get("share_encoder_decoder_embeddings", True), (True,)),
        **{f"decoder_{name}": (settings.get(f"decoder_{name}"), (settings[f"encoder_{name}"],)) for name in SIDES},
    }
    refuse_unlike(usual, where, "a transformer")
    return TransformerConfig(
        vocab_size=settings["vocab_size"],
        context=settings["max_position_embeddings"],
        width=settings["d_model"],
        heads=settings["encoder_attention_heads"],
        layers=settings["encoder_layers"],
        feed_forward=settings["encoder_ffn_dim"],
        dropout=settings.get("dropout", 0.1),
        norm_first=settings["model_type"] == "pegasus",
    )


def same(config: TransformerConfig) -> list[Same]:
    """Every tensor under both names."""
    found = [Same("model.shared.weight", ("tokens.weight",))]
    for side, blocks in (("encoder", "blocks"), ("decoder", "decoder_blocks")):
        if config.norm_first:
            found += linear(f"model.{side}.layer_norm", "norm" if side == "encoder" else "decoder_norm")
        looks = [("self_attn", "attention"), ("encoder_attn", "cross_attention")] if side == "decoder" else [("self_attn", "attention")]
        for number in range(config.layers):
            theirs, ours = f"model.{side}.layers.{number}", f"{blocks}.{number}"
            for their_look, our_look in looks:
                found += linear(f"{theirs}.{their_look}_layer_norm", f"{ours}.{our_look}_norm")
                for their_role, our_role in ROLES:
                    found += linear(f"{theirs}.{their_look}.{their_role}", f"{ours}.{our_look}.{our_role}")
            found += linear(f"{theirs}.fc1", f"{ours}.feed_forward.inner") + linear(f"{theirs}.fc2", f"{ours}.feed_forward.outer")
            found += linear(f"{theirs}.final_layer_norm", f"{ours}.feed_forward_norm")
    return found


def settings_of(config: TransformerConfig, ids: dict[str, int]) -> dict[str, Any]:
    """config.json."""
    kind, architecture = KINDS[config.norm_first]
    inner = config.feed_forward or 4 * config.width
    sizes = dict(zip(SIDES, (config.layers, config.heads, inner), strict=True))
    sides = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sizes.items()}
    return {
        "architectures": [architecture],
        "model_type": kind,
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context,
        "d_model": config.width,
        **sides,
        "activation_function": "relu",
        "dropout": config.dropout,
        "attention_dropout": config.dropout,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "pad_token_id": ids["pad"],
        "bos_token_id": ids["begin"],
        "eos_token_id": ids["end"],
        "decoder_start_token_id": ids["begin"],
        "forced_eos_token_id": None,
    }


def generation_of(config: TransformerConfig, ids: dict[str, int], unsaid: list[int]) -> dict[str, Any]:
    """generation_config.json: translating as here, with a beam of 4."""
    return {
        "num_beams": 4,
        "length_penalty": 1.0,
        "max_length": config.context,
        "decoder_start_token_id": ids["begin"],
        "bos_token_id": ids["begin"],
        "eos_token_id": ids["end"],
        "pad_token_id": ids["pad"],
        "forced_eos_token_id": None,
        "suppress_tokens": unsaid,
    }
