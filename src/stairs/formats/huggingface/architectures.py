"""What config.json says stands on top of the blocks: which classes of transformers are what they look like here, and which layers are taken.

A layer that would be misread is refused: one that gives several labels at once, a number for a text, or a choice among texts has no task here yet.
"""

from typing import Any

from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview

# What is asked of a text by a layer that was trained on labelled examples, by the tensors it has and by what transformers calls it.
HEADS = {
    "classify": ("classifier.", "BertForSequenceClassification"),
    "tag": ("classifier.", "BertForTokenClassification"),
    "find-span": ("qa_outputs.", "BertForQuestionAnswering"),
}
CLASSES = {
    "bert": ("BertModel", "BertForPreTraining", "BertForMaskedLM", *(architecture for _, architecture in HEADS.values())),
    "gpt2": ("GPT2LMHeadModel", "GPT2Model"),
    "marian": ("MarianMTModel",),
    "pegasus": ("PegasusForConditionalGeneration",),
}
OTHERS = {
    "BertForMultipleChoice": "chooses among several texts",
    "BertForNextSentencePrediction": "judges whether one text follows another, without the layer for words",
    "BertLMHeadModel": "reads from left to right",
}
ENCODER_ONLY = "adopt its encoder alone with --encoder, for vectors and for stairs tune"
HEAD_PREFIXES = ("classifier.", "qa_outputs.", "cls.")
IDENTITY = "torch.nn.modules.linear.Identity"  # what sentence-transformers then does to the score of a cross-encoder
PAIR_LABELS = ("entailment", "not_entailment", "contradiction")  # labels of two texts


def architecture_name(settings: dict[str, Any]) -> str | None:
    """The class that config.json names, if it names one."""
    named = settings.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else None


def check_architecture(settings: dict[str, Any], where: str) -> None:
    """Refuse a class that is something else than it would be taken for."""
    kind, named = settings["model_type"], architecture_name(settings)
    if named is not None and named not in CLASSES[kind]:
        what = f", which {OTHERS[named]}" if named in OTHERS else ""
        instead = ENCODER_ONLY if kind == "bert" and named != "BertLMHeadModel" else "choose another model"
        raise Unsupported(f"{where} describes {preview(named)}{what}; {', '.join(CLASSES[kind])} can be adopted as they are, or {instead}")


def drop_head(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The encoder's alone."""
    return {name: tensor for name, tensor in tensors.items() if not name.startswith(HEAD_PREFIXES)}


def take_head(settings: dict[str, Any], tensors: dict[str, Tensor], where: str) -> dict[str, Any] | None:
    """The layer of another task, taken out of the tensors: what it asks, its labels, its tensors."""
    own = {name: tensors.pop(name) for name in list(tensors) if name.startswith(("classifier.", "qa_outputs."))}
    named = architecture_name(settings)
    example_kind = next((task for task, (_, architecture) in HEADS.items() if architecture == named), None)
    if not own:
        if example_kind is not None:
            raise BadInput(f"{where} names {named}, and the weights have no {HEADS[example_kind][0]}weight; give a whole folder, or {ENCODER_ONLY}")
        return None
    if example_kind is None:
        if any(name.startswith("classifier.") for name in own):
            came = f"the weights have a classifier, and {where} names {'no architecture' if named is None else named}"
            raise BadInput(f"{came}, so it may be one of texts, of tokens or of choices; name its class there, or {ENCODER_ONLY}")
        example_kind = "find-span"
    prefix, architecture = HEADS[example_kind]
    if sorted(own) != [f"{prefix}bias", f"{prefix}weight"]:
        raise BadInput(f"{where}: {', '.join(map(preview, own))} are not the weight and bias of {architecture}; give a whole folder")
    weight, bias = own[f"{prefix}weight"], own[f"{prefix}bias"]
    if weight.dim() != 2 or weight.shape[1] != settings["hidden_size"] or bias.shape != weight.shape[:1]:
        came = f"{tuple(weight.shape)} and {tuple(bias.shape)}"
        raise BadInput(f"{where}: the {prefix}weight and bias are {came}, which do not fit a width of {settings['hidden_size']}; give a whole folder")
    labels = label_names(settings, len(bias), where)
    if example_kind == "find-span" and len(labels) != 2:
        raise BadInput(f"{where}: its layer has {len(labels)} outputs, and a span has two, its begin and its end; give a whole folder")
    if example_kind == "classify" and "bert.pooler.dense.weight" not in tensors:
        raise BadInput(f"{where} names {architecture}, and the weights have no pooler, which it reads; give a whole folder, or {ENCODER_ONLY}")
    if example_kind == "classify":
        example_kind = text_head_kind(settings, labels, where)
    return {"example_kind": example_kind, "labels": labels, "tensors": own}


def text_head_kind(settings: dict[str, Any], labels: list[str], where: str) -> str:
    """classify, or compare for two texts."""
    kind = settings.get("problem_type")
    if kind == "multi_label_classification":
        raise Unsupported(f"{where} describes a model that may give a text several labels at once, and here a text has one; {ENCODER_ONLY}")
    scores = len(labels) == 1 or kind == "regression"
    ours, peers = (dict(value) if isinstance(value, dict) else {} for value in map(settings.get, ("stairs", "sentence_transformers")))
    if not scores:
        return "compare" if ours.get("task") == "compare" or any(label.lower() in PAIR_LABELS for label in labels) else "classify"
    if len(labels) == 1 and peers.get("activation_fn") == IDENTITY:
        return "compare"
    what = f"{len(labels)} numbers" if len(labels) > 1 else "a number"
    said = f"{where} describes a model that gives a text {what} (regression), and here a text has labels"
    raise Unsupported(f"{said}; cross-encoders whose sentence_transformers.activation_fn is {IDENTITY} can be adopted, or {ENCODER_ONLY}")


def label_names(settings: dict[str, Any], count: int, where: str) -> list[str]:
    names = settings.get("id2label") or {str(number): f"LABEL_{number}" for number in range(count)}
    if not isinstance(names, dict) or sorted(map(str, names)) != sorted(map(str, range(count))):
        raise BadInput(f"{where}: id2label names {len(names)} labels where the layer has {count}; correct config.json")
    return [str({str(key): name for key, name in names.items()}[str(number)]) for number in range(count)]
