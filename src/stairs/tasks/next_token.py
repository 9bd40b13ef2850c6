"""NextToken: what comes next? Continuing a text, the probability of a sentence, and bits per character of held-out text."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import numpy as np
import torch

from stairs.data import TrainingData
from stairs.fast.corpus_slice import token_counts
from stairs.fast.decode_state import DecodeState
from stairs.session import python_verb
from stairs.tasks.answers import Answer, ContinuationAnswer, NextTokenEntry, TokenBits
from stairs.tasks.measurements import Measurements
from stairs.tasks.parts.decoding import generate, prefill
from stairs.tasks.parts.generative import Generative
from stairs.tasks.parts.labelled_splits import text_data
from stairs.tasks.parts.stream import (
    StreamExamples,
    TextStatistics,
    bits_of_rows,
    encode_documents,
    language_model_metrics,
    memory_length,
    row_length,
)
from stairs.tasks.task import TrainingExamples
from stairs.text.batch import Batch, TrainingRows, next_token_batch
from stairs.text.shards import is_sentence_end

POSITIONS = 1 << 18  # of sentences that are sorted by length together
SENTENCES_PER_BATCH = 512


class NextToken(Generative):
    """Left to right, one token at a time."""

    name = "next-token"
    monitor = "bits_per_character"
    predicts_next = True

    def answer(
        self, text: str, *, length: int = 20, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0, top: int = 10
    ) -> ContinuationAnswer:
        """A continuation, and the most probable next tokens; with the order of the n-gram behind each, for models with n-grams."""
        tokenizer = self.tokenizer
        prompt, _ = tokenizer.with_special_ids(tokenizer.encode(text))
        output_ids = generate(
            self.inference_model, prompt, length=length, stop=tokenizer.end, suppressed_ids=tokenizer.suppressed_ids,
            temperature=temperature, top_k=top_k, top_p=top_p, seed=seed, initial_state=self.initial_state,
        )  # fmt: skip
        continuation = tokenizer.decode([*prompt, *output_ids])
        return {"text": text, "continuation": continuation, "new": tokenizer.decode(output_ids), "next": self.next_tokens(prompt, top)}

    def summary(self, answer: Answer) -> str:
        return str(answer["continuation"])

    def next_tokens(self, prompt: list[int], top: int) -> list[NextTokenEntry]:
        """The most probable tokens after a prompt; ties as in a continuation."""
        logits, state = prefill(self.inference_model, prompt, self.initial_state([0]))
        orders = self.model.matched_order(state)
        probabilities, ids = logits.log_softmax(-1).exp().sort(descending=True, stable=True)
        entries: list[NextTokenEntry] = []
        for probability, i in zip(probabilities[:top].tolist(), ids[:top].tolist(), strict=True):
            entry: NextTokenEntry = {"token": self.tokenizer.token(i), "probability": probability}
            if orders is not None:
                entry["order"] = int(orders[i])
            entries.append(entry)
        return entries

    @python_verb
    def log_probability(self, text: str) -> float:
        return float(self.model.log_likelihood(self.batch([self.tokenizer.encode(text)])).sum())

    def token_bits(self, text: str) -> list[TokenBits]:
        """The negative log-likelihood of each token of a text, in bits; the last token is the end of the sentence."""
        ids = self.tokenizer.encode(text)
        log_likelihood = self.model.log_likelihood(self.batch([ids]))[0]
        tokens = [*(self.tokenizer.token(i) for i in ids), self.tokenizer.token(self.tokenizer.end)]
        return [{"token": token, "bits": -float(value) / math.log(2)} for token, value in zip(tokens, log_likelihood, strict=True)]

    def examples(self, data: TrainingData, split: str = "train") -> TrainingRows:
        return StreamExamples(text_data(data), split, row_length(self.model), before=memory_length(self.model))

    def target_counts(self, examples: TrainingExamples) -> np.ndarray:
        """Where a document begins, the target is the end of the sentence before."""
        counts = token_counts(cast(StreamExamples, examples).ids, self.model.config.vocab_size)
        counts[self.tokenizer.end] += counts[self.tokenizer.begin]
        counts[self.tokenizer.begin] = 0
        return counts

    def sample(self, seed: int) -> str:
        """A sentence of its own."""
        tokenizer, suppressed_ids = self.tokenizer, self.tokenizer.suppressed_ids
        with torch.no_grad():
            output_ids = generate(
                self.model, [tokenizer.begin], length=20, stop=tokenizer.end, suppressed_ids=suppressed_ids, temperature=0.8, seed=seed,
                initial_state=self.initial_state,
            )  # fmt: skip
        return tokenizer.decode(output_ids)

    def initial_state(self, rows: list[int]) -> DecodeState | None:
        """The decoder's state before some prompts; None for models that need none."""
        return None

    def batch(self, rows: Sequence[Sequence[int] | np.ndarray]) -> Batch:
        return self.add_characters(next_token_batch(rows, self.tokenizer.begin, self.tokenizer.end, self.tokenizer.pad))

    def evaluate_split(self, data: TrainingData, split: str = "validation", limit: int | None = None) -> Measurements:
        shards = text_data(data)
        return self.evaluate_ids(shards.ids(split), TextStatistics.of_split(shards, split), limit, shards.info(split)["tokens"])

    def evaluate_texts(self, documents: Iterable[str]) -> Measurements:
        return self.evaluate_ids(*encode_documents(self.tokenizer, documents))

    def evaluate_ids(self, ids: np.ndarray, text: TextStatistics, limit: int | None = None, all_tokens: int | None = None) -> Measurements:
        """An n-gram reads each sentence by itself, other models the whole stream."""
        if self.model.learns_by == "gradient":
            bits, tokens = bits_of_rows(self.model, ids, limit, self.add_characters)
        else:
            bits, tokens = self.bits_of_sentences(ids)
        return language_model_metrics(bits, tokens, text, all_tokens)

    def bits_of_sentences(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bits and tokens of each sentence."""
        bits, tokens = [], []
        for group in sentence_batches(sentences_in(ids)):
            bits.append(-self.model.log_likelihood(self.batch(group)).sum(1).numpy() / math.log(2))
            tokens.append(np.array([len(row) + 1 for row in group]))
        return np.concatenate(bits), np.concatenate(tokens)


def sentences_in(ids: np.ndarray) -> Iterator[np.ndarray]:
    """The sentences of a stream, each without its end."""
    start = 0
    for stop in np.flatnonzero(is_sentence_end(ids)).tolist():
        yield ids[start:stop]
        start = stop + 1


def sentence_batches(sentences: Iterable[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """Batches of sentences of about the same length, so that little is padding."""
    pending: list[np.ndarray] = []
    positions = 0
    for sentence in sentences:
        pending.append(sentence)
        positions += len(sentence) + 1
        if positions >= POSITIONS:
            yield from sorted_batches(pending)
            pending, positions = [], 0
    if pending:
        yield from sorted_batches(pending)


def sorted_batches(sentences: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    sentences.sort(key=len)
    for start in range(0, len(sentences), SENTENCES_PER_BATCH):
        yield sentences[start : start + SENTENCES_PER_BATCH]
