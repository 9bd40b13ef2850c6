"""The target distribution beside the output distribution, before training and after it.

    loss = -log2 p(target)          the cross-entropy between a target of 1 for one token and the output

Before training means new weights from the seed of the run. A training may start closer: see `start_at_unigram` of the models.
"""

import math
from dataclasses import replace
from typing import NamedTuple, TypedDict

import torch
from torch import Tensor

from stairs.errors import Unsupported
from stairs.inspection.run_record import recorded_training
from stairs.inspection.tokens import continues_text, encode, max_tokens, readable_token
from stairs.inspection.views import model_of, view
from stairs.models.base import Model
from stairs.tasks import NextToken, Task
from stairs.tasks.parts.translation_pairs import source_batch
from stairs.tasks.translate import BEAM_SIZE, Translate
from stairs.text.batch import Batch, next_token_batch
from stairs.text.tokenizers.tokenizer import Tokenizer

SMALL_VOCABULARY = 16  # tokens that are all shown
POSITIONS_SHOWN = 6


class TokenProbability(TypedDict):
    token: str
    target: float
    before: float
    after: float


class OutputPosition(TypedDict):
    read: str  # what the model has read before it, of its own output or of the text
    target: str
    bits_before: float
    bits_after: float
    tokens: list[TokenProbability]


class DistributionData(TypedDict):
    text: str
    has_own_target: bool  # the target is the translation of the run itself, since none was given
    positions: list[OutputPosition]


class TargetRow(NamedTuple):
    """A row, and from where on its targets are shown."""

    batch: Batch
    targets: list[int]
    start: int
    has_own_target: bool = False


def predicts_by_gradient(task: Task) -> bool:
    model = model_of(task)
    return model is not None and model.learns_by == "gradient" and (task.translates or continues_text(task))


@view(predicts_by_gradient)
def distribution(task: NextToken | Translate, text: str, *, second: str | None = None, top: int = 5, run: str = "") -> DistributionData:
    """The probabilities of the next token, untrained and trained, beside the target: each token of a translation, or the last token of the text."""
    row = translation_targets(task, text, second) if isinstance(task, Translate) else continuation_targets(task, text, second)
    before = new_model(task.model, recorded_training(run).seed)
    both = [probabilities(model, row.batch) for model in (before, task.model)]  # (T, V)
    stop = min(row.start + POSITIONS_SHOWN, len(row.targets))
    positions = [output_position(task.tokenizer, row, position, both[0][position], both[1][position], top) for position in range(row.start, stop)]
    return {"text": text, "has_own_target": row.has_own_target, "positions": positions}


def translation_targets(task: Translate, text: str, second: str | None) -> TargetRow:
    """Of `merci -> thanks`, or of `merci` with `second`; without a target, the translation that the run finds itself."""
    given, _, written = text.replace("→", "->").partition("->")
    wanted = (second or written).strip()
    (source,), tokenizer = task.encode_texts([given.strip()]), task.tokenizer
    target = task.encode_texts([wanted])[0] if wanted else task.search([source], BEAM_SIZE)[0].hypotheses[0].ids
    batch = next_token_batch([target], tokenizer.begin, tokenizer.end, tokenizer.pad)
    return TargetRow(replace(batch, source=source_batch([source], tokenizer)), [*target, tokenizer.end], 0, not wanted)


def continuation_targets(task: NextToken, text: str, second: str | None) -> TargetRow:
    if second is not None and second.strip():
        raise Unsupported(f"the target of a {task.name} run is the last token of the text; leave --second out")
    ids, limit = encode(task, text.rstrip()), max_tokens(task)
    ids = ids if limit is None else ids[-(limit - 1) :]
    return TargetRow(task.batch([ids[:-1]]), ids, len(ids) - 1)


def new_model(model: Model, seed: int) -> Model:
    """Of the same kind and size, with the weights that a training with this seed begins with."""
    untrained = type(model)(model.config)
    untrained.initialize(seed)
    return untrained.eval()


@torch.no_grad()
def probabilities(model: Model, batch: Batch) -> Tensor:
    return model.predict(batch)[0].float().softmax(-1)


def output_position(tokenizer: Tokenizer, row: TargetRow, position: int, before: Tensor, after: Tensor, top: int) -> OutputPosition:
    target = row.targets[position]
    tokens: list[TokenProbability] = [
        {"token": readable_token(tokenizer, i), "target": float(i == target), "before": float(before[i]), "after": float(after[i])}
        for i in ids_to_show(tokenizer, target, after, top)
    ]
    bits = [-math.log2(max(float(distribution[target]), 1e-30)) for distribution in (before, after)]
    read = tokenizer.decode(row.targets[:position])
    return {"read": read, "target": readable_token(tokenizer, target), "bits_before": bits[0], "bits_after": bits[1], "tokens": tokens}


def ids_to_show(tokenizer: Tokenizer, target: int, after: Tensor, top: int) -> list[int]:
    """All of a small vocabulary, in its order; otherwise the target and the tokens that are most probable after training."""
    ordinary = [i for i in range(tokenizer.vocab_size) if i not in tokenizer.special_ids]
    if len(ordinary) <= SMALL_VOCABULARY:
        return [*ordinary, tokenizer.end]
    return list(dict.fromkeys([target, *after.topk(min(top, len(after))).indices.tolist()]))
