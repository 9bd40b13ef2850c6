"""BERT as `transformers` keeps it: the settings, the names of the tensors, and the layers that other tasks put on top."""

from typing import Any

from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview
from stairs.formats.tensors import Same, linear
from stairs.models.configs import BERTConfig

ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "relu": "relu"}
PARTS = {"pooler": "bert.pooler.", "words": "cls.predictions.", "next": "cls.seq_relationship."}
# What is asked of a text by a layer that was trained on labelled examples, by the tensors it has and by what transformers calls it.
HEADS = {
    "classify": ("classifier.", "BertForSequenceClassification"),
    "tag": ("classifier.", "BertForTokenClassification"),
    "find-span": ("qa_outputs.", "BertForQuestionAnswering"),
}
FORGOTTEN = ("bert.embeddings.position_ids", "bert.embeddings.token_type_ids")  # numbers that follow from the settings
ALIASES = {"cls.predictions.decoder.bias": "cls.predictions.bias", "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight"}


def prefixed(tensors: dict[str, Tensor], where: str) -> dict[str, Tensor]:
    """The names of a model with heads, also for a bare one, and each tensor once."""
    body = ("embeddings.", "encoder.", "pooler.")
    found = {f"bert.{name}" if name.startswith(body) else name: tensor for name, tensor in tensors.items()}
    for alias, name in ALIASES.items():
        second = found.pop(alias, None)
        if second is not None and name in found and not second.equal(found[name]):
            raise Unsupported(f"{where}: {alias} differs from {name}, and BERT's own output layer shares them; tie the two and save it again")
    return {name: tensor for name, tensor in found.items() if name not in FORGOTTEN}


def config_of(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> BERTConfig:
    """BERT's settings; `parts` are those that have tensors."""
    positions, decodes = settings.get("position_embedding_type", "absolute"), settings.get("is_decoder") or settings.get("add_cross_attention")
    if positions not in ("absolute", None) or decodes:
        what = "it reads from left to right" if decodes else f"its positions are {preview(positions)}"
        raise Unsupported(f"{where}: {what}, and only BERT as in the paper can be adopted; choose another model")
    act = settings.get("hidden_act", "gelu")
    if act not in ACTIVATIONS:
        raise Unsupported(f"{where}: hidden_act {preview(act)} is not one of {', '.join(ACTIVATIONS)}; choose another model")
    parts = tuple(part for part, prefix in PARTS.items() if any(name.startswith(prefix) for name in tensors))
    if "words" in parts and ACTIVATIONS[act] != "gelu":
        raise Unsupported(f"{where}: hidden_act {preview(act)} in the layer that names words is not BERT's gelu; choose another model")
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
        parts=parts,
    )


def same(config: BERTConfig) -> list[Same]:
    """Every tensor under both names."""
    found = [
        Same("bert.embeddings.word_embeddings.weight", ("tokens.weight",)),
        Same("bert.embeddings.position_embeddings.weight", ("positions.weight",)),
        Same("bert.embeddings.token_type_embeddings.weight", ("segments.weight",)),
        *linear("bert.embeddings.LayerNorm", "norm"),
    ]
    for number in range(config.layers):
        theirs, ours = f"bert.encoder.layer.{number}", f"blocks.{number}"
        for role in ("query", "key", "value"):
            found += linear(f"{theirs}.attention.self.{role}", f"{ours}.attention.{role}")
        found += linear(f"{theirs}.attention.output.dense", f"{ours}.attention.output")
        found += linear(f"{theirs}.attention.output.LayerNorm", f"{ours}.attention_norm")
        found += linear(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.inner")
        found += linear(f"{theirs}.output.dense", f"{ours}.feed_forward.outer")
        found += linear(f"{theirs}.output.LayerNorm", f"{ours}.feed_forward_norm")
    parts = config.parts or ()
    if "pooler" in parts:
        found += linear("bert.pooler.dense", "pooler")
    if "words" in parts:
        found += linear("cls.predictions.transform.dense", "word_head.dense")
        found += linear("cls.predictions.transform.LayerNorm", "word_head.norm")
        found.append(Same("cls.predictions.bias", ("word_head.bias",)))
    if "next" in parts:
        found += linear("cls.seq_relationship", "next_head")
    return found


def head_of(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> dict[str, Any] | None:
    """The layer of another task, taken out of the tensors: what it asks, its labels, its tensors."""
    own = {name: tensors.pop(name) for name in list(tensors) if name.startswith(("classifier.", "qa_outputs."))}
    if not own:
        return None
    named = settings.get("architectures") or []
    asks = next((task for task, (_, architecture) in HEADS.items() if architecture in named), None)
    if asks is None:
        asks = "find-span" if any(name.startswith("qa_outputs.") for name in own) else "classify"
    prefix = HEADS[asks][0]
    if sorted(own) != [f"{prefix}bias", f"{prefix}weight"]:
        raise BadInput(f"{where}: {', '.join(map(preview, own))} are not the weight and bias of {HEADS[asks][1]}; give a whole folder")
    weight, bias = own[f"{prefix}weight"], own[f"{prefix}bias"]
    if weight.dim() != 2 or weight.shape[1] != settings["hidden_size"] or bias.shape != weight.shape[:1]:
        came = f"{tuple(weight.shape)} and {tuple(bias.shape)}"
        raise BadInput(f"{where}: the {prefix}weight and bias are {came}, which do not fit a width of {settings['hidden_size']}; give a whole folder")
    return {"asks": asks, "labels": labels_of(settings, len(bias), where), "tensors": own}


def labels_of(settings: dict[str, Any], count: int, where: str) -> list[str]:
    names = settings.get("id2label") or {str(number): f"LABEL_{number}" for number in range(count)}
    if not isinstance(names, dict) or sorted(map(str, names)) != sorted(map(str, range(count))):
        raise BadInput(f"{where}: id2label names {len(names)} labels where the layer has {count}; correct config.json")
    return [str({str(key): name for key, name in names.items()}[str(number)]) for number in range(count)]


def settings_of(config: BERTConfig, ids: dict[str, int], head: dict[str, Any] | None) -> dict[str, Any]:
    """config.json."""
    parts = set(config.parts or ())
    whole = "BertForPreTraining" if "next" in parts else "BertForMaskedLM" if "words" in parts else "BertModel"
    labels = {} if head is None or head["asks"] == "find-span" else {
        "id2label": dict(enumerate(head["labels"])), "label2id": {name: number for number, name in enumerate(head["labels"])}
    }  # fmt: skip
    return {
        "architectures": [whole if head is None else HEADS[head["asks"]][1]],
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
        **labels,
    }
