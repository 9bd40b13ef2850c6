"""A Transformer as the encoder-decoders of `transformers` with sinusoidal positions: Marian for post-norm, Pegasus for pre-norm. The settings, and
the names of the tensors, which both share.

Both begin a translation with the padding token, and the converter of CTranslate2 relies on it; ours begins with [CLS]:

    Marian     one more token, <pad>, whose vector is 0; the vector of [CLS] is added to the decoder's first position
    Pegasus    [PAD] has the vector of [CLS]

Tokens that are never generated have a large negative bias in the output layer, so that no tool generates them.
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
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")  # of the embeddings
BIAS = "final_logits_bias"  # of the output layer: 0, or NEVER for tokens that are never generated
NEVER = -1e4
PAD = "<pad>"  # Marian's
KINDS = {False: ("marian", "MarianMTModel"), True: ("pegasus", "PegasusForConditionalGeneration")}  # by norm_first
SIDES = ("layers", "attention_heads", "ffn_dim")
ROLES = (("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "output"))


def add_marian_tensors(
    tensors: dict[str, Tensor], config: TransformerConfig, positions: Tensor, ids: dict[str, int], suppressed_ids: list[int]
) -> dict[str, Tensor]:
    """Our tensors under their names, and what the other tools need besides: positions, the begin token, and the bias."""
    table, decoder_positions = tensors[TABLE], positions.clone()
    if config.norm_first:
        table = table.clone()
        table[ids["pad"]] = table[ids["begin"]]
    else:
        decoder_positions[0] += math.sqrt(config.width) * table[ids["begin"]]
        table = torch.cat([table, torch.zeros_like(table[:1])])
    bias = torch.zeros(1, len(table))
    bias[:, [*suppressed_ids, *range(config.vocab_size, len(table))]] = NEVER
    return {**tensors, TABLE: table, POSITIONS[0]: positions.clone(), POSITIONS[1]: decoder_positions, BIAS: bias}


def remove_marian_tensors(tensors: dict[str, Tensor], config: TransformerConfig, positions: Tensor, where: str) -> dict[str, Tensor]:
    """The tensors that our Transformer has, too; the others must be what `add_marian_tensors` makes."""
    own = {name: tensor for name, tensor in tensors.items() if name not in (*POSITIONS, *COPIES, BIAS)}
    table, decoder_positions = own.get(TABLE), positions.clone()
    if table is not None and table.shape == (config.vocab_size + (not config.norm_first), config.width):
        own[TABLE] = table = table[: config.vocab_size].clone()
        if not config.norm_first:
            decoder_positions[0] += math.sqrt(config.width) * table[config.begin]
    for name, expected in zip(POSITIONS, (positions, decoder_positions), strict=True):
        if name in tensors and (tensors[name].shape != expected.shape or not torch.allclose(tensors[name], expected, atol=1e-4)):
            raise Unsupported(f"{where}: its positions are not the sinusoidal ones of the paper, in its order; choose another model")
    if BIAS in tensors and not bool(torch.isin(tensors[BIAS], torch.tensor([0.0, NEVER])).all()):
        raise Unsupported(f"{where}: its output layer has a bias, which the transformer of the paper does not; choose another model")
    return own


def our_config(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> TransformerConfig:
    required = {
        "activation_function": (settings.get("activation_function", "gelu"), ("relu",)),
        "scale_embedding": (settings.get("scale_embedding", False), (True,)),
        "share_encoder_decoder_embeddings": (settings.get("share_encoder_decoder_embeddings", True), (True,)),
        **{f"decoder_{name}": (settings.get(f"decoder_{name}"), (settings[f"encoder_{name}"],)) for name in SIDES},
    }
    refuse_unlike(required, where, "a transformer")
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
    pairs = [TensorPair(TABLE, ("tokens.weight",))]
    for side, blocks in (("encoder", "blocks"), ("decoder", "decoder_blocks")):
        if config.norm_first:
            pairs += linear_pairs(f"model.{side}.layer_norm", "norm" if side == "encoder" else "decoder_norm")
        attentions = [("self_attn", "attention"), ("encoder_attn", "cross_attention")] if side == "decoder" else [("self_attn", "attention")]
        for number in range(config.layers):
            theirs, ours = f"model.{side}.layers.{number}", f"{blocks}.{number}"
            for their_name, our_name in attentions:
                pairs += linear_pairs(f"{theirs}.{their_name}_layer_norm", f"{ours}.{our_name}_norm")
                for their_role, our_role in ROLES:
                    pairs += linear_pairs(f"{theirs}.{their_name}.{their_role}", f"{ours}.{our_name}.{our_role}")
            pairs += linear_pairs(f"{theirs}.fc1", f"{ours}.feed_forward.inner") + linear_pairs(f"{theirs}.fc2", f"{ours}.feed_forward.outer")
            pairs += linear_pairs(f"{theirs}.final_layer_norm", f"{ours}.feed_forward_norm")
    return pairs


def hf_config(config: TransformerConfig, ids: dict[str, int]) -> dict[str, Any]:
    """config.json. The two about norms are for CTranslate2; transformers knows them from the model type."""
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
    """The padding token, with which a translation begins."""
    return ids["pad"] if config.norm_first else config.vocab_size


def hf_generation_config(config: TransformerConfig, ids: dict[str, int]) -> dict[str, Any]:
    """generation_config.json: beam search as here, with a beam size of 4."""
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
