"""MaskedToken: which words are masked? What BERT is pretrained on. `parts/blanks.py` fills blanks with what it has learnt.

    loss = mean of -ln p(masked word | all words around it)  +  mean of -ln p(does the second sentence follow the first?)
"""

from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from stairs.data import TrainingData
from stairs.errors import BadInput
from stairs.fast.corpus_slice import token_counts
from stairs.layers.vocabulary import logit_chunks
from stairs.models.base import Model
from stairs.progress import say
from stairs.randomness import derive_seed
from stairs.tasks.measurements import Interval, Measurements, map_interval
from stairs.tasks.metrics import proportion, ratio
from stairs.tasks.parts.blanks import MAX_PIECES, BlankFilling
from stairs.tasks.parts.labelled_splits import text_data
from stairs.tasks.parts.sentence_pairs import PretrainingRows, SentencePairs, pairs_of_split
from stairs.tasks.parts.stream import encode_documents
from stairs.tasks.task import Encoder, TrainingExamples
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.shards import Shards, is_sentence_end
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.windows import kept_positions, owned_spans, window_spans

POSITIONS = 8192  # in a batch
EVALUATION_SEED = 0  # of the words masked in held-out text: always the same, so that two runs can be compared
TOKENS_COUNTED = 50_000  # to find into how many pieces words are cut
SHOWN = 12  # tokens on either side of a masked word, in a sample


