"""XLNet in `transformers`: the settings, and tensors whose heads are an axis of their own.

    rel_attn.q, k, v, r   (D, H, D/H)     our projections, transposed
    rel_attn.o            (D, H, D/H)     that of the output
    r_w_bias              u               the bias of our query
    r_r_bias, r_s_bias    v, w            ours are v - u and w - u, since our query has u already

Keys, values and the output have no bias, neither there nor here.
"""

from typing import Any

import torch
from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview
from stairs.formats.huggingface.bert_mapping import ACTIVATIONS
from stairs.formats.huggingface.tensors import TensorPair, linear_pairs, refuse_unlike
from stairs.models.settings import XLNetConfig

BODY = ("word_embedding.", "mask_emb", "layer.")
TABLE, DECODER, DECODER_BIAS = "transformer.word_embedding.weight", "lm_loss.weight", "lm_loss.bias"
CONTEXT = 512  # tokens, as in the paper: its positions have no end
ROLES = {"q": "query", "k": "key", "v": "value"}
BIASES = {"r_r_bias": "positions.position_bias.weight", "r_s_bias": "positions.segment_bias.weight"}
WITHOUT_BIAS = ("key", "value", "output")


def normalize_names(tensors: dict[str, Tensor], where: str) -> dict[str, Tensor]:
    """The tensor names of a model with an output layer, also for a bare one, each tensor once, with matrices in place of heads."""
    renamed = {f"transformer.{name}" if name.startswith(BODY) else name: tensor for name, tensor in tensors.items()}
    decoder = renamed.pop(DECODER, None)
    if decoder is not None and TABLE in renamed and not decoder.equal(renamed[TABLE]):
        raise Unsupported(f"{where}: {DECODER} differs from {TABLE}, which XLNet's output layer shares; tie the two and save it again")
    return {name: as_matrix(name, tensor) for name, tensor in renamed.items()}


def as_matrix(name: str, tensor: Tensor) -> Tensor:
    last = name.rpartition(".")[2]
    if tensor.dim() != 3:
        return tensor.flatten() if last == "r_w_bias" else tensor
    if last in ("q", "k", "v", "r"):
        return tensor.flatten(1).T.contiguous()
    return tensor.flatten(1) if last == "o" else tensor.flatten(0, 1)


