"""MaskedToken: which words were left out? What BERT is pretrained on, and, asked, how a blank is filled.

    loss = mean of -ln p(word left out | all words around it)  +  mean of -ln p(does the second sentence follow the first?)
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from stairs.errors import BadInput, preview
from stairs.fast.corpus_slice import token_counts
from stairs.layers.vocabulary import logit_chunks
from stairs.models.base import Model
from stairs.models.bert import BERT
from stairs.progress import say
from stairs.randomness import derive_seed
from stairs.tasks.metrics import proportion, ratio
from stairs.tasks.parts.blanks import BlankFiller
from stairs.tasks.parts.sentence_pairs import NEXT, SentencePairs, pairs_of_split
from stairs.tasks.parts.stream import encode_documents
from stairs.tasks.task import Task
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.shards import Shards, is_sentence_end
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.windows import LongTextRule, kept_positions, owned_spans, window_spans

POSITIONS = 8192  # positions judged at once
EVALUATION_SEED = 0  # of the words left out of held-out text: always the same, so that two runs can be compared
TOKENS_COUNTED = 50_000  # tokens from which it is learnt into how many pieces words are cut
MAX_PIECES = 3  # of a word that fills a blank
SHOWN = 12  # tokens beside a blank, for the one who waits


class MaskedToken(Task):
    """Any word from those around it."""

    name = "masked-token"
    monitor = "loss"
    long_text: LongTextRule = "window"  # what is read of a text that is longer than the model's context

    model: BERT

    def __init__(self, model: Model, tokenizer: Tokenizer, pieces: list[float] | None = None) -> None:
        super().__init__(model, tokenizer)
        self.pieces = pieces or [1.0]  # the share of words cut into one piece, two, three
        self.known_pairs: dict[str, tuple[Shards, SentencePairs]] = {}  # of held-out text, by split
        self.last_batch: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # ids, targets and guesses of rows of held-out text

    # Learning

    def examples(self, shards: Shards, split: str = "train") -> SentencePairs:
        found = pairs_of_split(shards, split, self.model.config)
        if split == "train":
            self.pieces = piece_count_shares(found.ids[:TOKENS_COUNTED], self.tokenizer)
        return found

    def target_counts(self, examples: SentencePairs) -> np.ndarray:
        """Any token may be left out but the marks between sentences."""
        counts = token_counts(examples.ids, self.model.config.vocab_size)
        counts[[self.tokenizer.begin, self.tokenizer.end]] = 0
        return counts

    def training_loss(self, batch: Batch) -> tuple[Tensor, int]:
        """Nats of all words left out together, with those of the pairs' labels in proportion, and how many words there are."""
        assert batch.targets is not None
        count = int((batch.targets != IGNORE_INDEX).sum())
        return self.model.loss(batch) * count, count

    def evaluate_split(self, shards: Shards, split: str = "validation", limit: int | None = None) -> dict[str, Any]:
        return self.evaluate_examples(self.pairs_of(shards, split), limit)

    def count_positions(self, shards: Shards, split: str = "validation") -> int:
        return int(self.pairs_of(shards, split).lengths.sum())

    def pairs_of(self, shards: Shards, split: str) -> SentencePairs:
        """Put together once: every look asks for the same."""
        if self.known_pairs.get(split, (None,))[0] is not shards:
            self.known_pairs[split] = shards, pairs_of_split(shards, split, self.model.config)
        return self.known_pairs[split][1]

    def evaluate_texts(self, documents: Iterable[str]) -> dict[str, Any]:
        """Words left out of any text."""
        return self.evaluate_examples(SentencePairs(encode_documents(self.tokenizer, documents)[0].ids, self.model.config, self.tokenizer,
            where="given"))

    @torch.no_grad()
    def evaluate_examples(self, examples: SentencePairs, limit: int | None = None) -> dict[str, Any]:
        """How surprising the words left out were, how many were guessed, and how many pairs; on all examples or on about `most` positions. All words
        left out are [MASK], whatever share of them the run learns from as such."""
        numbers = np.arange(len(examples.lengths))
        tokens = int(examples.lengths.sum())
        if limit is not None and tokens > limit:
            numbers = np.unique(np.linspace(0, len(numbers) - 1, max(int(limit / examples.lengths.mean()), 1)).astype(np.int64))
        numbers = numbers[np.argsort(examples.lengths[numbers], kind="stable")]
        device = next(self.model.parameters()).device
        nats, right, asked, pairs = [], [], [], []
        for group in np.array_split(numbers, -(-int(examples.lengths[numbers].sum()) // POSITIONS)):
            if not len(group):
                continue
            batch = examples.batch(group, 0, EVALUATION_SEED, evaluating=True).to(device)
            found, guesses, verdicts = self.predict_masked(batch)
            assert batch.targets is not None
            wanted = batch.targets != IGNORE_INDEX
            nats.append(found.sum(1).double().cpu().numpy())
            right.append(((guesses == batch.targets) & wanted).sum(1).cpu().numpy())
            asked.append(wanted.sum(1).cpu().numpy())
            if verdicts is not None and batch.labels is not None:
                pairs.append((verdicts == batch.labels).cpu().numpy())
            self.last_batch = tuple(part.cpu().numpy() for part in (batch.ids, batch.targets, guesses))  # type: ignore[assignment]
        words = np.concatenate(asked)
        if not words.sum():
            raise BadInput("the text to judge by is too short to leave a word out; give a longer one")
        loss = ratio(np.concatenate(nats), words)
        measured = {
            "loss": loss,
            "perplexity": {bound: float(np.exp(value)) for bound, value in loss.items()},
            "masked_accuracy": ratio(np.concatenate(right), words),
        }
        if pairs:
            name = self.model.config.objective.replace("-", "_") + "_accuracy"
            measured[name] = proportion(int(np.concatenate(pairs).sum()), len(np.concatenate(pairs)))
        return {**measured, "words": int(words.sum()), "tokens": tokens}

    def predict_masked(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor | None]:
        """-ln p of each word left out and the likeliest word in its place, (B, T), and a verdict on each pair, (B,)."""
        assert batch.targets is not None
        model: Any = self.model
        hidden, wanted = model.encode(batch), batch.targets != IGNORE_INDEX
        nats, guesses = hidden.new_zeros(wanted.shape, dtype=torch.float32), torch.full_like(batch.targets, IGNORE_INDEX)
        targets, places = batch.targets[wanted], wanted.nonzero()
        for rows, part in logit_chunks(model.required_word_head(hidden[wanted]), len(model.tokens.weight)):
            logits = linear(part, model.tokens.weight, model.word_head.bias).float()
            at = tuple(places[rows].T)
            nats[at] = cross_entropy(logits, targets[rows], reduction="none")
            guesses[at] = logits.argmax(-1)
        return nats, guesses, None if batch.labels is None else model.next_sentence_logits(hidden).argmax(-1)

    def sample(self, seed: int) -> str:
        """A word of held-out text that was left out, and what it guesses."""
        if self.last_batch is None:
            return ""
        ids, targets, guesses = self.last_batch
        rows, places = np.nonzero(targets != IGNORE_INDEX)
        if not len(rows):
            return ""
        at = derive_seed(seed, "sample") % len(rows)
        row, place = int(rows[at]), int(places[at])
        truth = np.where(targets[row] == IGNORE_INDEX, ids[row], targets[row])
        before, after = truth[max(place - SHOWN, 0) : place], truth[place + 1 : place + 1 + SHOWN]
        word = self.tokenizer.decode([int(guesses[row, place])]) or self.tokenizer.token(int(guesses[row, place]))
        return f"{self.tokenizer.decode(before.tolist())} [{word}?] {self.tokenizer.decode(after.tolist())}"

    # Answering

    def answer(self, text: str, *, top: int = 10, pieces: int = MAX_PIECES, **options: Any) -> dict[str, Any]:
        """The words that fit each blank of a text, ranked, and the text with the blanks filled. A blank is `[MASK]`, `[BLANK]` or `___`."""
        return BlankFiller(self, min(pieces, MAX_PIECES)).answer(text, top)

    @torch.no_grad()
    def sentence_pair(self, first: str, second: str) -> dict[str, Any]:
        """Whether the second text follows the first: the chance of it, and for a model of sentence order that of the two being exchanged."""
        model: Any = self.model
        a, b = self.ids_of(first), self.ids_of(second)
        room = model.config.context - 3
        said = None
        if len(a) + len(b) > room:
            half = max(room // 2, room - len(b))
            said = self.note_truncation(len(a) + len(b), room, "the end of the first and the begin of the second text")
            a, b = a[-half:], b[: room - min(len(a), half)]
        tokenizer = self.tokenizer
        ids = torch.tensor([[tokenizer.begin, *a, tokenizer.end, *b, tokenizer.end]])
        segments = torch.tensor([[0] * (len(a) + 2) + [1] * (len(b) + 1)])
        probabilities = model.next_sentence_logits(model.encode(Batch(ids, torch.ones_like(ids, dtype=torch.bool),
            segments=segments))).float().softmax(-1)[0]
        verdict = "follows" if float(probabilities[NEXT]) >= 0.5 else {"sentence-order": "exchanged"}.get(model.config.objective, "does not follow")
        found = {"first": first, "second": second, "verdict": verdict, "next_sentence_probability": float(probabilities[NEXT])}
        return found if said is None else {**found, "truncation": said}

    @torch.no_grad()
    def pseudo_log_likelihood(self, text: str) -> dict[str, Any]:
        """Each token's log-chance when it alone is left out, and their sum (Salazar et al. 2020). It is no probability of the text, since every
        token is told all the others: it cannot be compared with what a model says that reads from left to right."""
        ids = self.ids_of(text)
        room = self.max_tokens
        if len(ids) > room:
            raise BadInput(f"{preview(text)} has {len(ids)} tokens and this bert reads {room}; give a shorter text")
        row = torch.tensor([self.tokenizer.begin, *ids, self.tokenizer.end])
        found: list[float] = []
        for places in torch.arange(1, len(ids) + 1).split(max(POSITIONS // len(row), 1)):
            batch = row.repeat(len(places), 1)
            targets = torch.full_like(batch, IGNORE_INDEX)
            index = torch.arange(len(places))
            targets[index, places] = batch[index, places]
            batch[index, places] = self.tokenizer.mask
            found += self.model.log_likelihood(Batch(batch, torch.ones_like(batch, dtype=torch.bool), targets)).sum(1).tolist()
        tokens = [{"token": self.tokenizer.token(i), "log_probability": probability} for i, probability in zip(ids, found, strict=True)]
        said = "a pseudo-likelihood, not the probability of the text"
        return {"text": text, "pseudo_log_likelihood": sum(found), "tokens": tokens, "measure": said}

    # Vectors

    def vectors(self, texts: list[str], encode: Callable[[Batch], Tensor] | None = None) -> np.ndarray:
        """Of windows, each token counts once and the marks do not."""
        if self.vector_part != "window":
            return super().vectors(texts, encode)
        return np.stack([found.mean(0) for _, found in self.token_vectors(texts, encode)]) if texts else np.zeros((0, 0), np.float32)

    @torch.no_grad()
    def token_vectors(self, texts: list[str], encode: Callable[[Batch], Tensor] | None = None) -> Iterator[tuple[list[str], np.ndarray]]:
        """Of a longer text than can be read at once, windows or the part that `long_text` says."""
        room, cut = self.max_tokens, 0
        for text in texts:
            ids = np.array(self.ids_of(text))
            if len(ids) > room and self.long_text != "window":
                cut += 1
                ids = ids[kept_positions(len(ids), room, self.long_text)]
            pieces = zip(window_spans(len(ids), room), owned_spans(len(ids), room), strict=True)
            found = [self.row_of(ids[start:stop], encode)[a - start : b - start] for (start, stop), (a, b) in pieces]
            yield [self.tokenizer.token(int(i)) for i in ids], np.concatenate(found)
        if cut:
            say(f"{cut} of {len(texts)} texts have more than {room} tokens; of those the {self.long_text} was read")

    def row_of(self, ids: np.ndarray, encode: Callable[[Batch], Tensor] | None) -> np.ndarray:
        """The vectors (T, D) of a row, without those of [CLS] and [SEP]."""
        row = torch.from_numpy(np.concatenate([[self.tokenizer.begin], ids, [self.tokenizer.end]]))[None]
        return (encode or self.model.encode)(Batch(row, torch.ones_like(row, dtype=torch.bool)))[0, 1:-1].float().numpy()

    # What all of them need

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that fit between [CLS] and [SEP]."""
        return self.model.config.context - 2

    def ids_of(self, text: str) -> list[int]:
        ids = self.tokenizer.encode(text)
        if not ids:
            raise BadInput(f"there are no tokens in {preview(text)}; give a text with words")
        return ids

    def note_truncation(self, length: int, room: int, what: str) -> str:
        said = f"{length} tokens are more than the {room} that fit; {what} was read"
        say(said)
        return said

    def corpus_statistics(self) -> dict[str, Any]:
        return {"pieces": self.pieces}

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        task = super().open(folder, described)
        task.pieces = described.get("pieces") or task.pieces
        return task


def piece_count_shares(ids: np.ndarray, tokenizer: Tokenizer) -> list[float]:
    """The share of words that are cut into one token, two, three, of the words that are."""
    counts = np.zeros(MAX_PIECES)
    for sentence in np.split(np.asarray(ids), np.flatnonzero(is_sentence_end(ids))):
        inside = sentence[~is_sentence_end(sentence)].astype(np.int64)
        sizes = np.diff(np.flatnonzero(np.append(tokenizer.word_starts(inside), True)))
        counts += np.bincount(sizes[sizes <= MAX_PIECES], minlength=MAX_PIECES + 1)[1:]
    return [round(float(count), 4) for count in counts / max(counts.sum(), 1)]
