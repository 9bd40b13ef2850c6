"""A Transformer as `transformers` keeps those of its encoder-decoders that have the paper's waves: Marian, with the norm after the sum, and Pegasus,
with the norm before. The settings, and the names of the tensors, which both share.

Both begin a translation with the token for padding, and CTranslate2's converter counts on it; ours begins with [CLS]:

    Marian     one more token, <pad>, whose vector is 0; the vector of [CLS] is added to the decoder's first position
    Pegasus    [PAD] has the vector of [CLS]

What is never said has a bias of its own in the output layer, so that no tool says it.
"""

import math
from typing import Any

import torch
from torch import Tensor

from stairs.errors import Unsupported
from stairs.formats.huggingface.tensors import TensorPair, linear_pairs, refuse_unlike
from stairs.models.settings import TransformerConfig

POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
TABLE = "model.shared.weight"
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")  # of the one table
BIAS = "final_logits_bias"  # of the output layer: 0, or NEVER for tokens that are not said
NEVER = -1e4
PAD = "<pad>"  # Marian's
KINDS = {False: ("marian", "MarianMTModel"), True: ("pegasus", "PegasusForConditionalGeneration")}  # by where the norm stands
SIDES = ("layers", "attention_heads", "ffn_dim")
ROLES = (("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "output"))


def add_marian_tensors(tensors: dict[str, Tensor], config: TransformerConfig, waves: Tensor, ids: dict[str, int], never: list[int]) -> dict[str,
    Tensor]:
    """The tensors of ours under their names, with all that the other tools need besides: positions, the token to begin with, what is never said."""
    table, first = tensors[TABLE], waves.clone()
    if config.norm_first:
        table = table.clone()
        table[ids["pad"]] = table[ids["begin"]]
    else:
        first[0] += math.sqrt(config.width) * table[ids["begin"]]
        table = torch.cat([table, torch.zeros_like(table[:1])])
    bias = torch.zeros(1, len(table))
    bias[:, [*never, *range(config.vocab_size, len(table))]] = NEVER
    return {**tensors, TABLE: table, POSITIONS[0]: waves.clone(), POSITIONS[1]: first, BIAS: bias}


def remove_marian_tensors(tensors: dict[str, Tensor], config: TransformerConfig, waves: Tensor, where: str) -> dict[str, Tensor]:
    """What a Transformer of ours has weights for; the rest must be what `add_marian_tensors` makes of it."""
    found = {name: tensor for name, tensor in tensors.items() if name not in (*POSITIONS, *COPIES, BIAS)}
    table, first = found.get(TABLE), waves.clone()
    if table is not None and table.shape == (config.vocab_size + (not config.norm_first), config.width):
        found[TABLE] = table = table[: config.vocab_size].clone()
        if not config.norm_first:
            first[0] += math.sqrt(config.width) * table[config.begin]
    for name, positions in zip(POSITIONS, (waves, first), strict=True):
        if name in tensors and (tensors[name].shape != positions.shape or not torch.allclose(tensors[name], positions, atol=1e-4)):
            raise Unsupported(f"{where}: its positions are not the paper's waves in the order of the paper; only such a model can be adopted")
    if BIAS in tensors and not bool(torch.isin(tensors[BIAS], torch.tensor([0.0, NEVER])).all()):
        raise Unsupported(f"{where}: its output layer has a bias, and a transformer of the paper has none")
    return found


def our_config(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> TransformerConfig:
    usual = {
        "activation_function": (settings.get("activation_function", "gelu"), ("relu",)),
        "scale_embedding": (settings.get("scale_embedding", False), (True,)),
        "share_encoder_decoder_embeddings": (settings.get("share_encoder_decoder_embeddings", True), (True,)),
        **{f"decoder_{name}": (settings.get(f"decoder_{name}"), (settings[f"encoder_{name}"],)) for name in SIDES},
    }
    refuse_unlike(usual, where, "a transformer")
    return TransformerConfig(
        vocab_size=settings["vocab_size"] - (settings["model_type"] == "marian"),
        context=settings["max_position_embeddings"],
        width=settings["d_model"],
        heads=settings["encoder_attention_heads"],
        layers=settings["encoder_layers"],
        feed_forward=settings["encoder_ffn_dim"],
        dropout=settings.get("dropout", 0.1),
        norm_first=settings["model_type"] == "pegasus",
    )


def tensor_pairs(config: TransformerConfig) -> list[TensorPair]:
    """Every tensor under both names."""
    found = [TensorPair(TABLE, ("tokens.weight",))]
    for side, blocks in (("encoder", "blocks"), ("decoder", "decoder_blocks")):
        if config.norm_first:
            found += linear_pairs(f"model.{side}.layer_norm", "norm" if side == "encoder" else "decoder_norm")
        looks = [("self_attn", "attention"), ("encoder_attn", "cross_attention")] if side == "decoder" else [("self_attn", "attention")]
        for number in range(config.layers):
            theirs, ours = f"model.{side}.layers.{number}", f"{blocks}.{number}"
            for their_look, our_look in looks:
                found += linear_pairs(f"{theirs}.{their_look}_layer_norm", f"{ours}.{our_look}_norm")
                for their_role, our_role in ROLES:
                    found += linear_pairs(f"{theirs}.{their_look}.{their_role}", f"{ours}.{our_look}.{our_role}")
            found += linear_pairs(f"{theirs}.fc1", f"{ours}.feed_forward.inner") + linear_pairs(f"{theirs}.fc2", f"{ours}.feed_forward.outer")
            found += linear_pairs(f"{theirs}.final_layer_norm", f"{ours}.feed_forward_norm")
    return found


def hf_config(config: TransformerConfig, ids: dict[str, int]) -> dict[str, Any]:
    """config.json. The two about norms are CTranslate2's: transformers knows them by the kind."""
    kind, architecture = KINDS[config.norm_first]
    pad = pad_id(config, ids)
    inner = config.feed_forward or 4 * config.width
    sizes = dict(zip(SIDES, (config.layers, config.heads, inner), strict=True))
    sides = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sizes.items()}
    return {
        "architectures": [architecture],
        "model_type": kind,
        "vocab_size": config.vocab_size + (not config.norm_first),
        "max_position_embeddings": config.context,
        "d_model": config.width,
        **sides,
        "activation_function": "relu",
        "dropout": config.dropout,
        "attention_dropout": config.dropout,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "normalize_before": config.norm_first,
        "normalize_embedding": False,
        "pad_token_id": pad,
        "bos_token_id": ids["begin"],
        "eos_token_id": ids["end"],
        "decoder_start_token_id": pad,
        "forced_eos_token_id": None,
    }


def pad_id(config: TransformerConfig, ids: dict[str, int]) -> int:
    """The id for padding, which a translation begins with."""
    return ids["pad"] if config.norm_first else config.vocab_size


def hf_generation_config(config: TransformerConfig, ids: dict[str, int]) -> dict[str, Any]:
    """generation_config.json: translating as here, with a beam of 4."""
    return {
        "num_beams": 4,
        "length_penalty": 1.0,
        "max_length": config.context,
        "decoder_start_token_id": pad_id(config, ids),
        "bos_token_id": ids["begin"],
        "eos_token_id": ids["end"],
        "pad_token_id": pad_id(config, ids),
        "forced_eos_token_id": None,
    }
