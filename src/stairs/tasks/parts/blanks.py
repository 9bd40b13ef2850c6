"""Filling blanks: the words that fit each of them, ranked by their chances.

A word may be cut into several tokens, so a blank is tried as one [MASK], as two, as three:

    p(word) = p(it has n pieces) * p(first piece | n blanks) * p(second | the first, n - 1 blanks) * ...

where the first factor is the share of such words in the text the model learnt from. The pieces must make a word: one that begins and goes on, or
Chinese characters that jieba's dictionary knows as one.
"""

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import linear

from stairs.errors import BadInput, preview
from stairs.text.batch import Batch
from stairs.text.chinese import chinese_word_starts
from stairs.text.windows import kept_positions, window_around

if TYPE_CHECKING:
    from stairs.tasks.masked_token import MaskedToken

BLANK = re.compile(r"\[MASK\]|\[BLANK\]|_{3,}")  # a mark for people; it never reaches the tokenizer
MIN_BEAM = 8  # beginnings of a word that are followed up, at least


class FilledWord(NamedTuple):
    pieces: tuple[int, ...]
    score: float  # log of its chance


class BlankFiller:
    """One task's way to fill blanks."""

    def __init__(self, task: "MaskedToken", pieces: int) -> None:
        self.task, self.model, self.tokenizer = task, task.model, task.tokenizer
        self.pieces = min(pieces, len(task.pieces)) if self.tokenizer.spec.kind == "wordpiece" else 1
        ordinary = np.ones(self.tokenizer.vocab_size, bool)
        ordinary[sorted(self.tokenizer.special_ids)] = False
        self.first = torch.from_numpy(ordinary & ~self.tokenizer.continues_word)
        self.later = {True: torch.from_numpy(ordinary & self.tokenizer.is_han),
            False: torch.from_numpy(ordinary & self.tokenizer.continues_word)}

    def answer(self, text: str, top: int) -> dict[str, Any]:
        parts = BLANK.split(text)
        if len(parts) < 2:
            raise BadInput(f"there is no blank in {preview(text)}; mark one as ___ or [MASK]")
        row, said = self.row(parts)
        blanks = [self.rank_words(row, place, top) for place in self.blanks(row)]
        chosen = self.chosen(row, [found[0] for found in blanks])
        filled = "".join(part for pair in zip(parts, [*map(self.word_text, chosen), ""], strict=True) for part in pair)
        found = {"text": text, "filled": filled, "blanks": [{"words": list(map(self.word_answer, words))} for words in blanks]}
        return found if said is None else {**found, "truncation": said}

    def row(self, parts: list[str]) -> tuple[list[int], str | None]:
        """[CLS] the text with a [MASK] for each blank [SEP], cut to what can be read; and what was cut."""
        spaces_belong = self.tokenizer.spec.kind in ("byte-bpe", "unigram")  # to the word that follows
        ids: list[int] = []
        for number, part in enumerate(parts):
            ids += [self.tokenizer.mask] * (number > 0) + self.tokenizer.encode(part.rstrip() if spaces_belong and number + 1 < len(parts) else part)
        room, places, said = self.task.max_tokens, self.blanks(ids), None
        if len(ids) > room:
            rule = self.task.long_text
            taken = list(range(*window_around(places, len(ids), room))) if rule == "window" else kept_positions(len(ids), room, rule)
            lost = len(set(places) - set(taken))
            if lost:
                raise BadInput(f"the text has {len(ids)} tokens and {room} can be read, without {lost} of its blanks; give a shorter text")
            said = self.task.note_truncation(len(ids), room, "a window around the blanks" if rule == "window" else f"the {rule}")
            ids = [ids[place] for place in taken]
        return [self.tokenizer.begin, *ids, self.tokenizer.end], said

    def blanks(self, ids: list[int]) -> list[int]:
        return [place for place, i in enumerate(ids) if i == self.tokenizer.mask]

    def rank_words(self, row: list[int], place: int, top: int) -> list[FilledWord]:
        """The words for one blank, the others left open."""
        found: list[FilledWord] = []
        for count in range(1, self.pieces + 1):
            if self.task.pieces[count - 1] > 0 and len(row) + count - 1 <= self.task.max_tokens + 2:
                found += self.words_of_pieces([*row[:place], *[self.tokenizer.mask] * count, *row[place + 1 :]], place, count, top)
        return sorted(found, key=lambda word: -word.score)[:top]

    def words_of_pieces(self, row: list[int], place: int, count: int, top: int) -> list[FilledWord]:
        """The likeliest words of `format_tokens` pieces, piece by piece."""
        words = [FilledWord((), math.log(self.task.pieces[count - 1]))]
        for step in range(count):
            logits = self.log_probabilities([[*row[:place], *word.pieces, *row[place + step :]] for word in words], place + step)
            wanted = top if count == 1 else max(top, MIN_BEAM)
            following: list[FilledWord] = []
            for word, scores in zip(words, logits, strict=True):
                allowed = self.later[bool(self.tokenizer.is_han[word.pieces[0]])] if word.pieces else self.first
                best = scores.masked_fill(~allowed, -torch.inf).topk(min(wanted, len(scores)))
                pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
                following += [FilledWord((*word.pieces, i), word.score + score) for i, score in pairs if score > -math.inf]
            words = sorted(following, key=lambda word: -word.score)[:wanted]
        return [word for word in words if self.is_word(word.pieces)]

    def is_word(self, pieces: tuple[int, ...]) -> bool:
        if len(pieces) == 1 or not self.tokenizer.is_han[pieces[0]]:
            return True
        return len(chinese_word_starts("".join(self.tokenizer.token(i) for i in pieces))) == 1

    @torch.no_grad()
    def log_probabilities(self, rows: list[list[int]], place: int) -> torch.Tensor:
        """Of every token at one place of each row, (B, V)."""
        model: Any = self.model
        ids = torch.tensor(rows)
        # XLNet never looks at a blank, not even its own.
        looks = (ids != self.tokenizer.mask)[:, None].expand(-1, ids.shape[1], -1) if model.config.objective == "permutation" else None
        hidden = model.encode(Batch(ids, torch.ones_like(ids, dtype=torch.bool), attention_mask=looks))[:, place]
        return linear(model.required_word_head(hidden), model.tokens.weight, model.word_head.bias).float().log_softmax(-1)

    def chosen(self, row: list[int], best: list[FilledWord]) -> list[FilledWord]:
        """A word for every blank: the surest first, the others again in its light."""
        found: dict[int, FilledWord] = {}
        left = list(range(len(best)))
        while left:
            surest = max(left, key=lambda blank: best[blank].score)
            found[surest] = best[surest]
            place = self.blanks(row)[left.index(surest)]
            row = [*row[:place], *best[surest].pieces, *row[place + 1 :]]
            left.remove(surest)
            if left and len(row) <= self.task.max_tokens + 2:
                best = best[:]
                for blank, at in zip(left, self.blanks(row), strict=True):
                    best[blank] = self.rank_words(row, at, 1)[0]
        return [found[number] for number in range(len(found))]

    def word_text(self, word: FilledWord) -> str:
        return self.tokenizer.decode(list(word.pieces)).strip()

    def word_answer(self, word: FilledWord) -> dict[str, Any]:
        return {"word": self.word_text(word), "probability": math.exp(word.score), "pieces": len(word.pieces)}
