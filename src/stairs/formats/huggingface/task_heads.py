"""The layers that tasks put on top of BERT, both ways: `classifier` and `qa_outputs` of transformers are our Classify, Compare, Tag and FindSpan."""

from typing import Any

import torch
from torch import Tensor

from stairs.errors import Unsupported
from stairs.models.bert import BERT
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import TASKS, BiEncoder, Classify, Compare, Task
from stairs.tasks.parts.supervised import Supervised
from stairs.text.tokenizers.tokenizer import Tokenizer

PREFIX = {"classify": "classifier", "compare": "classifier", "tag": "classifier", "find-span": "qa_outputs"}


@torch.no_grad()
def task_with_head(model: BERT, tokenizer: Tokenizer, head: dict[str, Any]) -> Task:
    """What a folder with such a layer asks; one number for two texts is a score."""
    example_kind, labels = head["example_kind"], head["labels"]
    scores = example_kind == "compare" and len(labels) == 1
    settings: dict[str, Any] = {"labels": [], "low": 0.0, "high": 1.0} if scores else {"labels": labels}
    if example_kind in ("classify", "compare") and not scores:
        settings["counts"] = [1] * len(labels)
    kind: Any = TASKS[example_kind]
    task = kind(model, tokenizer, TransferOptions(pooling="cls"), **({"may_be_unanswered": False} if example_kind == "find-span" else settings))
    for name in ("weight", "bias"):
        getattr(task.head.linear, name).copy_(head["tensors"][f"{PREFIX[example_kind]}.{name}"])
    task.trained_module.eval()
    return task


def exported_head(task: Task) -> dict[str, Any] | None:
    """The layer of a task, by the names of transformers; None for a task without one."""
    if not isinstance(task, Supervised):
        return None
    if not isinstance(task.model, BERT):
        came = f"the layer that {task.name} learnt on top of {task.model_name} has no form in transformers"
        raise Unsupported(f"{came}; convert the run it was tuned from, or tune a bert")
    if isinstance(task, BiEncoder):
        raise Unsupported("this bi-encoder compares two vectors, which is no layer on top of a bert; convert it to sentence-transformers")
    if task.feature_extractor.reads_words or task.feature_extractor.layers not in (None, [task.model.depth - 1]):
        what = "a BiLSTM" if task.feature_extractor.reads_words else "other layers than the last"
        raise Unsupported(f"this {task.name} reads {what}, which transformers has no place for; tune it without --insert and --layers")
    if isinstance(task, Classify) and (task.pooling != "cls" or (isinstance(task, Compare) and not task.is_cross_encoder)):
        raise Unsupported(
            f"this {task.name} reads the {task.pooling} of the token vectors, and transformers reads that of [CLS]; tune it with --transfer full"
        )
    if isinstance(task, Classify) and getattr(task.model, "pooler", None) is None:
        raise Unsupported("this bert has no pooler, which transformers puts before the labels; it cannot be written as huggingface")
    head: Any = task.head
    weight, bias = head.fold()
    if isinstance(task, Compare) and not task.labels:
        low, high = task.settings["low"], task.settings["high"]
        weight, bias = weight * (high - low), bias * (high - low) + low
    example_kind = task.name
    tensors: dict[str, Tensor] = {f"{PREFIX[example_kind]}.weight": weight, f"{PREFIX[example_kind]}.bias": bias}
    return {"example_kind": example_kind, "labels": task.settings.get("labels") or ["score"], "tensors": tensors}
