"""What a head reads of an encoder:

    vectors  = pool(encode(rows))            of a text or of each token, of each layer if layers are mixed; cached with `--transfer features`
    features = combine(mix(vectors))         what the head reads
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
from stairs.tasks.task import Encoder, Task
from stairs.text.batch import Batch, batches_by_length

POSITIONS = 4096  # in a batch
ROWS_TO_STANDARDIZE = 500  # about
VECTORS_TO_WHITEN = 30_000  # about
CACHE_VERSION = 3  # of the vectors in the cache: raised whenever they are computed in another way
MAX_HALF = 65504.0  # the largest number in half precision


class EncoderFeatures(Task):
    """A task whose head reads an encoder. Each defines how it pools and what it combines."""

    transfer: TransferOptions
    feature_extractor: FeatureExtractor
    head: nn.Module

    @property
    def pooling(self) -> Pooling | None:
        """Which token vectors stand for a text; None for tasks that read every token."""
        return None

    def encode(self, batch: Batch) -> Tensor:
        """The token vectors (B, T, D), those of mixed layers side by side; or only those that `pool` needs."""
        hidden: Tensor = self.feature_extractor(self.add_characters(batch), self.model)
        return hidden

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        """What is cached of the token vectors: a linear function of them, so that layers can be mixed afterwards."""
        return hidden

    def combine(self, vectors: Tensor, batch: Batch) -> Tensor:
        """What the head reads of pooled and mixed vectors."""
        return vectors

    def features(self, batch: Batch, hidden: Tensor | None = None) -> Tensor:
        """What the head reads: of the batch's cached vectors if it has some, else of `hidden`, which is computed unless it is given."""
        vectors = self.pooled_vectors(batch, hidden) if batch.vectors is None else batch.vectors
        return self.combine(self.feature_extractor.mix_layers(vectors), batch)

    def pooled_vectors(self, batch: Batch, hidden: Tensor | None = None) -> Tensor:
        """What depends on the encoder alone. Several layers of every token are cached in half precision, and rounded to it where they are not."""
        vectors = self.pool(self.encode(batch) if hidden is None else hidden, batch)
        is_half = self.transfer.transfer == "features" and self.feature_extractor.mixes_for_head and vectors.ndim > 2
        return vectors.clamp(-MAX_HALF, MAX_HALF).half() if is_half else vectors

    @property
    def features_depend_on(self) -> str:
        """What cached vectors depend on besides the weights and the ids of the rows. The ids of words outside the vocabulary hold for this process
        only, so those words are part of it."""
        layers = f"{self.feature_extractor.layers} {self.transfer.mix_norm and self.feature_extractor.mixes_for_head}"
        pooling = f"{self.pooling or ''} {self.model.pools_special_tokens}"
        return f"{CACHE_VERSION} {self.name} {pooling} {layers} {getattr(self.tokenizer, 'new', '')}"

    def fit_scales(self, labelled: LabelledRows) -> None:
        """Standardize what is mixed, and then what the head reads of an equal mix, by a sample of the rows; whitening takes a larger one."""
        step = max(len(labelled.rows) // ROWS_TO_STANDARDIZE, 1)
        if self.transfer.whiten:
            step = max(sum(own.size // own.shape[-1] for own in labelled.vectors or ()) // VECTORS_TO_WHITEN, 1)
        rows = labelled.rows[::step]
        vectors = self.compute_vectors(rows) if labelled.vectors is None else labelled.vectors[::step]
        self.feature_extractor.fit_to(concatenate(vectors))
        self.head.fit_to(concatenate(self.run_rows(rows, self.features, vectors=vectors)))  # type: ignore[operator]

    def compute_vectors(self, rows: list[EncodedInput]) -> list[np.ndarray]:
        """The vectors of every row, before layers are mixed."""
        with track("encoding", total=len(rows), unit="texts") as advance:
            return self.run_rows(rows, self.pooled_vectors, advance)

    @torch.no_grad()
    def run_rows(
        self,
        rows: list[EncodedInput],
        compute: Encoder,
        advance: Callable[[int], None] = lambda count: None,
        vectors: list[np.ndarray] | None = None,
    ) -> list[np.ndarray]:
        """What `compute` gives for each row, in their order, without padding and without dropout. `vectors` are cached ones."""
        was_training, device = self.trained_module.training, next(self.head.parameters()).device
        self.trained_module.eval(), self.model.eval()
        results: list[np.ndarray] = [np.zeros(0)] * len(rows)
        for numbers in batches_by_length([len(row.ids) for row in rows], POSITIONS):
            cached = None if vectors is None else [vectors[number] for number in numbers]
            batch = collate([rows[number] for number in numbers], self.tokenizer.pad, vectors=cached).to(device)
            output = compute(batch)
            arrays = (output if output.dtype == torch.float16 else output.float()).cpu().numpy()
            for number, own, real in zip(numbers, arrays, batch.real.sum(1).tolist(), strict=True):
                results[number] = own if own.ndim == 1 else own[:real]
            advance(len(numbers))
        self.trained_module.train(was_training)
        return results


def pool_tokens(hidden: Tensor, batch: Batch, model: Model, pooling: Pooling, special: frozenset[int]) -> Tensor:
    """One vector for each row, (B, D)."""
    if pooling == "cls":
        return model.pool(hidden) if model.has_pooler else hidden[:, 0]
    if pooling == "last":
        return hidden[torch.arange(len(hidden)), batch.real.sum(1) - 1]
    is_counted = batch.real
    if not model.pools_special_tokens:
        is_special = torch.isin(batch.ids, torch.tensor(sorted(special), device=batch.ids.device))
        is_counted = batch.real & ~(is_special & (batch.real & ~is_special).any(1, keepdim=True))  # special tokens count only where there is no other
    return (hidden * is_counted[..., None]).sum(1) / is_counted.sum(1, keepdim=True).clamp(min=1)


def concatenate(vectors: list[np.ndarray]) -> Tensor:
    """(N, D), of rows that are one vector or have one for each token."""
    return torch.from_numpy(np.concatenate([own.reshape(-1, own.shape[-1]) for own in vectors])).float()
