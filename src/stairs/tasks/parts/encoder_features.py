"""What a head sees of an encoder, for tasks that are learnt from labelled examples:

    vectors  = pool(encode(rows))            one for a text or one for each token, of each layer if layers are mixed: kept with `--transfer features`
    features = combine(mix(vectors))         what the head sees
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from stairs.models.base import Model
from stairs.models.transfer_options import Pooling, TransferOptions
from stairs.progress import track
from stairs.tasks.parts.layer_mix import FeatureExtractor
from stairs.tasks.parts.rows import EncodedInput, LabelledRows, collate
from stairs.tasks.task import Task
from stairs.text.batch import Batch, batches_by_length

POSITIONS = 4096  # computed at once
ROWS_TO_STANDARDIZE = 500  # rows, about, by which features are brought to scale
VECTORS_TO_WHITEN = 30_000  # vectors, about, by which they are whitened
CACHE_VERSION = 3  # what is kept of a text in the cache: raised whenever that is another thing
MAX_HALF = 65504.0  # in half precision


class EncoderFeatures(Task):
    """A task whose head reads an encoder. Each says how it pools and what it combines."""

    transfer: TransferOptions
    feature_extractor: FeatureExtractor
    head: nn.Module

    def encode(self, batch: Batch) -> Tensor:
        """The token vectors (B, T, D), those of mixed layers side by side, or those of them that `pool` needs."""
        return self.feature_extractor(self.add_characters(batch), self.model)

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        """What is kept of the token vectors: linear in them, so that layers may be mixed afterwards."""
        return hidden

    def combine(self, vectors: Tensor, batch: Batch) -> Tensor:
        """What the head sees of pooled and mixed vectors."""
        return vectors

    def features(self, batch: Batch, hidden: Tensor | None = None) -> Tensor:
        """What the head sees; of vectors that were kept, if there are some, else of token vectors that are computed now unless they are given."""
        vectors = self.vectors_of(batch, hidden) if batch.vectors is None else batch.vectors
        return self.combine(self.feature_extractor.mix_layers(vectors), batch)

    def vectors_of(self, batch: Batch, hidden: Tensor | None = None) -> Tensor:
        """What depends on the encoder alone. Several layers of every token are kept in half precision, and rounded alike where they are not kept."""
        found = self.pool(self.encode(batch) if hidden is None else hidden, batch)
        rounded = self.transfer.transfer == "features" and self.feature_extractor.mixes_for_head and found.ndim > 2
        return found.clamp(-MAX_HALF, MAX_HALF).half() if rounded else found

    @property
    def features_depend_on(self) -> str:
        """Besides the weights and the ids of the rows: ids of words that are not in the vocabulary mean something today alone."""
        layers = f"{self.feature_extractor.layers} {self.transfer.mix_norm and self.feature_extractor.mixes_for_head}"
        pooled = f"{getattr(self, 'pooling', '')} {self.model.pools_special_tokens}"
        return f"{CACHE_VERSION} {self.name} {pooled} {layers} {getattr(self.tokenizer, 'new', '')}"

    def fit_scales(self, given: LabelledRows) -> None:
        """Standardize what is mixed, and then what the head sees of an equal mix, by some of the rows; to whiten takes more of them."""
        step = max(len(given.rows) // ROWS_TO_STANDARDIZE, 1)
        if self.transfer.whiten:
            step = max(sum(own.size // own.shape[-1] for own in given.vectors or ()) // VECTORS_TO_WHITEN, 1)
        rows = given.rows[::step]
        vectors = self.compute_vectors(rows) if given.vectors is None else given.vectors[::step]
        self.feature_extractor.fit_to(concatenate(vectors))
        self.head.fit_to(concatenate(self.run_rows(rows, self.features, vectors=vectors)))  # type: ignore[operator]

    def compute_vectors(self, rows: list[EncodedInput]) -> list[np.ndarray]:
        """The vectors of every row."""
        with track("encoding", total=len(rows), unit="texts") as advance:
            return self.run_rows(rows, self.vectors_of, advance)

    @torch.no_grad()
    def run_rows(
        self,
        rows: list[EncodedInput],
        compute: Callable[[Batch], Tensor],
        advance: Callable[[int], None] = lambda count: None,
        vectors: list[np.ndarray] | None = None,
    ) -> list[np.ndarray]:
        """What `compute` gives for each row, in their order and without padding; nothing drops out meanwhile. `vectors` are those that were kept."""
        was, device = self.trained_module.training, next(self.head.parameters()).device
        self.trained_module.eval(), self.model.eval()
        found: list[np.ndarray] = [np.zeros(0)] * len(rows)
        for numbers in batches_by_length([len(row.ids) for row in rows], POSITIONS):
            known = None if vectors is None else [vectors[number] for number in numbers]
            batch = collate([rows[number] for number in numbers], self.tokenizer.pad, vectors=known).to(device)
            computed = compute(batch)
            arrays = (computed if computed.dtype == torch.float16 else computed.float()).cpu().numpy()
            for number, own, real in zip(numbers, arrays, batch.real.sum(1).tolist(), strict=True):
                found[number] = own if own.ndim == 1 else own[:real]
            advance(len(numbers))
        self.trained_module.train(was)
        return found


def pool_tokens(hidden: Tensor, batch: Batch, model: Model, how: Pooling, special: frozenset[int]) -> Tensor:
    """One vector for each row, (B, D)."""
    if how == "cls":
        return model.pool(hidden) if model.has_pooler else hidden[:, 0]
    if how == "last":
        return hidden[torch.arange(len(hidden)), batch.real.sum(1) - 1]
    counted = batch.real
    if not model.pools_special_tokens:
        marks = torch.isin(batch.ids, torch.tensor(sorted(special), device=batch.ids.device))
        counted = batch.real & ~(marks & (batch.real & ~marks).any(1, keepdim=True))  # the marks count only where there is nothing else
    return (hidden * counted[..., None]).sum(1) / counted.sum(1, keepdim=True).clamp(min=1)


def concatenate(vectors: list[np.ndarray]) -> Tensor:
    """(N, D), of rows that are vectors or have one for each token."""
    return torch.from_numpy(np.concatenate([own.reshape(-1, own.shape[-1]) for own in vectors])).float()
