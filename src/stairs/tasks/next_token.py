"""NextToken: what comes next? Continuing a text, scoring a sentence, and bits per character of held-out text."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

from stairs.fast.corpus_slice import token_counts
from stairs.fast.decode_state import DecodeState
from stairs.tasks.parts.decoding import generate, prefill
from stairs.tasks.parts.generative import Generative
from stairs.tasks.parts.stream import StreamExamples, bits_of_rows, encode_documents, language_model_metrics, row_length
from stairs.text.batch import Batch, next_token_batch
from stairs.text.shards import Shards, is_sentence_end

TOKENS_PER_BATCH = 1 << 18  # positions judged at once


class NextToken(Generative):
    """Left to right, one token at a time."""

    name = "next-token"
    monitor = "bits_per_character"  # what training makes smaller on held-out text

    def answer(
        self, text: str, *, length: int = 20, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0, top: int = 10
    ) -> dict[str, Any]:
        """The likeliest next tokens, each with the order that supplied it where the step has orders, and a continuation."""
        tokenizer = self.tokenizer
        prompt, _ = tokenizer.with_special_ids(tokenizer.encode(text))
        said = generate(
            self.inference_model, prompt, length=length, stop=tokenizer.end, suppressed_ids=tokenizer.suppressed_ids,
            temperature=temperature, top_k=top_k, top_p=top_p, seed=seed, initial_state=self.initial_state,
        )  # fmt: skip
        whole = tokenizer.decode([*prompt, *said])
        return {"text": text, "continuation": whole, "new": tokenizer.decode(said), "next": self.next_tokens(prompt, top)}

    def next_tokens(self, prompt: list[int], top: int) -> list[dict[str, Any]]:
        """The likeliest ids after a prompt, with the length of the n-gram that each chance rests on, where there is one."""
        logits, state = prefill(self.inference_model, prompt, self.initial_state([0]))
        orders = self.model.matched_order(state)
        probabilities, ids = (ranked[:top] for ranked in logits.log_softmax(-1).exp().sort(descending=True, stable=True))  # ties as in a continuation
        found = [{"token": self.tokenizer.token(i), "probability": probability} for probability, i in zip(probabilities.tolist(), ids.tolist(),
            strict=True)]
        return found if orders is None else [{**entry, "order": int(orders[i])} for entry, i in zip(found, ids.tolist(), strict=True)]

    def log_probability(self, text: str) -> float:
        return float(self.model.log_likelihood(self.batch([self.tokenizer.encode(text)])).sum())

    def token_bits(self, text: str) -> list[dict[str, Any]]:
        """How unexpected each token of a text was, in bits; the last is the end of the sentence."""
        ids = self.tokenizer.encode(text)
        scores = self.model.log_likelihood(self.batch([ids]))[0]
        names = [*(self.tokenizer.token(i) for i in ids), self.tokenizer.token(self.tokenizer.end)]
        return [{"token": token, "bits": -float(score) / math.log(2)} for token, score in zip(names, scores, strict=True)]

    def examples(self, shards: Shards, split: str = "train") -> StreamExamples:
        return StreamExamples(shards, split, row_length(self.model))

    def target_counts(self, examples: StreamExamples) -> np.ndarray:
        """Where a document begins, the end of the sentence before is asked for."""
        counts = token_counts(examples.ids, self.model.config.vocab_size)
        counts[self.tokenizer.end] += counts[self.tokenizer.begin]
        counts[self.tokenizer.begin] = 0
        return counts

    def sample(self, seed: int) -> str:
        """Something it says of its own accord."""
        tokenizer = self.tokenizer
        with torch.no_grad():
            said = generate(self.model, [tokenizer.begin], length=20, stop=tokenizer.end, suppressed_ids=tokenizer.suppressed_ids, temperature=0.8,
                seed=seed, initial_state=self.initial_state)
        return tokenizer.decode(said)

    def initial_state(self, rows: list[int]) -> DecodeState | None:
        """What decoding some prompts begins with, where the model needs to be told something."""
        return None

    def batch(self, rows: list) -> Batch:
        return self.add_characters(next_token_batch(rows, self.tokenizer.begin, self.tokenizer.end, self.tokenizer.pad))

    def evaluate_split(self, shards: Shards, split: str = "validation", limit: int | None = None) -> dict[str, Any]:
        """Quality on a split of the corpus it was trained on; with `most`, on about so many positions of it."""
        info = shards.info(split)
        known = {name: info[name] for name in ("characters", "spelling_bits", "spacing_bits", "unknown_words")}
        return self.evaluate_ids(shards.ids(split), limit=limit, all_tokens=info["tokens"], **known)

    def evaluate_texts(self, documents: Iterable[str]) -> dict[str, Any]:
        """Quality on any text."""
        found, characters = encode_documents(self.tokenizer, documents)
        known: dict[str, Any] = {"spelling_bits": found.spelling_bits, "spacing_bits": found.spacing_bits, "unknown_words": found.unknown_words}
        return self.evaluate_ids(found.ids, characters=characters, **known)

    def evaluate_ids(self, ids: np.ndarray, limit: int | None = None, **known: Any) -> dict[str, Any]:
        """A model that counts judges each sentence by itself, others read on."""
        if self.model.learns_by == "gradient":
            return language_model_metrics(*bits_of_rows(self.model, ids, limit, self.add_characters), **known)
        return language_model_metrics(*self.bits_of_sentences(ids), **known)

    def bits_of_sentences(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bits and tokens of each sentence."""
        bits, tokens = [], []
        for group in batches_of_sentences(sentences_in(ids)):
            scores = self.model.log_likelihood(self.batch(group))
            bits.append(-scores.sum(1).numpy() / math.log(2))
            tokens.append(np.array([len(row) + 1 for row in group]))
        return np.concatenate(bits), np.concatenate(tokens)


def sentences_in(ids: np.ndarray) -> Iterator[np.ndarray]:
    """The sentences of a stream, without what closes each."""
    start = 0
    for stop in np.flatnonzero(is_sentence_end(ids)).tolist():
        yield ids[start:stop]
        start = stop + 1


def batches_of_sentences(rows: Iterable) -> Iterator[list]:
    """Rows in groups of about the same number of positions, longest beside longest, so that little is padding."""
    waiting: list = []
    positions = 0
    for row in rows:
        waiting.append(row)
        positions += len(row) + 1
        if positions >= TOKENS_PER_BATCH:
            yield from batches_by_length(waiting)
            waiting, positions = [], 0
    if waiting:
        yield from batches_by_length(waiting)


def batches_by_length(rows: list) -> Iterator[list]:
    rows.sort(key=len)
    for start in range(0, len(rows), 512):
        yield rows[start : start + 512]