class MaskedToken(BlankFilling):
    """Any word from those around it."""

    name = "masked-token"
    monitor = "loss"

    def __init__(self, model: Model, tokenizer: Tokenizer, pieces: list[float] | None = None) -> None:
        super().__init__(model, tokenizer, pieces)
        self.held_out_pairs: dict[str, tuple[Shards, SentencePairs]] = {}  # by split
        self.last_batch: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # ids, targets and predictions of held-out rows

    @property
    def fills_blanks(self) -> bool:
        return self.model.fills_blanks

    # Training

    def examples(self, data: TrainingData, split: str = "train") -> PretrainingRows:
        pairs = pairs_of_split(text_data(data), split, self.model.config)
        if split == "train":
            self.pieces = piece_count_shares(pairs.ids[:TOKENS_COUNTED], self.tokenizer)
        return pairs

    def target_counts(self, examples: TrainingExamples) -> np.ndarray:
        """Any token may be masked but those between sentences."""
        counts = token_counts(cast(SentencePairs, examples).ids, self.model.config.vocab_size)
        counts[[self.tokenizer.begin, self.tokenizer.end]] = 0
        return counts

    def training_loss(self, batch: Batch) -> tuple[Tensor, int]:
        """The loss summed over all masked words, with that of the pairs' labels in proportion, and the number of masked words."""
        assert batch.targets is not None
        count = int((batch.targets != IGNORE_INDEX).sum())
        return self.model.loss(batch) * count, count

    # Evaluation

    def evaluate_split(self, data: TrainingData, split: str = "validation", limit: int | None = None) -> Measurements:
        return self.evaluate_rows(self.pairs_once(data, split), limit)

    def count_positions(self, data: TrainingData, split: str = "validation") -> int:
        return int(self.pairs_once(data, split).lengths.sum())

    def pairs_once(self, data: TrainingData, split: str) -> PretrainingRows:
        """Put together once, since every evaluation needs them."""
        shards = text_data(data)
        if split not in self.held_out_pairs or self.held_out_pairs[split][0] is not shards:
            self.held_out_pairs[split] = shards, pairs_of_split(shards, split, self.model.config)
        return self.held_out_pairs[split][1]

    def evaluate_texts(self, documents: Iterable[str]) -> Measurements:
        ids, _ = encode_documents(self.tokenizer, documents)
        return self.evaluate_rows(SentencePairs(ids, self.model.config, self.tokenizer, split="given"))

    @torch.no_grad()
    def evaluate_rows(self, rows: PretrainingRows, limit: int | None = None) -> Measurements:
        """Loss and accuracy of masked words, and the accuracy of pairs; on all rows or on about `limit` positions. Every masked word is a [MASK],
        whatever share of them is in training."""
        numbers = np.arange(len(rows.lengths))
        tokens = int(rows.lengths.sum())
        if limit is not None and tokens > limit:
            numbers = np.unique(np.linspace(0, len(numbers) - 1, max(int(limit / rows.lengths.mean()), 1)).astype(np.int64))
        numbers = numbers[np.argsort(rows.lengths[numbers], kind="stable")]
        device = next(self.model.parameters()).device
        nll, correct, masked, correct_pairs = [], [], [], []
        for group in np.array_split(numbers, -(-int(rows.lengths[numbers].sum()) // POSITIONS)):
            if not len(group):
                continue
            batch = rows.batch(group, 0, EVALUATION_SEED, evaluating=True)
            if device.type != "cpu":
                batch = batch.to(device)
            assert batch.targets is not None
            losses, predictions, pair_labels = self.predict_masked(batch)
            has_target = batch.targets != IGNORE_INDEX
            nll.append(losses.sum(1).double().cpu().numpy())
            correct.append(((predictions == batch.targets) & has_target).sum(1).cpu().numpy())
            masked.append(has_target.sum(1).cpu().numpy())
            if pair_labels is not None and batch.labels is not None:
                correct_pairs.append((pair_labels == batch.labels).cpu().numpy())
            self.last_batch = batch.ids.cpu().numpy(), batch.targets.cpu().numpy(), predictions.cpu().numpy()
        words = np.concatenate(masked)
        if not words.sum():
            raise BadInput("the text is too short to mask a word in it; give a longer one")
        loss = ratio(np.concatenate(nll), words)
        metrics: dict[str, Interval] = {
            "loss": loss,
            "perplexity": map_interval(lambda value: float(np.exp(value)), loss),
            "masked_accuracy": ratio(np.concatenate(correct), words),
        }
        if correct_pairs:
            pairs = np.concatenate(correct_pairs)
            metrics[self.model.config.objective.replace("-", "_") + "_accuracy"] = proportion(int(pairs.sum()), len(pairs))
        return {**metrics, "words": int(words.sum()), "tokens": tokens}

    def predict_masked(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor | None]:
        """-ln p of each masked word and the most probable word in its place, (B, T), and the predicted label of each pair, (B,)."""
        assert batch.targets is not None
        model = self.model
        has_target, (masked, first) = batch.targets != IGNORE_INDEX, model.encode_masked(batch)
        nll, predictions = torch.zeros(has_target.shape, device=masked.device), torch.full_like(batch.targets, IGNORE_INDEX)
        targets, positions = batch.targets[has_target], has_target.nonzero()
        word_head = model.required_word_head
        for rows, part in logit_chunks(word_head(masked), len(model.tokens.weight)):
            logits = linear(part, model.tokens.weight, word_head.bias).float()
            at = tuple(positions[rows].T)
            nll[at] = cross_entropy(logits, targets[rows], reduction="none")
            predictions[at] = logits.argmax(-1)
        return nll, predictions, None if batch.labels is None else model.next_sentence_logits(first).argmax(-1)

    def sample(self, seed: int) -> str:
        """A masked word of held-out text, and the prediction for it."""
        if self.last_batch is None:
            return ""
        ids, targets, predictions = self.last_batch
        rows, positions = np.nonzero(targets != IGNORE_INDEX)
        if not len(rows):
            return ""
        at = derive_seed(seed, "sample") % len(rows)
        row, place = int(rows[at]), int(positions[at])
        text = np.where(targets[row] == IGNORE_INDEX, ids[row], targets[row])
        before, after = text[max(place - SHOWN, 0) : place], text[place + 1 : place + 1 + SHOWN]
        word = self.tokenizer.decode([int(predictions[row, place])]) or self.tokenizer.token(int(predictions[row, place]))
        return f"{self.tokenizer.decode(before.tolist())} [{word}?] {self.tokenizer.decode(after.tolist())}"

    # Vectors

    def vectors(self, texts: list[str], encode: Encoder | None = None) -> np.ndarray:
        """Of windows, each token counts once and special tokens do not count."""
        if self.vector_part != "window":
            return super().vectors(texts, encode)
        means = [vectors.mean(0) for _, vectors in self.token_vectors(texts, encode)]
        return np.stack(means) if means else np.zeros((0, 0), np.float32)

    @torch.no_grad()
    def token_vectors(self, texts: list[str], encode: Encoder | None = None) -> Iterator[tuple[list[str], np.ndarray]]:
        """A text that is too long is read in windows, or truncated as `long_text` says."""
        truncated = 0
        for text in texts:
            ids = np.array(self.ids_of(text))
            if len(ids) > self.max_tokens and self.long_text != "window":
                truncated += 1
                ids = ids[kept_positions(len(ids), self.max_tokens, self.long_text)]
            spans = zip(window_spans(len(ids), self.max_tokens), owned_spans(len(ids), self.max_tokens), strict=True)
            vectors = [self.window_vectors(ids[start:stop], encode)[a - start : b - start] for (start, stop), (a, b) in spans]
            yield [self.tokenizer.token(int(i)) for i in ids], np.concatenate(vectors)
        if truncated:
            say(f"{truncated} of {len(texts)} texts have more than {self.max_tokens} tokens; the {self.long_text} of each was read")

    def window_vectors(self, ids: np.ndarray, encode: Encoder | None) -> np.ndarray:
        """(T, D), without those of [CLS] and [SEP]."""
        row = torch.from_numpy(np.concatenate([[self.tokenizer.begin], ids, [self.tokenizer.end]]))[None]
        vectors: np.ndarray = (encode or self.model.encode)(Batch(row, torch.ones_like(row, dtype=torch.bool)))[0, 1:-1].float().numpy()
        return vectors

def piece_count_shares(ids: np.ndarray, tokenizer: Tokenizer) -> list[float]:
    """The shares of words that are cut into one token, two or three, among all that are."""
    counts = np.zeros(MAX_PIECES)
    for sentence in np.split(np.asarray(ids), np.flatnonzero(is_sentence_end(ids))):
        words = sentence[~is_sentence_end(sentence)].astype(np.int64)
        sizes = np.diff(np.flatnonzero(np.append(tokenizer.word_starts(words), True)))
        counts += np.bincount(sizes[sizes <= MAX_PIECES], minlength=MAX_PIECES + 1)[1:]
    return [round(float(count), 4) for count in counts / max(counts.sum(), 1)]
