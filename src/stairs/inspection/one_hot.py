"""One-hot vectors beside learned ones: between one-hot vectors of two words every cosine is 0, so they cannot show that two words are similar."""

from typing import TypedDict

import numpy as np

from stairs.errors import BadInput
from stairs.inspection.attention import Rows, rounded_rows
from stairs.inspection.tokens import encode, readable_token
from stairs.inspection.views import model_of, view
from stairs.inspection.words import word_id
from stairs.models.bert import BERT
from stairs.models.gpt import GPT
from stairs.models.nnlm import NNLM
from stairs.models.seq2seq import Seq2Seq
from stairs.models.transformer import Transformer
from stairs.tasks import Task, WordVectors

WORDS_SHOWN, DIMENSIONS_SHOWN = 12, 64


class OneHotData(TypedDict):
    words: list[str]
    indices: list[int]  # where the 1 of each word's one-hot vector stands
    vocab_size: int
    width: int  # of a learned vector
    vectors: Rows  # the first dimensions of the learned ones
    one_hot_cosines: Rows
    cosines: Rows


def has_token_table(task: Task) -> bool:
    return task.has_word_vectors or isinstance(model_of(task), BERT | GPT | NNLM | Seq2Seq | Transformer)


@view(has_token_table)
def one_hot(task: Task, text: str) -> OneHotData:
    """The cosines between the words of a text: of their one-hot vectors, and of the vectors that the run has learned."""
    ids = distinct_ids(task, text)
    vectors = learned_vectors(task, ids).astype(np.float64)
    indices = np.array(ids)
    return {
        "words": [readable_token(task.tokenizer, number) for number in ids], "indices": ids, "vocab_size": task.tokenizer.vocab_size,
        "width": vectors.shape[1], "vectors": rounded_rows(vectors[:, :DIMENSIONS_SHOWN]),
        "one_hot_cosines": rounded_rows((indices[:, None] == indices).astype(np.float64)), "cosines": rounded_rows(cosines(vectors)),
    }  # fmt: skip


def distinct_ids(task: Task, text: str) -> list[int]:
    """The first words of a text, each once."""
    found = [word_id(task.tokenizer, word) for word in text.split()] if isinstance(task, WordVectors) else encode(task, text)
    ids = list(dict.fromkeys(found))[:WORDS_SHOWN]
    if len(ids) < 2:
        raise BadInput("one word has nothing to be compared with; give at least two different ones")
    return ids


def learned_vectors(task: Task, ids: list[int]) -> np.ndarray:
    """(N, D), without context: of word vectors themselves, or of the table of token vectors."""
    if isinstance(task, WordVectors):
        return task.rows(np.array(ids))
    model = task.model
    assert isinstance(model, BERT | GPT | NNLM | Seq2Seq | Transformer)
    table = model.vectors if isinstance(model, NNLM) else model.tokens
    rows: np.ndarray = table.weight.detach()[ids].float().numpy()
    return rows


def cosines(vectors: np.ndarray) -> np.ndarray:
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    products: np.ndarray = units @ units.T
    return products
