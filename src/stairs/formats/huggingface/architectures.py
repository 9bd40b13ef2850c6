"""The architecture that config.json names: which classes of transformers can be adopted, and the task of their output layer.

An output layer that would be misread is refused, such as several numbers for a text.
"""

from typing import Any, NotRequired, TypedDict

from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview

# The task of an output layer trained on labelled examples: the prefix of its tensors, and its class in transformers.
HEADS = {
    "classify": ("classifier.", "BertForSequenceClassification"),
    "multilabel": ("classifier.", "BertForSequenceClassification"),  # which problem_type tells apart
    "regress": ("classifier.", "BertForSequenceClassification"),
    "compare": ("classifier.", "BertForSequenceClassification"),
    "tag": ("classifier.", "BertForTokenClassification"),
    "find-span": ("qa_outputs.", "BertForQuestionAnswering"),
    "choose": ("classifier.", "BertForMultipleChoice"),
}
ARCHITECTURES = tuple(dict.fromkeys(architecture for _, architecture in HEADS.values()))
CLASSES = {
    "bert": ("BertModel", "BertForPreTraining", "BertForMaskedLM", *ARCHITECTURES),
    "roberta": ("RobertaModel", "RobertaForMaskedLM", *(architecture.replace("Bert", "Roberta") for architecture in ARCHITECTURES)),
    "xlnet": ("XLNetLMHeadModel", "XLNetModel"),
    "gpt2": ("GPT2LMHeadModel", "GPT2Model"),
    "marian": ("MarianMTModel",),
    "pegasus": ("PegasusForConditionalGeneration",),
}
OTHERS = {
    "BertForNextSentencePrediction": "predicts the next sentence, without the layer for words",
    "BertLMHeadModel": "reads from left to right",
    "RobertaForCausalLM": "reads from left to right",
}
Settings = dict[str, Any]  # config.json
ENCODER_ONLY = "adopt its encoder alone with --encoder, for vectors and for stairs tune"
ENCODERS = ("bert", "roberta", "xlnet")  # they have an encoder of their own
XLNET_HEADS = ("lm_loss.", "logits_proj.", "sequence_summary.", "start_logits.", "end_logits.", "answer_class.")
HEAD_PREFIXES = ("classifier.", "qa_outputs.", "cls.", "lm_head.", *XLNET_HEADS)
IDENTITY = "torch.nn.modules.linear.Identity"  # the activation of a sentence-transformers cross-encoder whose score is not squashed
CROSS_ENCODER = "sbert_ce_default_activation_function"  # what older ones of sentence-transformers have in its place
MULTILABEL, REGRESSION = "multi_label_classification", "regression"  # of `problem_type`
PAIR_LABELS = ("entailment", "not_entailment", "contradiction")  # labels of pairs of texts


class OutputLayer(TypedDict):
    """An output layer trained on labelled examples."""

    task: str
    labels: list[str]
    tensors: dict[str, Tensor]  # by the names of transformers
    threshold: NotRequired[float]  # multilabel: the probability from which on a label is given


def architecture_name(settings: Settings) -> str | None:
    """The class that config.json names, if it names one."""
    names = settings.get("architectures")
    return str(names[0]) if isinstance(names, list) and names else None


def check_architecture(settings: Settings, where: str) -> None:
    """Refuse a class that would be misread."""
    kind, named = settings["model_type"], architecture_name(settings)
    if named is not None and named not in CLASSES[kind]:
        what = f", which {OTHERS[named]}" if named in OTHERS else ""
        instead = ENCODER_ONLY if kind in ENCODERS and named not in ("BertLMHeadModel", "RobertaForCausalLM") else "choose another model"
        raise Unsupported(f"{where} describes {preview(named)}{what}; {', '.join(CLASSES[kind])} can be adopted as they are, or {instead}")


