"""What a Transformer reads: the embeddings whose sum enters the first block, and a row of BERT's pretraining.

    input = tokens(w) + segments(s) + positions          GPT and the Transformer have no segments; rotary and relative positions add nothing

A training row is made by `tasks/parts/sentence_pairs.py` itself, with the settings of the run, from a text as if it were the whole corpus.
"""

import math
from typing import Literal, TypedDict

import numpy as np
import torch
from torch import Tensor

from stairs.inspection.attention import Rows, rounded_rows
from stairs.inspection.tokens import TokenizedText, Truncatable, encode, readable_token, tokenize
from stairs.inspection.views import model_of, position_encoding, view
from stairs.layers.positions import LearnedPositions, SinusoidalPositions
from stairs.models.base import Model
from stairs.models.bert import BERT
from stairs.models.gpt import GPT
from stairs.models.transformer import Transformer
from stairs.randomness import numpy_generator
from stairs.tasks import MaskedToken, Task
from stairs.tasks.parts.masking import MaskingExample
from stairs.tasks.parts.sentence_pairs import NEXT, SentencePairs
from stairs.tasks.parts.stream import encode_documents
from stairs.text.batch import IGNORE_INDEX
from stairs.text.sentences import BLANK_LINES

TOKENS_SHOWN, DIMENSIONS_SHOWN = 40, 32
LABELS = {"next-sentence": ("IsNext", "NotNext"), "sentence-order": ("in order", "exchanged")}  # by objective; the second is for any other label
Masking = Literal["mask", "random", "kept"]


class EmbeddingPart(TypedDict):
    name: str
    length: float  # the mean length of its vectors
    rows: Rows  # a row for each token, the first dimensions


class EmbeddingsData(Truncatable):
    tokens: list[str]
    segments: list[int]
    width: int
    parts: list[EmbeddingPart]  # the embeddings, and at last their sum


class TrainingToken(TypedDict):
    token: str  # as the model reads it
    target: str | None  # the token that it must predict here
    masking: Masking | None  # what became of a target: [MASK], a random token, or itself
    segment: int


class TrainingRowData(TypedDict):
    objective: str
    label: str | None  # of the pair of sentences
    rows: int  # that the text gives
    row: int  # which of them this is
    tokens: list[TrainingToken]


# The sum of embeddings


def sums_embeddings(task: Task) -> bool:
    return isinstance(model_of(task), BERT | GPT | Transformer)


@view(sums_embeddings)
def embeddings(task: Task, text: str, *, second: str | None = None) -> EmbeddingsData:
    """The embeddings of each token, and their sum, which the first block reads."""
    row = tokenize(task, text, second)
    parts = {name: vectors.float().numpy() for name, vectors in embedding_parts(task.model, row).items()}
    parts["sum"] = np.sum(list(parts.values()), axis=0)
    entries: list[EmbeddingPart] = [
        {
            "name": name, "length": float(np.linalg.norm(vectors, axis=1).mean()),
            "rows": rounded_rows(vectors[:TOKENS_SHOWN, :DIMENSIONS_SHOWN]),
        }
        for name, vectors in parts.items()
    ]  # fmt: skip
    segments = [] if row.batch.segments is None else row.batch.segments[0].tolist()
    part = f"the first {TOKENS_SHOWN} of {len(row.tokens)} tokens are shown" if len(row.tokens) > TOKENS_SHOWN else None
    return {
        "tokens": row.tokens[:TOKENS_SHOWN], "segments": segments[:TOKENS_SHOWN], "width": parts["sum"].shape[1], "parts": entries,
        "truncation": row.truncation or part,
    }  # fmt: skip


@torch.no_grad()
def embedding_parts(model: Model, row: TokenizedText) -> dict[str, Tensor]:
    """(T, D) each, by name."""
    batch = row.batch
    scale = math.sqrt(model.config.width) if isinstance(model, Transformer) else 1.0
    assert isinstance(model, BERT | GPT | Transformer)
    parts = {"token": scale * model.tokens(batch.ids)[0]}
    if isinstance(model, BERT) and model.segments is not None and batch.segments is not None:
        parts["segment"] = model.segments(batch.segments)[0]
    encoding = position_encoding(model)
    if isinstance(encoding, LearnedPositions | SinusoidalPositions):
        parts["position"] = encoding(model.position_ids(batch).expand_as(batch.ids))[0]
    return parts


# A training row


def masks_words(task: Task) -> bool:
    return isinstance(task, MaskedToken) and isinstance(model_of(task), BERT)


@view(masks_words)
def training_row(task: MaskedToken, text: str, *, seed: int = 0) -> TrainingRowData:
    """A row as BERT is trained on it: which words are masked and how, the two segments, and the label of the pair. Blank lines separate documents,
    or if there are none, each line is one; another seed draws another row."""
    encode(task, text)
    documents = BLANK_LINES.split(text.strip())
    ids, _ = encode_documents(task.tokenizer, documents if len(documents) > 1 else text.splitlines())
    pairs = SentencePairs(ids, task.model.config, task.tokenizer, split="given")
    count = len(pairs.lengths)
    number = seed % count
    example = pairs.example(number, numpy_generator(seed, "pairs", 0, number))
    objective = task.model.config.objective
    label = None if example.label is None else LABELS[objective][int(example.label != NEXT)]
    return {"objective": objective, "label": label, "rows": count, "row": number, "tokens": training_tokens(task, example)}


def training_tokens(task: MaskedToken, example: MaskingExample) -> list[TrainingToken]:
    assert example.targets is not None
    tokens: list[TrainingToken] = []
    for number, target, segment in zip(example.ids.tolist(), example.targets.tolist(), example.segments.tolist(), strict=True):
        has_target = target != IGNORE_INDEX
        masking: Masking | None = None
        if has_target:
            masking = "mask" if number == task.tokenizer.mask else "kept" if number == target else "random"
        original = readable_token(task.tokenizer, target) if has_target else None
        tokens.append({"token": readable_token(task.tokenizer, number), "target": original, "masking": masking, "segment": segment})
    return tokens
