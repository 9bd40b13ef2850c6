"""Filling blanks: the words that fit each blank, ranked by probability. What a task of masked words answers.

A word may be cut into several tokens, so a blank is tried as one [MASK], as two, as three:

    p(word) = p(it has n pieces) * p(first piece | n blanks) * p(second | the first, n - 1 blanks) * ...

where the first factor is the share of such words in the training text. The pieces must make a word: one that starts a word and others that continue
it, or Chinese characters that jieba's dictionary has as one word.
"""

import math
import re
from pathlib import Path
from typing import NamedTuple, Self, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from stairs.errors import BadInput, no_tokens, preview
from stairs.models.base import Model
from stairs.models.bert import BERT
from stairs.progress import say
from stairs.tasks.answers import Answer, BlanksAnswer, BlankWord, PseudoLikelihoodAnswer, SentencePairAnswer
from stairs.tasks.config_file import Settings, TaskConfig
from stairs.tasks.parts.masked_scoring import pseudo_log_likelihood, sentence_pair
from stairs.tasks.task import Task
from stairs.text.batch import Batch
from stairs.text.chinese import chinese_word_starts
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.windows import LongTextRule, kept_positions, window_around

BLANK = re.compile(r"\[MASK\]|\[BLANK\]|_{3,}")  # what people write; it never reaches the tokenizer
MAX_PIECES = 3  # of a word
MIN_BEAM = 8  # beginnings of a word of several pieces


class WordCandidate(NamedTuple):
    """A word for a blank, or its beginning."""

    pieces: tuple[int, ...]
    score: float  # log-probability


