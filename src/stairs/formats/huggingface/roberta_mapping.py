"""RoBERTa in `transformers`: a BERT under other names, whose positions are counted from the id of the padding token on, plus one.

    position of token t = pad + 1 + t             so the table of positions has pad + 1 more rows, which no token of a text uses
    lm_head             = cls.predictions         dense, norm, and the token vectors once more
    classifier          = the pooler and the classifier of BERT, where a text has labels

Settings and tensors are turned into those of a BERT and back, so that `bert_mapping.py` reads and writes them.
"""

from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview
from stairs.formats.huggingface import bert_mapping
from stairs.models.settings import RoBERTaConfig

POSITIONS = "embeddings.position_embeddings.weight"
# The beginnings of names, theirs and BERT's; the first that fits counts.
PREFIXES = (
    ("roberta.", "bert."),
    ("lm_head.dense.", "cls.predictions.transform.dense."),
    ("lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."),
    ("lm_head.decoder.", "cls.predictions.decoder."),
    ("lm_head.bias", "cls.predictions.bias"),
    ("classifier.dense.", "bert.pooler.dense."),
    ("classifier.out_proj.", "classifier."),
)
PAIR_HEADS = ("compare", "find-span", "choose")  # they read two texts in one row


def position_offset(settings: dict[str, Any], where: str) -> int:
    pad = settings.get("pad_token_id", 1)
    if not isinstance(pad, int) or isinstance(pad, bool) or not 0 <= pad < settings["max_position_embeddings"]:
        raise BadInput(f"{where}: pad_token_id is {preview(pad)}, from which positions are counted, and not a token; restore the file")
    return pad + 1


def as_bert_settings(settings: dict[str, Any], where: str) -> dict[str, Any]:
    """config.json as that of a BERT."""
    names = [str(name).replace("Roberta", "Bert") for name in settings.get("architectures") or ()]
    context = settings["max_position_embeddings"] - position_offset(settings, where)
    if context < 1:
        raise BadInput(f"{where}: max_position_embeddings {settings['max_position_embeddings']} leave no position for a text; restore the file")
    return {**settings, "model_type": "bert", "architectures": names, "max_position_embeddings": context}


def as_bert_tensors(tensors: dict[str, Tensor], settings: dict[str, Any], where: str) -> dict[str, Tensor]:
    """The tensors under the names of a BERT, without the positions that no token has."""
    offset = position_offset(settings, where)
    renamed = {rename(name, PREFIXES): tensor for name, tensor in tensors.items()}
    return {name: tensor[offset:] if name.endswith(POSITIONS) else tensor for name, tensor in renamed.items()}


def our_config(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> RoBERTaConfig:
    """RoBERTa's settings, from those of a BERT."""
    config = bert_mapping.our_config(settings, tensors, where)
    return RoBERTaConfig(**{**asdict(config), "objective": "full-sentences", "short_seq_prob": 0.0})


def hf_config(settings: dict[str, Any], ids: dict[str, int]) -> dict[str, Any]:
    """config.json, from that of a BERT."""
    if settings["architectures"] == ["BertForPreTraining"]:
        raise Unsupported("this roberta predicts the next sentence, which transformers has no counterpart for; train one with another --objective")
    return {
        **settings,
        "architectures": [name.replace("Bert", "Roberta") for name in settings["architectures"]],
        "model_type": "roberta",
        "max_position_embeddings": settings["max_position_embeddings"] + ids["pad"] + 1,
        "bos_token_id": ids["begin"],
        "eos_token_id": ids["end"],
    }


def hf_tensors(tensors: dict[str, Tensor], ids: dict[str, int], architecture: str) -> dict[str, Tensor]:
    """Their names, from those of a BERT; the positions that no token has are zeros."""
    has_text_labels = architecture == "RobertaForSequenceClassification"
    prefixes = tuple((ours, theirs) for theirs, ours in PREFIXES if has_text_labels or not theirs.startswith("classifier."))
    prefixes = tuple(sorted(prefixes, key=lambda pair: -len(pair[0])))  # the pooler before the rest of the network
    renamed = {rename(name, prefixes): tensor for name, tensor in tensors.items()}
    empty = ids["pad"] + 1
    return {
        name: torch.cat([tensor.new_zeros(empty, tensor.shape[1]), tensor]) if name.endswith(POSITIONS) else tensor
        for name, tensor in renamed.items()
    }


def rename(name: str, prefixes: tuple[tuple[str, str], ...]) -> str:
    return next((new + name.removeprefix(old) for old, new in prefixes if name.startswith(old)), name)
