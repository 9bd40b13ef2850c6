"""BERT in `transformers`: the settings and the names of the tensors."""

from typing import Any

from torch import Tensor

from stairs.errors import Unsupported, preview
from stairs.formats.huggingface.architectures import HEADS, IDENTITY, MULTILABEL, REGRESSION, OutputLayer
from stairs.formats.huggingface.tensors import TensorPair, linear_pairs
from stairs.models.settings import BERTConfig

ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "relu": "relu"}
PARTS = {"pooler": "bert.pooler.", "words": "cls.predictions.", "next": "cls.seq_relationship."}
DERIVED_TENSORS = ("bert.embeddings.position_ids", "bert.embeddings.token_type_ids")  # they follow from the settings
ALIASES = {"cls.predictions.decoder.bias": "cls.predictions.bias", "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight"}


def normalize_names(tensors: dict[str, Tensor], where: str) -> dict[str, Tensor]:
    """The tensor names of a model with output layers, also for a bare one, and each tensor once."""
    body = ("embeddings.", "encoder.", "pooler.")
    renamed = {f"bert.{name}" if name.startswith(body) else name: tensor for name, tensor in tensors.items()}
    for alias, name in ALIASES.items():
        duplicate = renamed.pop(alias, None)
        if duplicate is not None and name in renamed and not duplicate.equal(renamed[name]):
            raise Unsupported(f"{where}: {alias} differs from {name}, which BERT's output layer shares; tie the two and save it again")
    return {name: tensor for name, tensor in renamed.items() if name not in DERIVED_TENSORS}


def our_config(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> BERTConfig:
    """BERT's settings; `output_heads` are those that have tensors."""
    positions, decodes = settings.get("position_embedding_type", "absolute"), settings.get("is_decoder") or settings.get("add_cross_attention")
    if positions not in ("absolute", None) or decodes:
        what = "it reads from left to right" if decodes else f"its positions are {preview(positions)}"
        raise Unsupported(f"{where}: {what}, and only BERT as in the paper can be adopted; choose another model")
    act = settings.get("hidden_act", "gelu")
    if act not in ACTIVATIONS:
        raise Unsupported(f"{where}: hidden_act {preview(act)} is not one of {', '.join(ACTIVATIONS)}; choose another model")
    parts = tuple(part for part, prefix in PARTS.items() if any(name.startswith(prefix) for name in tensors))
    if "words" in parts and ACTIVATIONS[act] != "gelu":
        raise Unsupported(f"{where}: hidden_act {preview(act)} in the layer for words is not the gelu of BERT; choose another model")
    return BERTConfig(
        vocab_size=settings["vocab_size"],
        context=settings["max_position_embeddings"],
        width=settings["hidden_size"],
        heads=settings["num_attention_heads"],
        layers=settings["num_hidden_layers"],
        feed_forward=None if settings["intermediate_size"] == 4 * settings["hidden_size"] else settings["intermediate_size"],
        dropout=settings.get("hidden_dropout_prob", 0.1),
        activation=ACTIVATIONS[act],  # type: ignore[arg-type]
        segments=settings.get("type_vocab_size", 2),
        epsilon=settings.get("layer_norm_eps", 1e-12),
        objective="next-sentence" if "next" in parts else "none",
        output_heads=parts,
    )


def tensor_pairs(config: BERTConfig) -> list[TensorPair]:
    """Every tensor under both names."""
    pairs = [
        TensorPair("bert.embeddings.word_embeddings.weight", ("tokens.weight",)),
        TensorPair("bert.embeddings.position_embeddings.weight", ("positions.weight",)),
        TensorPair("bert.embeddings.token_type_embeddings.weight", ("segments.weight",)),
        *linear_pairs("bert.embeddings.LayerNorm", "norm"),
    ]
    for number in range(config.layers):
        theirs, ours = f"bert.encoder.layer.{number}", f"blocks.{number}"
        for role in ("query", "key", "value"):
            pairs += linear_pairs(f"{theirs}.attention.self.{role}", f"{ours}.attention.{role}")
        pairs += linear_pairs(f"{theirs}.attention.output.dense", f"{ours}.attention.output")
        pairs += linear_pairs(f"{theirs}.attention.output.LayerNorm", f"{ours}.attention_norm")
        pairs += linear_pairs(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.inner")
        pairs += linear_pairs(f"{theirs}.output.dense", f"{ours}.feed_forward.outer")
        pairs += linear_pairs(f"{theirs}.output.LayerNorm", f"{ours}.feed_forward_norm")
    parts = config.output_heads or ()
    if "pooler" in parts:
        pairs += linear_pairs("bert.pooler.dense", "pooler")
    if "words" in parts:
        pairs += linear_pairs("cls.predictions.transform.dense", "word_head.dense")
        pairs += linear_pairs("cls.predictions.transform.LayerNorm", "word_head.norm")
        pairs.append(TensorPair("cls.predictions.bias", ("word_head.bias",)))
    if "next" in parts:
        pairs += linear_pairs("cls.seq_relationship", "next_head")
    return pairs


def hf_config(config: BERTConfig, ids: dict[str, int], head: OutputLayer | None) -> dict[str, Any]:
    """config.json."""
    parts = set(config.output_heads or ())
    architecture = "BertForPreTraining" if "next" in parts else "BertForMaskedLM" if "words" in parts else "BertModel"
    return {
        "architectures": [architecture if head is None else HEADS[head["task"]][1]],
        "model_type": "bert",
        "vocab_size": config.vocab_size,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.feed_forward or 4 * config.width,
        "hidden_act": next(theirs for theirs, ours in ACTIVATIONS.items() if ours == config.activation),
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
        "max_position_embeddings": config.context,
        "type_vocab_size": config.segments,
        "layer_norm_eps": config.epsilon,
        "initializer_range": 0.02,
        "position_embedding_type": "absolute",
        "pad_token_id": ids["pad"],
        **({} if head is None else hf_head_config(head)),
    }


def hf_head_config(head: OutputLayer) -> dict[str, Any]:
    """What config.json says of the output layer. One for pairs of texts is marked, since nothing else tells it apart."""
    if head["task"] in ("find-span", "choose"):
        return {}
    names = head["labels"]
    settings: dict[str, Any] = {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}
    if head["task"] == "multilabel":
        settings |= {"problem_type": MULTILABEL, "stairs": {"threshold": head["threshold"]}}
    elif head["task"] == "regress":
        settings["problem_type"] = REGRESSION
    elif head["task"] == "compare":
        settings["stairs"] = {"task": "compare"}
        if len(names) == 1:
            settings |= {"problem_type": REGRESSION, "sentence_transformers": {"activation_fn": IDENTITY}}
    return settings