def our_config(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> XLNetConfig:
    head_width = settings["d_model"] // settings["n_head"]
    usual = {"attn_type": "bi", "bi_data": False, "clamp_len": -1, "same_length": False, "untie_r": True, "d_head": head_width}
    refuse_unlike({name: (settings.get(name, value), (value,)) for name, value in usual.items()}, where, "XLNet")
    act = settings.get("ff_activation", "gelu")
    if act not in ACTIVATIONS:
        raise Unsupported(f"{where}: ff_activation {preview(act)} is not one of {', '.join(ACTIVATIONS)}; choose another model")
    ours = settings.get("stairs", {})
    if not isinstance(ours, dict):
        raise BadInput(f"{where}: stairs is {preview(ours)}, not the settings of a run; restore the file")
    return XLNetConfig(
        vocab_size=settings["vocab_size"],
        context=ours.get("context", CONTEXT),
        width=settings["d_model"],
        heads=settings["n_head"],
        layers=settings["n_layer"],
        feed_forward=None if settings["d_inner"] == 4 * settings["d_model"] else settings["d_inner"],
        dropout=settings.get("dropout", 0.1),
        activation=ACTIVATIONS[act],  # type: ignore[arg-type]
        epsilon=settings.get("layer_norm_eps", 1e-12),
        objective=ours.get("objective", "permutation"),
        memory=settings.get("mem_len") or 0 if ours else 0,  # that of other tools is for reading, ours is for training
        output_heads=("words",) if DECODER_BIAS in tensors else (),
    )


def tensor_pairs(config: XLNetConfig) -> list[TensorPair]:
    """Every tensor under both names."""
    pairs = [TensorPair(TABLE, ("tokens.weight",)), TensorPair("transformer.mask_emb", ("mask_vector.weight",))]
    for number in range(config.layers):
        theirs, ours = f"transformer.layer.{number}", f"blocks.{number}"
        attention = f"{ours}.attention"
        pairs += [TensorPair(f"{theirs}.rel_attn.{name}", (f"{attention}.{role}.weight",)) for name, role in ROLES.items()]
        pairs += [
            TensorPair(f"{theirs}.rel_attn.o", (f"{attention}.output.weight",)),
            TensorPair(f"{theirs}.rel_attn.r", (f"{attention}.positions.projection.weight",)),
            TensorPair(f"{theirs}.rel_attn.r_w_bias", (f"{attention}.query.bias",)),
            *(TensorPair(f"{theirs}.rel_attn.{name}", (f"{attention}.{own}",)) for name, own in BIASES.items()),
            TensorPair(f"{theirs}.rel_attn.seg_embed", (f"{attention}.positions.segment_vectors.weight",)),
        ]
        pairs += linear_pairs(f"{theirs}.rel_attn.layer_norm", f"{ours}.attention_norm")
        pairs += linear_pairs(f"{theirs}.ff.layer_1", f"{ours}.feed_forward.inner")
        pairs += linear_pairs(f"{theirs}.ff.layer_2", f"{ours}.feed_forward.outer")
        pairs += linear_pairs(f"{theirs}.ff.layer_norm", f"{ours}.feed_forward_norm")
    return pairs + ([TensorPair(DECODER_BIAS, ("word_head.bias",))] if "words" in (config.output_heads or ()) else [])


def complete(own: dict[str, Tensor], config: XLNetConfig) -> dict[str, Tensor]:
    """Our tensors, of those that are theirs under our names."""
    shifted = shift_biases(own, config, -1)
    zeros = torch.zeros(config.width)
    return shifted | {f"blocks.{number}.attention.{name}.bias": zeros for number in range(config.layers) for name in WITHOUT_BIAS}


def shift_biases(tensors: dict[str, Tensor], config: XLNetConfig, sign: int) -> dict[str, Tensor]:
    """v and w with u added to them, or taken from them."""
    shifted = dict(tensors)
    for number in range(config.layers):
        attention = f"blocks.{number}.attention"
        u = tensors[f"{attention}.query.bias"].unflatten(0, (config.heads, -1))
        shifted |= {f"{attention}.{name}": tensors[f"{attention}.{name}"] + sign * u for name in BIASES.values()}
    return shifted


def hf_tensors(own: dict[str, Tensor], config: XLNetConfig) -> dict[str, Tensor]:
    """Under their names, with heads as an axis; the layer for words is not saved, since it is the table of tokens."""
    refuse_other_attention(config)
    if any(own[f"blocks.{number}.attention.{name}.bias"].any() for number in range(config.layers) for name in WITHOUT_BIAS):
        raise Unsupported("this xlnet has biases in its attention, which transformers' XLNet has not; train it again")
    shifted, heads = shift_biases(own, config, 1), (config.heads, config.width // config.heads)
    theirs = {pair.theirs: pair.to_theirs(shifted) for pair in tensor_pairs(config)}
    for name, tensor in theirs.items():
        last = name.rpartition(".")[2]
        if last in ("q", "k", "v", "r"):
            theirs[name] = tensor.T.unflatten(1, heads).contiguous()
        elif last in ("o", "seg_embed", "r_w_bias", "mask_emb"):
            theirs[name] = tensor.reshape({"o": (-1, *heads), "seg_embed": (2, *heads), "r_w_bias": heads, "mask_emb": (1, 1, -1)}[last])
    return theirs


def refuse_other_attention(config: XLNetConfig) -> None:
    unlike = {"score": "scaled", "share_projections": "none", "residual": True}
    what = next((f"{name.replace('_', ' ')} {getattr(config, name)}" for name, usual in unlike.items() if getattr(config, name) != usual), None)
    what = f"activation {config.activation}" if config.activation not in ACTIVATIONS.values() else what
    if what is not None:
        raise Unsupported(f"an xlnet with the {what} has no counterpart in transformers; train one with the usual attention")


def hf_config(config: XLNetConfig, ids: dict[str, int]) -> dict[str, Any]:
    """config.json."""
    return {
        "architectures": ["XLNetLMHeadModel" if "words" in (config.output_heads or ()) else "XLNetModel"],
        "model_type": "xlnet",
        "vocab_size": config.vocab_size,
        "d_model": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "d_inner": config.feed_forward or 4 * config.width,
        "ff_activation": next(theirs for theirs, ours in ACTIVATIONS.items() if ours == config.activation),
        "untie_r": True,
        "attn_type": "bi",
        "bi_data": False,
        "clamp_len": -1,
        "same_length": False,
        "dropout": config.dropout,
        "layer_norm_eps": config.epsilon,
        "initializer_range": 0.02,
        "mem_len": config.memory or None,
        "pad_token_id": ids["pad"],
        "bos_token_id": ids["begin"],
        "eos_token_id": ids["end"],
        "stairs": {"context": config.context, "objective": config.objective},
    }
