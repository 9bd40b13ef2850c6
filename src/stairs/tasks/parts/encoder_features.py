"""What a head reads of an encoder:

    rows     = [CLS] text [SEP], or [CLS] first [SEP] second [SEP]
    vectors  = pool(encode(rows))            of a text or of each token, of each layer if layers are mixed; cached with `--transfer features`
    features = combine(mix(vectors))         what the head reads

The rows are in BERT's format, and with [CLS] for the start, [SEP] for the delimiter and the last [SEP] for the extract token also in that of Radford
et al. 2018 for a GPT. Encoders that do not attend from one text to the other read the two apart.

Departures: GPT's three tokens are new ones in the paper; ours has seen [CLS] and [SEP] at the ends of texts and sentences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from stairs.errors import no_tokens
from stairs.models.base import Model
from stairs.models.transfer_options import Pooling, TransferOptions
from stairs.progress import say_verbose, track
from stairs.tasks.parts.layer_mix import FeatureExtractor
from stairs.tasks.task import Encoder, Task
from stairs.text.batch import Batch, batches_by_length, pad_rows
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.trees import TreePositions, pad_positions
from stairs.text.windows import LongTextRule, kept_positions

POSITIONS = 4096  # in a batch
ROWS_TO_STANDARDIZE = 500  # about
VECTORS_TO_WHITEN = 30_000  # about
CACHE_VERSION = 3  # of the vectors in the cache: raised whenever they are computed in another way
MAX_HALF = 65504.0  # the largest number in half precision


@dataclass
class EncodedInput:
    """What an encoder reads at once: an example, or a window of one."""

    ids: list[int]
    segments: list[int]
    example: int  # the number of the example
    second: list[int] | None = None  # another text, read apart
    target: Any = None  # a number, or one for each position
    metadata: dict[str, Any] = field(default_factory=dict)  # what turns logits into an answer
    tree: TreePositions | None = None  # where the tokens stand in a dependency tree, for an encoder that knows it


Targets = Callable[[Sequence[EncodedInput], int], dict[str, Tensor]]  # from rows and their length to fields of a batch


class InputFormat:
    """Makes rows of at most `max_tokens`; None for any length."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int | None, long_text: LongTextRule = "head+tail") -> None:
        self.tokenizer, self.max_tokens, self.long_text = tokenizer, max_tokens, long_text
        self.truncated_texts = 0

    def encode_one(self, ids: list[int], example: int = 0) -> EncodedInput:
        ids = self.truncate(ids)
        return EncodedInput([self.tokenizer.begin, *ids, self.tokenizer.end], [0] * (len(ids) + 2), example)

    def encode_pair(self, first: list[int], second: list[int], example: int = 0) -> EncodedInput:
        """Both texts in one row; where they do not fit, the longer one is truncated at its end."""
        if self.max_tokens is not None and len(first) + len(second) > self.max_tokens - 3:
            self.truncated_texts += 1
            limit = self.max_tokens - 3
            half = max(limit // 2, limit - len(second))
            first, second = first[:half], second[: limit - min(len(first), half)]
        end = self.tokenizer.end
        return EncodedInput([self.tokenizer.begin, *first, end, *second, end], [0] * (len(first) + 2) + [1] * (len(second) + 1), example)

    def encode_apart(self, first: list[int], second: list[int], example: int = 0) -> EncodedInput:
        """Two texts that are read apart."""
        row = self.encode_one(first, example)
        row.second = self.encode_one(second).ids
        return row

    def truncate(self, ids: list[int]) -> list[int]:
        """What fits between [CLS] and [SEP]."""
        if self.max_tokens is None or len(ids) <= self.max_tokens - 2:
            return ids
        self.truncated_texts += 1
        rule = "head" if self.long_text == "window" else self.long_text
        return [ids[place] for place in kept_positions(len(ids), self.max_tokens - 2, rule)]


def collate(rows: Sequence[EncodedInput], pad: int, targets: Targets | None = None, vectors: Sequence[np.ndarray] | None = None) -> Batch:
    """Rows as a batch, with their targets and with cached vectors if there are some."""
    ids, real = pad_rows([row.ids for row in rows], pad)
    segments, _ = pad_rows([row.segments for row in rows], 0)
    fields = {} if targets is None else targets(rows, ids.shape[1])
    trees = [row.tree for row in rows if row.tree is not None]
    if trees:
        distances, depths = map(torch.from_numpy, pad_positions(trees, ids.shape[1]))
        fields = {**fields, "tree_distances": distances, "tree_depths": depths}
    source = None
    if rows and rows[0].second is not None:
        source = Batch(*pad_rows([row.second or [] for row in rows], pad))
    cached = None if vectors is None else stack_padded(vectors, ids.shape[1])
    return Batch(ids, real, segments=segments, source=source, vectors=cached, **fields)


class LabelledRows:
    """What training goes through."""

    def __init__(self, rows: list[EncodedInput], pad: int, targets: Targets) -> None:
        self.rows, self.pad, self.targets = rows, pad, targets
        self.lengths = np.array([len(row.ids) + len(row.second or ()) for row in rows], np.int64)
        self.vectors: list[np.ndarray] | None = None  # cached vectors of each row

    def batch(self, numbers: np.ndarray, epoch: int, seed: int) -> Batch:
        cached = None if self.vectors is None else [self.vectors[number] for number in numbers]
        return collate([self.rows[number] for number in numbers], self.pad, self.targets, cached)


def stack_padded(vectors: Sequence[np.ndarray], length: int) -> Tensor:
    """(B, D), or (B, T, D) padded with zeros."""
    if vectors[0].ndim == 1:
        return torch.from_numpy(np.stack(vectors).astype(np.float32))
    stacked = np.zeros((len(vectors), length, vectors[0].shape[1]), np.float32)
    for row, own in zip(stacked, vectors, strict=True):
        row[: len(own)] = own
    return torch.from_numpy(stacked)


class TrainedModule(nn.Module):
    """All weights that may be trained, under the names that checkpoints store them by. A frozen encoder has no dropout either."""

    def __init__(self, model: Model, head: nn.Module, transfer: TransferOptions) -> None:
        super().__init__()
        self.head = head
        self.is_frozen = not transfer.trains_encoder
        self.has_encoder = transfer.transfer != "features"
        if self.has_encoder:
            self.model = model

    def train(self, mode: bool = True) -> "TrainedModule":
        super().train(mode)
        if self.is_frozen and self.has_encoder:
            self.model.eval()
        return self


class EncoderFeatures(Task):
    """A task whose head reads an encoder. Each defines how it pools and what it combines."""

    transfer: TransferOptions
    feature_extractor: FeatureExtractor
    head: nn.Module
    long_text: LongTextRule = "head+tail"

    @property
    def max_tokens(self) -> int | None:
        """The longest row; None for any length."""
        return self.model.row_limit(self.transfer.max_length)

    @property
    def input_format(self) -> InputFormat:
        return InputFormat(self.tokenizer, self.max_tokens, self.long_text)

    def encode_texts(self, texts: Sequence[str], where: Sequence[str]) -> list[list[int]]:
        """The ids of each text; an error about an empty one says where it stands."""
        rows = self.tokenizer.encode_batch(list(texts))
        for ids, text, place in zip(rows, texts, where, strict=True):
            if not ids:
                raise no_tokens(text, place)
        return rows

    def note_truncation(self, form: InputFormat, texts: int) -> None:
        if form.truncated_texts:
            say_verbose(f"{form.truncated_texts} of {texts} texts are longer than {form.max_tokens} tokens; the {self.long_text} of each was read")

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
        extractor = self.feature_extractor
        if not extractor.reads_words:
            vectors = self.pooled_vectors(batch, hidden) if batch.vectors is None else batch.vectors
            return self.combine(extractor.mix_layers(vectors), batch)
        if self.transfer.transfer == "features":
            hidden = extractor.read(self.pooled_vectors(batch) if batch.vectors is None else batch.vectors, batch)
        return self.combine(self.pool(self.encode(batch) if hidden is None else hidden, batch), batch)

    def pooled_vectors(self, batch: Batch, hidden: Tensor | None = None) -> Tensor:
        """What depends on the encoder alone; for a BiLSTM that is every token. Several layers of every token are cached in half precision, and
        rounded to it where they are not."""
        extractor = self.feature_extractor
        if extractor.reads_words:
            vectors = extractor.encoder_vectors(self.add_characters(batch), self.model)
        else:
            vectors = self.pool(self.encode(batch) if hidden is None else hidden, batch)
        is_half = self.transfer.transfer == "features" and bool(extractor.mixes) and vectors.ndim > 2
        return vectors.clamp(-MAX_HALF, MAX_HALF).half() if is_half else vectors

    @property
    def features_depend_on(self) -> str:
        """What cached vectors depend on besides the weights and the ids of the rows. The ids of words outside the vocabulary hold for this process
        only, so those words are part of it."""
        extractor = self.feature_extractor
        layers = f"{extractor.layers} {self.transfer.mix_norm and bool(extractor.mixes)}"
        pooling = "tokens" if extractor.reads_words else f"{self.pooling or ''} {self.model.pools_special_tokens}"
        return f"{CACHE_VERSION} {self.name} {pooling} {layers} {getattr(self.tokenizer, 'new', '')}"

    def fit_scales(self, labelled: LabelledRows) -> None:
        """Standardize what is mixed, and then what the head reads of an equal mix, by a sample of the rows; whitening takes a larger one."""
        if self.feature_extractor.reads_words and not self.feature_extractor.mixes:  # it learns its scale
            return
        step = max(len(labelled.rows) // ROWS_TO_STANDARDIZE, 1)
        if self.transfer.whiten:
            step = max(sum(own.size // own.shape[-1] for own in labelled.vectors or ()) // VECTORS_TO_WHITEN, 1)
        rows = labelled.rows[::step]
        vectors = self.compute_vectors(rows) if labelled.vectors is None else labelled.vectors[::step]
        self.feature_extractor.fit_to(concatenate(vectors))
        if not self.feature_extractor.reads_words:  # a BiLSTM has no weights yet that follow from the seed
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
    if pooling == "max":
        return hidden.masked_fill(~is_counted[..., None], -torch.inf).amax(1)
    return (hidden * is_counted[..., None]).sum(1) / is_counted.sum(1, keepdim=True).clamp(min=1)


def concatenate(vectors: list[np.ndarray]) -> Tensor:
    """(N, D), of rows that are one vector or have one for each token."""
    return torch.from_numpy(np.concatenate([own.reshape(-1, own.shape[-1]) for own in vectors])).float()
