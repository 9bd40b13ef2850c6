"""config.json beside the weights of a saved task: all that `open` needs to know besides the weights and the tokenizer."""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
Settings = Mapping[str, object]  # of a model, of a transfer, or such as follow from labelled examples


class TaskConfig(TypedDict):
    """What every task writes, and what some of them add."""

    task: str
    model: str
    config: NotRequired[Settings]  # of the model, where there is one
    recipe: NotRequired[Settings]  # the size and schedule that were chosen for the time and the machine
    pieces: NotRequired[list[float]]  # masked-token: the shares of words of one piece, of two, of three
    answers_sources: NotRequired[bool]  # unified-lm: it was trained on pairs of a source and a target
    backwards: NotRequired[bool]  # translate: from the second language to the first
    pooling: NotRequired[Literal["mean", "cls"]]  # encode
    normalize: NotRequired[bool]
    max_length: NotRequired[int | None]
    labels: NotRequired[list[str]]  # classifiers without gradients
    priors: NotRequired[list[float]]
    choice: NotRequired[Settings]  # tfidf and vectors: what held-out examples chose, and by which score
    threshold: NotRequired[float]  # the probability from which on one of several labels is given
    transfer: NotRequired[Settings]  # tasks on top of an encoder
    settings: NotRequired[Settings]
    encoder: "NotRequired[TaskConfig]"  # tasks with an index: the task whose vectors it holds
