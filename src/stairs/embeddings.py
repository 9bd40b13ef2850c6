"""The vectors of texts through the methods that users of sentence-transformers and LangChain know, so that a run drops into their code.

    encoder = stairs.Embeddings("runs/corpus-bert")
    encoder.encode(["a", "b"], normalize_embeddings=True)           # as SentenceTransformer does: (2, D); one text gives one vector, (D,)
    encoder.similarity(encoder.encode(queries), encoder.encode(texts))
    InMemoryVectorStore(encoder).add_texts(texts)                   # as a LangChain Embeddings does: embed_documents, embed_query

Neither of the two needs to be installed.
"""

import asyncio
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, overload

import numpy as np

from stairs.arguments import convert
from stairs.errors import BadInput, preview
from stairs.tasks.availability import check_verb
from stairs.text.python_rows import Texts, describe, list_texts

if TYPE_CHECKING:
    from torch import Tensor

    from stairs.tasks import Task

class Embeddings:
    """Vectors of texts from a run whose model encodes.

    >>> stairs.Embeddings("runs/corpus-bert").encode(["a cat", "a dog"]).shape[0]
    2

    run: the folder of a run, or the task that `stairs.load` and `stairs.train` give
    normalize_embeddings: scale every vector to length 1; `encode` can be told otherwise
    """

    def __init__(self, run: "str | Path | Task", *, normalize_embeddings: bool = False) -> None:
        if isinstance(run, str | Path):
            from stairs.training.run import load

            run = load(run)
        if not hasattr(run, "vectors"):
            raise BadInput(f"the run is {describe(run)}; give a run folder, or what stairs.load returns")
        check_verb(run, "embed")
        self.task, self.normalize_embeddings = run, normalize_embeddings
        langchain = sys.modules.get("langchain_core.embeddings")
        if langchain is not None:  # some of its vector stores ask for the class, and do without the methods
            langchain.Embeddings.register(Embeddings)

    def __repr__(self) -> str:
        return f"<Embeddings of {self.task!r}>"

    # As in sentence-transformers

    @overload
    def encode(
        self, sentences: Texts, *, batch_size: int | None = None, show_progress_bar: bool | None = None, convert_to_numpy: Literal[True] = True,
        convert_to_tensor: Literal[False] = False, normalize_embeddings: bool | None = None,
    ) -> np.ndarray: ...  # fmt: skip

    @overload
    def encode(
        self, sentences: Texts, *, batch_size: int | None = None, show_progress_bar: bool | None = None, convert_to_numpy: bool = True,
        convert_to_tensor: bool = False, normalize_embeddings: bool | None = None,
    ) -> "np.ndarray | Tensor | list[Tensor]": ...  # fmt: skip

    def encode(
        self, sentences: Texts, *, batch_size: int | None = None, show_progress_bar: bool | None = None, convert_to_numpy: bool = True,
        convert_to_tensor: bool = False, normalize_embeddings: bool | None = None,
    ) -> "np.ndarray | Tensor | list[Tensor]":  # fmt: skip
        """The vector of each text, (texts, D), or of a single text, (D,).

        A numpy array; with `convert_to_tensor` a tensor, and without either of the two a list of tensors. `batch_size` is how many texts are handed
        to the model at a time, which then makes batches of its own; all at once if None. `show_progress_bar` shows how far it is.
        """
        batch_size = cast("int | None", convert("batch_size", batch_size, int | None))
        is_single = isinstance(sentences, str)
        texts = list_texts(sentences)
        vectors = self._vectors(texts, batch_size or len(texts), bool(show_progress_bar))
        if self.normalize_embeddings if normalize_embeddings is None else normalize_embeddings:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        if convert_to_numpy and not convert_to_tensor:
            return vectors[0] if is_single else vectors
        import torch

        tensors = torch.from_numpy(vectors)
        return tensors[0] if is_single else tensors if convert_to_tensor else list(tensors)

    def _vectors(self, texts: list[str], count: int, shows_progress: bool) -> np.ndarray:
        if count < 1:
            raise BadInput(f"batch_size is {count}; give a number above 0")
        from stairs import progress

        before = progress.bars_enabled
        progress.bars_enabled = before or shows_progress
        try:
            return np.concatenate([self.task.vectors(texts[i : i + count]) for i in range(0, len(texts), count)])
        finally:
            progress.bars_enabled = before

    def encode_query(self, sentences: Texts, **options: bool) -> "np.ndarray | Tensor | list[Tensor]":
        """`encode`: Stairs reads a query as it reads any text."""
        return self.encode(sentences, **options)

    encode_document = encode_query

    def similarity(self, first: object, second: object) -> "Tensor":
        """The cosines between all vectors of the first and all of the second, (n, m)."""
        return unit_rows(first) @ unit_rows(second).T

    def similarity_pairwise(self, first: object, second: object) -> "Tensor":
        """The cosine between each vector of the first and the one of the second in the same place, (n,)."""
        return (unit_rows(first) * unit_rows(second)).sum(1)

    def get_embedding_dimension(self) -> int:
        """The length of a vector."""
        return self._dimension

    get_sentence_embedding_dimension = get_embedding_dimension

    @cached_property
    def _dimension(self) -> int:
        return int(self.task.vectors(["a"]).shape[1])  # the only way that all models have in common

    # As in LangChain

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vector of each text, as a list of numbers."""
        found: list[list[float]] = self.encode(texts).tolist() if len(texts) else []
        return found

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text, as a list of numbers."""
        if not isinstance(text, str):
            raise BadInput(f"embed_query takes one text and got {preview(text)}; give several to embed_documents")
        found: list[float] = self.encode(text).tolist()
        return found

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents` in a thread."""
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query` in a thread."""
        return await asyncio.to_thread(self.embed_query, text)

    def __call__(self, text: str) -> list[float]:
        """`embed_query`, for those who want a function."""
        return self.embed_query(text)


def unit_rows(vectors: object) -> "Tensor":
    """The vectors as a matrix whose rows have length 1; a single one is a matrix of one row."""
    import torch

    matrix = torch.as_tensor(np.stack([np.asarray(row) for row in vectors]) if isinstance(vectors, list | tuple) else vectors).float()
    return torch.nn.functional.normalize(matrix if matrix.ndim == 2 else matrix[None], dim=1)
