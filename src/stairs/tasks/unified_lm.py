"""UnifiedLM: what UniLM is pretrained on, and what it answers (Dong et al. 2019): it fills blanks as a BERT does, and continues a text without one.

    from left to right       [CLS] text [MASK]               the next token at the [MASK], then that of the one behind it
    after a source           [CLS] source [SEP] [MASK]       the same, where the source is read in both directions first

A run that was trained on pairs, such as texts and their summaries (`parts/source_target_rows.py`), answers with what follows a source.

The probability of a text is the product of those of its tokens, each at a [MASK] that attends to the tokens before it. All are computed at once: the
[MASK] tokens stand behind the text, with the positions of the tokens that they predict, and no other token attends to them.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Self, cast

import numpy as np
import torch

from stairs.data import TrainingData
from stairs.errors import BadInput, preview
from stairs.fast.corpus_slice import token_counts
from stairs.fast.decode_state import DecodeState
from stairs.fast.masked_decoder import LEFT_TO_RIGHT, empty_state
from stairs.layers.masks import causal
from stairs.models.bert import UniLM
from stairs.session import python_verb
from stairs.tasks.answers import Answer, ContinuationAnswer, NextTokenEntry, TokenBits
from stairs.tasks.config_file import Settings, TaskConfig
from stairs.tasks.masked_token import MaskedToken
from stairs.tasks.parts.blanks import BLANK, MAX_PIECES
from stairs.tasks.parts.decoding import generate, prefill
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.sentence_pairs import PretrainingRows
from stairs.tasks.parts.source_target_rows import SourceTargetRows
from stairs.tasks.task import TrainingExamples
from stairs.text.batch import IGNORE_INDEX, Batch, pad_rows
from stairs.text.examples import TranslationPair
from stairs.text.windows import LongTextRule


class UnifiedLM(MaskedToken):
    """Any word from those around it, or from those before it."""

    name = "unified-lm"
    generates = True
    predicts_next = True
    model: UniLM
    answers_sources = False  # it was trained on pairs, and answers with the second of one
    backwards = False  # from the second of a pair to the first

    def answer(
        self, text: str, *, top: int = 10, pieces: int = MAX_PIECES, second: str | None = None, likelihood: bool = False,
        long_text: LongTextRule | None = None, length: int = 20, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0,
        source: bool = False,
    ) -> Answer:  # fmt: skip
        """What fits the blanks of a text, or its continuation; with `source`, what follows the whole text as another part of the document."""
        if second is not None or likelihood or BLANK.search(text):
            return super().answer(text, top=top, pieces=pieces, second=second, likelihood=likelihood, long_text=long_text)
        tokenizer, source = self.tokenizer, source or self.answers_sources
        prompt, _ = tokenizer.with_special_ids(tokenizer.encode(text), adds_end_token=source)
        if source:
            length = min(length, self.output_limit(prompt, text))

        def initial_state(rows: list[int]) -> DecodeState:
            return empty_state(self.model, len(rows), expects_source=source)

        output_ids = generate(
            self.model, prompt, length=length, stop=tokenizer.end, suppressed_ids=tokenizer.suppressed_ids, temperature=temperature,
            top_k=top_k, top_p=top_p, seed=seed, initial_state=initial_state,
        )  # fmt: skip
        new = tokenizer.decode(output_ids)
        continuation = new if source else tokenizer.decode([*prompt, *output_ids])
        answer: ContinuationAnswer = {"text": text, "continuation": continuation, "new": new, "next": self.next_tokens(prompt, top, source)}
        return answer

    def output_limit(self, prompt: list[int], text: str) -> int:
        """Tokens that fit behind a source, with the [MASK]."""
        limit = self.model.config.context - len(prompt)
        if limit < 1:
            raise BadInput(f"{preview(text)} has {len(prompt)} tokens and the context has {self.model.config.context}; give a shorter text")
        return limit

    def summary(self, answer: Answer) -> str:
        return str(answer["continuation"]) if "continuation" in answer else super().summary(answer)

    def next_tokens(self, prompt: list[int], top: int, source: bool = False) -> list[NextTokenEntry]:
        """The most probable tokens after a prompt; ties as in a continuation."""
        logits, _ = prefill(self.model, prompt, empty_state(self.model, 1, expects_source=source))
        probabilities, ids = logits.log_softmax(-1).exp().sort(descending=True, stable=True)
        entries = zip(probabilities[:top].tolist(), ids[:top].tolist(), strict=True)
        return [{"token": self.tokenizer.token(i), "probability": probability} for probability, i in entries]

    # Pairs of a source and a target

    def examples(self, data: TrainingData, split: str = "train") -> PretrainingRows:
        if not isinstance(data, LabelledSplits):
            return super().examples(data, split)
        self.answers_sources = True
        return self.source_target_rows(data.train if split == "train" else data.split(split))

    def pairs_once(self, data: TrainingData, split: str) -> PretrainingRows:
        if not isinstance(data, LabelledSplits):
            return super().pairs_once(data, split)
        return self.source_target_rows(data.split(split))

    def source_target_rows(self, examples: Sequence[object]) -> SourceTargetRows:
        pairs = cast(Sequence[TranslationPair], examples)
        pairs = [TranslationPair(pair.target, pair.source, pair.where) for pair in pairs] if self.backwards else pairs
        return SourceTargetRows(pairs, self.model.config, self.tokenizer)

    def target_counts(self, examples: TrainingExamples) -> np.ndarray:
        if not isinstance(examples, SourceTargetRows):
            return super().target_counts(examples)
        counts = token_counts(examples.target_ids, self.model.config.vocab_size)
        counts[self.tokenizer.end] = len(examples.pairs)
        return counts

    def corpus_statistics(self) -> Settings:
        return {**super().corpus_statistics(), "answers_sources": self.answers_sources}

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        task = super().open(folder, described)
        task.answers_sources = bool(described.get("answers_sources"))
        return task

    # Probabilities from left to right

    @python_verb
    def log_probability(self, text: str) -> float:
        return float(self.model.log_likelihood(self.batch([self.tokenizer.encode(text)])).sum())

    def token_bits(self, text: str) -> list[TokenBits]:
        """The negative log-likelihood of each token of a text, in bits; the last token is the end of the text."""
        ids = self.tokenizer.encode(text)
        scores = self.model.log_likelihood(self.batch([ids]))[0, -len(ids) - 1 :]
        names = [self.tokenizer.token(i) for i in (*ids, self.tokenizer.end)]
        return [{"token": name, "bits": -float(score) / math.log(2)} for name, score in zip(names, scores, strict=True)]

    def batch(self, rows: Sequence[Sequence[int]]) -> Batch:
        """[CLS] and the tokens of each row, then a [MASK] for each of them and for the end, which is what they predict from the left."""
        ids, targets, positions, lengths = [], [], [], [len(row) + 1 for row in rows]
        for row, length in zip(rows, lengths, strict=True):
            self.model.check_length(length + 1)
            ids.append([self.tokenizer.begin, *row, *[self.tokenizer.mask] * length])
            targets.append([*[IGNORE_INDEX] * length, *row, self.tokenizer.end])
            positions.append([*range(length), *range(1, length + 1)])
        padded, real = pad_rows(ids, self.tokenizer.pad)
        mask = torch.zeros(len(rows), padded.shape[1], padded.shape[1], dtype=torch.bool)
        for own, length in zip(mask, lengths, strict=True):
            own[:length, :length] = own[length : 2 * length, :length] = causal(length)
            own[length : 2 * length, length : 2 * length] = torch.eye(length, dtype=torch.bool)
        segments = torch.full_like(padded, LEFT_TO_RIGHT)
        return Batch(
            padded, real, pad_rows(targets, IGNORE_INDEX)[0], segments, position_ids=pad_rows(positions, 0)[0], attention_mask=mask
        )
