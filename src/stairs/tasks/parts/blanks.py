"""Filling blanks: the words that fit each blank, ranked by probability.

A word may be cut into several tokens, so a blank is tried as one [MASK], as two, as three:

    p(word) = p(it has n pieces) * p(first piece | n blanks) * p(second | the first, n - 1 blanks) * ...

where the first factor is the share of such words in the training text. The pieces must make a word: one that starts a word and others that continue
it, or Chinese characters that jieba's dictionary has as one word.
"""

import math
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from stairs.errors import BadInput, preview
from stairs.tasks.answers import BlanksAnswer, BlankWord
from stairs.text.batch import Batch
from stairs.text.chinese import chinese_word_starts
from stairs.text.windows import LongTextRule, kept_positions, window_around

if TYPE_CHECKING:
    from stairs.tasks.masked_token import MaskedToken

BLANK = re.compile(r"\[MASK\]|\[BLANK\]|_{3,}")  # what people write; it never reaches the tokenizer
MAX_PIECES = 3  # of a word
MIN_BEAM = 8  # beginnings of a word of several pieces


class WordCandidate(NamedTuple):
    """A word for a blank, or its beginning."""

    pieces: tuple[int, ...]
    score: float  # log-probability


class BlankFiller:
    """Fills the blanks of one text after another."""

    def __init__(self, task: "MaskedToken", pieces: int, long_text: LongTextRule) -> None:
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
