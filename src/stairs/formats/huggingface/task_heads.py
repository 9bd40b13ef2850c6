"""The output layers of tasks on BERT, both ways: `classifier` and `qa_outputs` of transformers are Classify, Compare, Choose, Tag and FindSpan."""

from typing import Any

import torch
from torch import Tensor

from stairs.errors import Unsupported
from stairs.formats.huggingface.architectures import OutputLayer
from stairs.models.bert import BERT
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import TASKS, BiEncoder, Compare, Task
from stairs.tasks.parts.pair_features import PairFeatures
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.parts.text_vector import TextVector
from stairs.text.tokenizers.tokenizer import Tokenizer

PREFIX = {"classify": "classifier", "compare": "classifier", "choose": "classifier", "tag": "classifier", "find-span": "qa_outputs"}


@torch.no_grad()
def task_with_head(model: BERT, tokenizer: Tokenizer, head: OutputLayer) -> Task:
    """The task of a folder with such an output layer; one number for a pair of texts is a score."""
    name, labels = head["task"], head["labels"]
    is_score = name == "compare" and len(labels) == 1
    settings: dict[str, Any] = {"labels": [], "low": 0.0, "high": 1.0} if is_score else {} if name == "choose" else {"labels": labels}
    if name in ("classify", "compare") and not is_score:
        settings["counts"] = [1] * len(labels)
    kind: type[Any] = TASKS[name]
    task = kind(model, tokenizer, TransferOptions(pooling="cls"), **({"may_be_unanswered": False} if name == "find-span" else settings))
    for part in ("weight", "bias"):
        getattr(task.head.linear, part).copy_(head["tensors"][f"{PREFIX[name]}.{part}"])
    task.trained_module.eval()
    return task


def exported_head(task: Task) -> OutputLayer | None:
    """The output layer of a task under the names of transformers; None for a task without one."""
    if not isinstance(task, Supervised):
        return None
    if not isinstance(task.model, BERT):
        problem = f"the output layer of {task.name} on {task.model_name} has no counterpart in transformers"
        raise Unsupported(f"{problem}; convert the run it was tuned from, or tune a bert")
    if isinstance(task, BiEncoder):
        raise Unsupported("this bi-encoder compares two vectors and has no output layer on bert; convert it to sentence-transformers")
    if task.feature_extractor.reads_words or task.feature_extractor.layers not in (None, [task.model.depth - 1]):
        what = "a BiLSTM" if task.feature_extractor.reads_words else "other layers than the last"
        raise Unsupported(f"this {task.name} reads {what}, which transformers has no counterpart for; tune it without --insert and --layers")
    if task.transfer.crf:
        raise Unsupported("this tag run finds its tags with a CRF, which transformers has no counterpart for; tune it without --crf")
    if isinstance(task, TextVector) and (task.pooling != "cls" or (isinstance(task, PairFeatures) and not task.is_cross_encoder)):
        raise Unsupported(
            f"this {task.name} reads the {task.pooling} of the token vectors, and transformers the vector of [CLS]; tune it with --transfer full"
        )
    if isinstance(task, TextVector) and not task.model.has_pooler:
        raise Unsupported("this bert has no pooler, which transformers needs before the labels; it cannot be converted to huggingface")
    head: Any = task.head
    weight, bias = head.fold()
    if isinstance(task, Compare) and not task.labels:
        low, high = task.settings["low"], task.settings["high"]
        weight, bias = weight * (high - low), bias * (high - low) + low
    tensors: dict[str, Tensor] = {f"{PREFIX[task.name]}.weight": weight, f"{PREFIX[task.name]}.bias": bias}
    return {"task": task.name, "labels": task.settings.get("labels") or ["score"], "tensors": tensors}