class BlankFilling(Task):
    """A task whose BERT predicts masked words: what it answers, and what it needs to know for that."""

    takes_pairs = True
    model: BERT
    long_text: LongTextRule = "window"  # what is read of a text that is longer than the model's context

    def __init__(self, model: Model, tokenizer: Tokenizer, pieces: list[float] | None = None) -> None:
        super().__init__(model, tokenizer)
        self.pieces = pieces or [1.0]  # the share of words of one piece, of two, of three

    def answer(
        self, text: str, *, top: int = 10, pieces: int = MAX_PIECES, second: str | None = None, likelihood: bool = False,
        long_text: LongTextRule | None = None,
    ) -> Answer:  # fmt: skip
        """The words that fit each blank of a text, ranked, and the text with its blanks filled; a blank is `[MASK]`, `[BLANK]` or `___`. With
        `second`, whether that text follows; with `likelihood`, how well each token fits."""
        if second is not None:
            return self.sentence_pair(text, second)
        if likelihood:
            return pseudo_log_likelihood(self, text)
        return BlankFiller(self, min(pieces, MAX_PIECES), long_text or self.long_text).answer(text, top)

    def summary(self, answer: Answer) -> str:
        if "verdict" in answer:
            return f"{answer['verdict']} (probability that it follows {answer['next_sentence_probability']:.1%})"
        if "pseudo_log_likelihood" in answer:
            tokens = " ".join(f"{token['token']} {token['log_probability']:.2f}" for token in cast(PseudoLikelihoodAnswer, answer)["tokens"])
            return f"pseudo-log-likelihood {answer['pseudo_log_likelihood']:.2f} nats: {tokens}"
        filling = cast(BlanksAnswer, answer)
        blanks = [", ".join(f"{word['word']} {word['probability']:.1%}" for word in blank["words"]) for blank in filling["blanks"]]
        return "\n  ".join([filling["filled"], *blanks])

    def sentence_pair(self, first: str, second: str) -> SentencePairAnswer:
        return sentence_pair(self, first, second)

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that fit between [CLS] and [SEP]."""
        return int(self.model.config.context) - 2

    def ids_of(self, text: str) -> list[int]:
        ids = self.tokenizer.encode(text)
        if not ids:
            raise no_tokens(text)
        return ids

    def note_truncation(self, length: int, limit: int, part: str) -> str:
        note = f"{length} tokens are more than the {limit} that fit; {part} was read"
        say(note)
        return note

    def corpus_statistics(self) -> Settings:
        return {"pieces": self.pieces}

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        task = super().open(folder, described)
        task.pieces = described.get("pieces") or task.pieces
        return task


class BlankFiller:
    """Fills the blanks of one text after another."""

    def __init__(self, task: "BlankFilling", pieces: int, long_text: LongTextRule) -> None:
        self.task, self.model, self.tokenizer, self.long_text = task, task.model, task.tokenizer, long_text
        self.pieces = min(pieces, len(task.pieces)) if self.tokenizer.spec.kind == "wordpiece" else 1
        ordinary = np.ones(self.tokenizer.vocab_size, bool)
        ordinary[sorted(self.tokenizer.special_ids)] = False
        self.starts_word = torch.from_numpy(ordinary & ~self.tokenizer.continues_word)
        self.continues_han = torch.from_numpy(ordinary & self.tokenizer.is_han)
        self.continues_word = torch.from_numpy(ordinary & self.tokenizer.continues_word)

    def answer(self, text: str, top: int) -> BlanksAnswer:
        parts = BLANK.split(text)
        if len(parts) < 2:
            raise BadInput(f"there is no blank in {preview(text)}; mark one as ___ or [MASK]")
        row, truncation = self.row(parts)
        ranked = [self.rank_words(row, place, top) for place in self.blanks(row)]
        words = self.choose_words(row, [candidates[0] for candidates in ranked])
        filled = "".join(part for pair in zip(parts, [*map(self.spelling, words), ""], strict=True) for part in pair)
        answer: BlanksAnswer = {"text": text, "filled": filled, "blanks": [{"words": list(map(self.blank_word, own))} for own in ranked]}
        if truncation is not None:
            answer["truncation"] = truncation
        return answer

    def row(self, parts: list[str]) -> tuple[list[int], str | None]:
        """[CLS] the text with a [MASK] for each blank [SEP], truncated to what fits; and a note of what was read."""
        spaces_belong_to_next = self.tokenizer.spec.kind in ("byte-bpe", "unigram")
        ids: list[int] = []
        for number, part in enumerate(parts):
            part = part.rstrip() if spaces_belong_to_next and number + 1 < len(parts) else part
            ids += [self.tokenizer.mask] * (number > 0) + self.tokenizer.encode(part)
        limit, blanks, truncation = self.task.max_tokens, self.blanks(ids), None
        if len(ids) > limit:
            is_window = self.long_text == "window"
            kept = list(range(*window_around(blanks, len(ids), limit))) if is_window else kept_positions(len(ids), limit, self.long_text)
            lost = len(set(blanks) - set(kept))
            if lost:
                raise BadInput(f"the text has {len(ids)} tokens and {limit} can be read, without {lost} of its blanks; give a shorter text")
            truncation = self.task.note_truncation(len(ids), limit, "a window around the blanks" if is_window else f"the {self.long_text}")
            ids = [ids[place] for place in kept]
        return [self.tokenizer.begin, *ids, self.tokenizer.end], truncation

    def blanks(self, ids: list[int]) -> list[int]:
        return [place for place, i in enumerate(ids) if i == self.tokenizer.mask]

    def rank_words(self, row: list[int], place: int, top: int) -> list[WordCandidate]:
        """The most probable words for one blank, while the others stay masked."""
        candidates: list[WordCandidate] = []
        for count in range(1, self.pieces + 1):
            if self.task.pieces[count - 1] > 0 and len(row) + count - 1 <= self.task.max_tokens + 2:
                candidates += self.words_of_pieces([*row[:place], *[self.tokenizer.mask] * count, *row[place + 1 :]], place, count, top)
        return sorted(candidates, key=lambda word: -word.score)[:top]

    def words_of_pieces(self, row: list[int], place: int, count: int, top: int) -> list[WordCandidate]:
        """The most probable words of `count` pieces, by a beam search over their pieces."""
        beam = [WordCandidate((), math.log(self.task.pieces[count - 1]))]
        size = top if count == 1 else max(top, MIN_BEAM)
        for step in range(count):
            log_probabilities = self.log_probabilities([[*row[:place], *word.pieces, *row[place + step :]] for word in beam], place + step)
            longer: list[WordCandidate] = []
            for word, scores in zip(beam, log_probabilities, strict=True):
                best = scores.masked_fill(~self.allowed_after(word.pieces), -torch.inf).topk(min(size, len(scores)))
                pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
                longer += [WordCandidate((*word.pieces, i), word.score + score) for i, score in pairs if score > -math.inf]
            beam = sorted(longer, key=lambda word: -word.score)[:size]
        return [word for word in beam if self.is_word(word.pieces)]

    def allowed_after(self, pieces: tuple[int, ...]) -> Tensor:
        """The ids that can come next in a word, (V,)."""
        if not pieces:
            return self.starts_word
        return self.continues_han if self.tokenizer.is_han[pieces[0]] else self.continues_word

    def is_word(self, pieces: tuple[int, ...]) -> bool:
        if len(pieces) == 1 or not self.tokenizer.is_han[pieces[0]]:
            return True
        return len(chinese_word_starts("".join(self.tokenizer.token(i) for i in pieces))) == 1

    @torch.no_grad()
    def log_probabilities(self, rows: list[list[int]], place: int) -> Tensor:
        """Of every token at one place of each row, (B, V)."""
        model = self.model
        ids = torch.tensor(rows)
        # A model trained by permutation, as XLNet is, never attends to a [MASK], not even to its own.
        attention_mask = (ids != self.tokenizer.mask)[:, None].expand(-1, ids.shape[1], -1) if model.config.objective == "permutation" else None
        hidden = model.encode(Batch(ids, torch.ones_like(ids, dtype=torch.bool), attention_mask=attention_mask))[:, place]
        word_head = model.required_word_head
        return linear(word_head(hidden), model.tokens.weight, word_head.bias).float().log_softmax(-1)

    def choose_words(self, row: list[int], best: list[WordCandidate]) -> list[WordCandidate]:
        """A word for every blank: the most probable one first; then the others are ranked again with it filled in."""
        chosen: dict[int, WordCandidate] = {}
        remaining = list(range(len(best)))
        while remaining:
            surest = max(remaining, key=lambda blank: best[blank].score)
            chosen[surest] = best[surest]
            place = self.blanks(row)[remaining.index(surest)]
            row = [*row[:place], *best[surest].pieces, *row[place + 1 :]]
            remaining.remove(surest)
            if remaining and len(row) <= self.task.max_tokens + 2:
                best = best[:]
                for blank, at in zip(remaining, self.blanks(row), strict=True):
                    best[blank] = self.rank_words(row, at, 1)[0]
        return [chosen[number] for number in range(len(chosen))]

    def spelling(self, word: WordCandidate) -> str:
        return self.tokenizer.decode(list(word.pieces)).strip()

    def blank_word(self, word: WordCandidate) -> BlankWord:
        return {"word": self.spelling(word), "probability": math.exp(word.score), "pieces": len(word.pieces)}
