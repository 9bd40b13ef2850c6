"""The output layers of tasks on BERT, both ways: `classifier` of transformers is that of Classify, MultiLabel, Regress, Compare, Choose and Tag,
`qa_outputs` that of FindSpan."""

from typing import Any

import torch
from torch import Tensor

from stairs.errors import Unsupported
from stairs.formats.huggingface.architectures import HEADS, OutputLayer
from stairs.models.bert import BERT, XLNet
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import TASKS, BiEncoder, Compare, MultiLabel, Regress, Task
from stairs.tasks.parts.pair_features import PairFeatures
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.parts.text_vector import TextVector
from stairs.text.tokenizers.tokenizer import Tokenizer


@torch.no_grad()
def task_with_head(model: BERT, tokenizer: Tokenizer, head: OutputLayer) -> Task:
    """The task of a folder with such an output layer; one number for a pair of texts is a score."""
    name, labels = head["task"], head["labels"]
    is_score = name == "compare" and len(labels) == 1
    settings: dict[str, Any] = {"labels": labels}
    if is_score:
        settings = {"labels": [], "low": 0.0, "high": 1.0}
    elif name == "regress":
        settings = {"mean": 0.0, "deviation": 1.0}
    elif name in ("choose", "find-span"):
        settings = {"may_be_unanswered": False} if name == "find-span" else {}
    elif name in ("classify", "compare", "multilabel"):
        settings["counts"] = [1] * len(labels)
        settings |= {"texts": 2} if name == "multilabel" else {}
    kind: type[Any] = TASKS[name]
    task = kind(model, tokenizer, TransferOptions(pooling="cls"), **settings)
    for part in ("weight", "bias"):
        getattr(task.head.linear, part).copy_(head["tensors"][f"{HEADS[name][0]}{part}"])
    if name == "multilabel":
        task.head.threshold.fill_(head["threshold"])
    task.trained_module.eval()
    return task


def exported_head(task: Task) -> OutputLayer | None:
    """The output layer of a task under the names of transformers; None for a task without one."""
    if not isinstance(task, Supervised):
        return None
    if not isinstance(task.model, BERT) or isinstance(task.model, XLNet):  # XLNet has its own layers there, which read the last token
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
    if isinstance(task, Regress):
        weight, bias = weight * task.settings["deviation"], bias * task.settings["deviation"] + task.settings["mean"]
    tensors: dict[str, Tensor] = {f"{HEADS[task.name][0]}weight": weight, f"{HEADS[task.name][0]}bias": bias}
    exported: OutputLayer = {"task": task.name, "labels": task.settings.get("labels") or ["score"], "tensors": tensors}
    if isinstance(task, MultiLabel):
        exported["threshold"] = task.threshold
    return exported
