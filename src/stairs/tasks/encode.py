"""Encode: a vector for a text, from a model that reads it at once.

Reimers & Gurevych 2019, "Sentence-BERT": the mean of the token vectors, those of [CLS] and [SEP] counted, or that of [CLS], and if asked for of
length 1. Every task of a BERT or GPT takes the mean from here, so that all of them give one vector for a text. Texts are read in order of length,
in batches of about as many tokens each, so that hardly any work is done for padding.
"""

import copy
import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview
from stairs.fast.packed_linear import Precision, for_inference
from stairs.models.base import Model
from stairs.progress import say, track
from stairs.tasks.task import Task
from stairs.text.batch import Batch, batches_by_length, pad_rows
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.windows import LongTextRule, kept_positions

SentencePooling = Literal["mean", "cls"]
TOKENS_AT_ONCE = 2048  # positions in a batch; more leave the caches


class Encode(Task):
    """Text to vector."""

    name = "encode"
    precision: Precision = "fp32"
    long_text: LongTextRule = "head"  # what is read of a text that is longer than the model's context

    def __init__(
        self, model: Model, tokenizer: Tokenizer, *, pooling: SentencePooling = "mean", normalize: bool = False, max_length: int | None = None
    ) -> None:
        super().__init__(model, tokenizer)
        self.pooling, self.normalize = pooling, normalize
        self.max_length = min(max_length or model.config.context, model.config.context)  # tokens of a text that are read, the two marks counted

    def answer(self, text: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        return {"text": text, "vector": self.vectors([text])[0].tolist()}

    def similarity(self, first: str, second: str) -> float:
        """The cosine between two texts."""
        a, b = self.vectors([first, second]).astype(np.float64)
        return float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12))

    def vectors(self, texts: list[str], encode: Callable[[Batch], Tensor] | None = None) -> np.ndarray:
        """(N, D) in the order of the texts."""
        rows = self.rows(texts)
        found = np.zeros((len(rows), self.model.config.width), np.float32)
        encode = encode or self.inference_model.encode

        def put(numbers: list[int]) -> int:
            ids, real = pad_rows([rows[number] for number in numbers], self.tokenizer.pad)
            with torch.inference_mode():
                found[numbers] = self.pooled(encode(Batch(ids, real)).float(), real).numpy()
            return len(numbers)

        with track("encoding", total=len(rows), unit="texts") as advance:
            for done in run_in_threads(put, list(batches_by_length([len(row) for row in rows], TOKENS_AT_ONCE))):
                advance(done)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12) if self.normalize else found

    def evaluate_texts(self, documents: Iterable[str]) -> dict[str, Any]:
        raise Unsupported("vectors of texts are good or bad for a purpose; judge them by what is made of them, such as labels")

    def pooled(self, hidden: Tensor, real: Tensor) -> Tensor:
        """(B, T, D) to (B, D)."""
        return hidden[:, 0] if self.pooling == "cls" else (hidden * real[..., None]).sum(1) / real.sum(1, keepdim=True)

    def token_vectors(self, texts: list[str], encode: Callable[[Batch], Tensor] | None = None) -> Iterator[tuple[list[str], np.ndarray]]:
        for row in self.rows(texts):
            ids, real = pad_rows([row], self.tokenizer.pad)
            with torch.no_grad():
                found = (encode or self.model.encode)(Batch(ids, real))
            text = slice(int(self.tokenizer.adds_begin), -1 if self.model.adds_end_token else None)  # without the marks
            yield [self.tokenizer.token(number) for number in row[text]], found[0, text].float().numpy()

    def rows(self, texts: list[str]) -> list[list[int]]:
        """The ids of each text and its marks, [CLS] and [SEP] for a BERT."""
        found, cut = self.tokenizer.encode_batch(texts), 0
        room = self.max_length - self.tokenizer.adds_begin - self.model.adds_end_token
        for text, ids in zip(texts, found, strict=True):
            if not ids:
                raise BadInput(f"there are no tokens in {preview(text)}; give a text with words")
            cut += len(ids) > room
        if self.long_text == "window":
            raise Unsupported("a vector for a text is made from one reading of it; choose --long-text head, tail or head+tail")
        if cut:
            say(f"{cut} of {len(texts)} texts are longer than {room} tokens; the {self.long_text} of each was read")
        read = [ids if len(ids) <= room else [ids[place] for place in kept_positions(len(ids), room, self.long_text)] for ids in found]
        return [self.tokenizer.with_special_ids(ids, self.model.adds_end_token)[0] for ids in read]

    @functools.cached_property
    def inference_model(self) -> Model:
        """The model, laid out for answering."""
        return for_inference(self.model, self.precision)

    def for_inference(self, precision: Precision) -> Self:
        twin = copy.copy(self)
        twin.precision = precision
        twin.__dict__.pop("inference_model", None)
        return twin

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "pooling": self.pooling, "normalize": self.normalize, "max_length": self.max_length}

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        task = super().open(folder, described)
        return cls(task.model, task.tokenizer, **{name: described[name] for name in ("pooling", "normalize", "max_length")})


def run_in_threads(work: Callable[[list[int]], int], jobs: list[list[int]]) -> Iterator[int]:
    """Each thread its own batches, rather than all threads the same one: nobody waits for the others after every product."""
    threads = torch.get_num_threads()
    if threads == 1 or len(jobs) < 2:
        yield from map(work, jobs)
        return
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(work, reversed(jobs))  # the longest first, so that all end at about the same time
    finally:
        torch.set_num_threads(threads)