def drop_head(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of the encoder alone."""
    return {name: tensor for name, tensor in tensors.items() if not name.startswith(HEAD_PREFIXES)}


def take_head(settings: Settings, tensors: dict[str, Tensor], where: str) -> OutputLayer | None:
    """The output layer of another task, taken out of the tensors."""
    own = {name: tensors.pop(name) for name in list(tensors) if name.startswith(("classifier.", "qa_outputs."))}
    named = architecture_name(settings)
    task = next((name for name, (_, architecture) in HEADS.items() if architecture == named), None)
    if not own:
        if task is not None:
            missing = f"{where} names {named}, and the weights have no {HEADS[task][0]}weight"
            raise BadInput(f"{missing}; give a complete folder, or {ENCODER_ONLY}")
        return None
    if task is None:
        if any(name.startswith("classifier.") for name in own):
            problem = f"the weights have a classifier, and {where} names {'no architecture' if named is None else named}"
            raise BadInput(f"{problem}, so it may be one of texts, of tokens or of choices; name its class there, or {ENCODER_ONLY}")
        task = "find-span"
    prefix, architecture = HEADS[task]
    if sorted(own) != [f"{prefix}bias", f"{prefix}weight"]:
        raise BadInput(f"{where}: {', '.join(map(preview, own))} are not the weight and bias of {architecture}; give a complete folder")
    weight, bias = own[f"{prefix}weight"], own[f"{prefix}bias"]
    if weight.dim() != 2 or weight.shape[1] != settings["hidden_size"] or bias.shape != weight.shape[:1]:
        shapes = f"the {prefix}weight and bias are {tuple(weight.shape)} and {tuple(bias.shape)}"
        raise BadInput(f"{where}: {shapes}, which do not fit a width of {settings['hidden_size']}; give a complete folder")
    labels = ["score"] if task == "choose" else label_names(settings, len(bias), where)  # config.json names labels that a choice has not
    if task == "choose" and len(bias) != 1:
        raise BadInput(f"{where}: its output layer has {len(bias)} outputs, and a choice has one score; give a complete folder, or {ENCODER_ONLY}")
    if task == "find-span" and len(labels) != 2:
        raise BadInput(f"{where}: its output layer has {len(labels)} outputs, and a span has two, its start and its end; give a complete folder")
    if task in ("classify", "choose") and "bert.pooler.dense.weight" not in tensors:
        raise BadInput(f"{where} names {architecture}, and the weights have no pooler, which it needs; give a complete folder, or {ENCODER_ONLY}")
    if task == "classify":
        task = text_head_kind(settings, labels, where)
    head: OutputLayer = {"task": task, "labels": labels, "tensors": own}
    if task == "multilabel":
        head["threshold"] = threshold_in(settings, where)
    return head


def text_head_kind(settings: Settings, labels: list[str], where: str) -> str:
    """classify, multilabel, regress, or compare for pairs of texts."""
    kind = settings.get("problem_type")
    if kind == MULTILABEL:
        return "multilabel"
    scores = len(labels) == 1 or kind == REGRESSION
    ours, peers = (dict(value) if isinstance(value, dict) else {} for value in map(settings.get, ("stairs", "sentence_transformers")))
    if not scores:
        return "compare" if ours.get("task") == "compare" or any(label.lower() in PAIR_LABELS for label in labels) else "classify"
    if len(labels) == 1 and peers.get("activation_fn") == IDENTITY:
        return "compare"
    if len(labels) > 1:
        raise Unsupported(f"{where} describes a model that gives a text {len(labels)} numbers (regression), and here it has one; {ENCODER_ONLY}")
    if peers or CROSS_ENCODER in settings:
        problem = f"{where} describes a cross-encoder of two texts whose score is squashed"
        raise Unsupported(f"{problem}; those whose sentence_transformers.activation_fn is {IDENTITY} can be adopted, or {ENCODER_ONLY}")
    return "regress"


def threshold_in(settings: Settings, where: str) -> float:
    """The threshold that Stairs wrote; 0.5, as in transformers, if there is none."""
    ours = settings.get("stairs")
    threshold = ours.get("threshold", 0.5) if isinstance(ours, dict) else 0.5
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise BadInput(f"{where}: the threshold is {preview(threshold)}, not a number from 0 to 1; restore the file")
    return float(threshold)


def label_names(settings: Settings, count: int, where: str) -> list[str]:
    names = settings.get("id2label") or {str(number): f"LABEL_{number}" for number in range(count)}
    if not isinstance(names, dict) or sorted(map(str, names)) != sorted(map(str, range(count))):
        raise BadInput(f"{where}: id2label names {len(names)} labels, and the output layer has {count}; correct config.json")
    return [str({str(key): name for key, name in names.items()}[str(number)]) for number in range(count)]
