"""Encode: a vector for a text, from a model that reads it at once.

Reimers & Gurevych 2019, "Sentence-BERT": the mean of the token vectors, [CLS] and [SEP] included, or the vector of [CLS]; normalized to length 1 if
asked for. Every task of a BERT or GPT takes its mean from here, so that all of them give one vector for a text. Texts are read in order of length, in
batches of about as many tokens each, so that little is padding.
"""

import copy
import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, Self, cast

import numpy as np
import torch
from torch import Tensor

from stairs.errors import Unsupported, no_tokens
from stairs.fast.packed_linear import for_inference
from stairs.fast.precision import Precision
from stairs.models.base import Model
from stairs.progress import say, track
from stairs.tasks.answers import Answer, CosineAnswer, VectorAnswer
from stairs.tasks.config_file import TaskConfig
from stairs.tasks.measurements import Measurements
from stairs.tasks.parts.saved_model import load_model
from stairs.tasks.task import Encoder, Task
from stairs.text.batch import Batch, batches_by_length, pad_rows
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.windows import LongTextRule, kept_positions

SentencePooling = Literal["mean", "cls"]
TOKENS_PER_BATCH = 2048  # more do not fit into the processor's caches


class Encode(Task):
    """Text to vector."""

    name = "encode"
    takes_pairs = True
    precision: Precision = "fp32"
    long_text: LongTextRule = "head"  # what is read of a text that is longer than the model's context

    def __init__(
        self, model: Model, tokenizer: Tokenizer, *, pooling: SentencePooling = "mean", normalize: bool = False, max_length: int | None = None
    ) -> None:
        super().__init__(model, tokenizer)
        self.pooling, self.normalize = pooling, normalize
        self.max_length = model.row_limit(max_length) or 0  # tokens of a text, special ones included

    def answer(self, text: str, *, second: str | None = None) -> VectorAnswer | CosineAnswer:
        """The vector of a text; with `second`, the cosine between the two."""
        if second is not None:
            return {"first": text, "second": second, "cosine": self.similarity(text, second)}
        return {"text": text, "vector": self.vectors([text])[0].tolist()}

    def summary(self, answer: Answer) -> str:
        return f"cosine {answer['cosine']:.4f}" if "cosine" in answer else " ".join(f"{x:.6g}" for x in cast(VectorAnswer, answer)["vector"])

    def vectors(self, texts: list[str], encode: Encoder | None = None) -> np.ndarray:
        """(N, D) in the order of the texts."""
        rows = self.rows(texts)
        vectors = np.zeros((len(rows), self.model.config.width), np.float32)
        compute = encode or self.inference_model.encode

        def encode_rows(numbers: list[int]) -> int:
            ids, real = pad_rows([rows[number] for number in numbers], self.tokenizer.pad)
            with torch.inference_mode():
                vectors[numbers] = self.pool(compute(Batch(ids, real)).float(), real).numpy()
            return len(numbers)

        with track("encoding", total=len(rows), unit="texts") as advance:
            for count in run_in_threads(encode_rows, list(batches_by_length([len(row) for row in rows], TOKENS_PER_BATCH))):
                advance(count)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12) if self.normalize else vectors

    def evaluate_texts(self, documents: Iterable[str]) -> Measurements:
        raise Unsupported("vectors of texts are good for one purpose and bad for another; evaluate what is made of them, such as labels")

    def pool(self, hidden: Tensor, real: Tensor) -> Tensor:
        """(B, T, D) to (B, D)."""
        return hidden[:, 0] if self.pooling == "cls" else (hidden * real[..., None]).sum(1) / real.sum(1, keepdim=True)

    def token_vectors(self, texts: list[str], encode: Encoder | None = None) -> Iterator[tuple[list[str], np.ndarray]]:
        for row in self.rows(texts):
            ids, real = pad_rows([row], self.tokenizer.pad)
            with torch.no_grad():
                hidden = (encode or self.model.encode)(Batch(ids, real))
            text = slice(int(self.tokenizer.adds_begin), -1 if self.model.adds_end_token else None)  # without special tokens
            yield [self.tokenizer.token(i) for i in row[text]], hidden[0, text].float().numpy()

    def rows(self, texts: list[str]) -> list[list[int]]:
        """The ids of each text with its special tokens, [CLS] and [SEP] for a BERT."""
        ids_of_texts, truncated = self.tokenizer.encode_batch(texts), 0
        limit = self.max_length - self.tokenizer.adds_begin - self.model.adds_end_token
        for number, (text, ids) in enumerate(zip(texts, ids_of_texts, strict=True), 1):
            if not ids:
                raise no_tokens(text, f"text {number}" if len(texts) > 1 else "")
            truncated += len(ids) > limit
        if self.long_text == "window":
            raise Unsupported("the vector of a text is made from one part of it; choose --long-text head, tail or head+tail")
        if truncated:
            say(f"{truncated} of {len(texts)} texts are longer than {limit} tokens; the {self.long_text} of each was read")
        parts = [ids if len(ids) <= limit else [ids[place] for place in kept_positions(len(ids), limit, self.long_text)] for ids in ids_of_texts]
        return [self.tokenizer.with_special_ids(ids, self.model.adds_end_token)[0] for ids in parts]

    @functools.cached_property
    def inference_model(self) -> Model:
        """A copy of the model, laid out for inference."""
        return for_inference(self.model, self.precision)

    def for_inference(self, precision: Precision) -> Self:
        twin = copy.copy(self)
        twin.precision = precision
        twin.__dict__.pop("inference_model", None)
        return twin

    def describe(self) -> TaskConfig:
        return {**super().describe(), "pooling": self.pooling, "normalize": self.normalize, "max_length": self.max_length}

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        return cls(*load_model(folder, described), pooling=described["pooling"], normalize=described["normalize"], max_length=described["max_length"])


def run_in_threads(work: Callable[[list[int]], int], jobs: list[list[int]]) -> Iterator[int]:
    """Each thread computes batches of its own, rather than all threads the same one: no thread waits for the others after every matrix product."""
    threads = torch.get_num_threads()
    if threads == 1 or len(jobs) < 2:
        yield from map(work, jobs)
        return
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(work, reversed(jobs))  # the longest first, so that all end at about the same time
    finally:
        torch.set_num_threads(threads)
