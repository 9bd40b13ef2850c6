"""FindSpan: where in a passage a question is answered.

Devlin et al. 2018, section 4.2 and 4.3: two linear classifiers, for the first and for the last token of the answer.

    P(first = i) = softmax over the passage of s h_i          P(last = j) = softmax over the passage of e h_j
    the answer   = the i <= j with the largest s h_i + e h_j;  none, if that of [CLS] is larger

A passage that does not fit is read in windows, which overlap; where the answer is not in a window, [CLS] is what is asked for. Encoders that do not
look from the question to the passage are told of each token how it matches the question (Chen et al. 2017, "DrQA"): whether it stands there, and
how near its vector is to the question's mean.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, cross_entropy

from stairs.errors import BadInput, preview
from stairs.tasks.metrics import answer_metrics
from stairs.tasks.parts.fine_tuning import LinearHead
from stairs.tasks.parts.rows import EncodedInput
from stairs.tasks.parts.supervised import Supervised
from stairs.text.batch import Batch
from stairs.text.examples import Question

MAX_ANSWER_TOKENS = 30  # tokens of an answer
CANDIDATES = 20  # candidates for the first and the last token
OVERLAP = 128  # tokens that two windows share, if a window has twice as many
QUESTION_SHARE = 0.25  # of the room, at most


class FindSpan(Supervised):
    """Two numbers for each token."""

    name = "find-span"
    example_kind = "span"

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        if not any(example.answers for example in examples):
            raise BadInput(f"{examples[0].where}: none of the {len(examples)} questions has an answer; there is nothing to learn")
        return {"may_be_unanswered": any(not example.answers for example in examples)}

    def new_head(self) -> nn.Module:
        return LinearHead(self.width if self.model.takes_pairs else 2 * self.width + 2, 2, self.transfer)

    def rows(self, examples: Sequence[Question]) -> list[EncodedInput]:
        found = []
        for number, example in enumerate(examples):
            question = self.tokenizer.encode(example.question)
            passage = self.tokenizer.encode_with_offsets(example.passage)
            if not question or not passage.ids:
                empty = preview(example.passage if question else example.question)
                raise BadInput(f"{example.where}: there are no tokens in {empty}; give words")
            if self.tokenizer.preprocess(example.passage) != example.passage:
                lost = f"{self.model_name} cuts Chinese into words by adding spaces, so places in a passage are lost"
                raise BadInput(f"{lost}; train it with --chinese characters")
            found += self.window_rows(number, example, question, passage.ids, passage.offsets)
        return found

    def window_rows(self, number: int, example: Question, question: list[int], ids: list[int], offsets: list[tuple[int, int]]) -> list[EncodedInput]:
        room = self.max_tokens or len(question) + len(ids) + 3
        question = question[: max(int((room - 3) * QUESTION_SHARE), 1)] if len(question) + len(ids) + 3 > room else question
        size = room - 3 - len(question)
        step = max(size - min(OVERLAP, size // 2), 1)
        starts = range(0, len(ids) - size + step, step) if len(ids) > size else [0]
        found = []
        for start in starts:
            part = ids[start : start + size]
            row = self.input_format.encode_pair(question, part, number)
            first = len(question) + 2  # where the passage begins in the row
            row.metadata = {"first": first, "offsets": offsets[start : start + size], "question": question}
            row.target = target_span(example, row.metadata["offsets"], first)
            found.append(row)
        return found

    def combine(self, hidden: Tensor, batch: Batch) -> Tensor:
        if self.model.takes_pairs:
            return hidden
        assert batch.segments is not None
        asked = (batch.segments == 0) & batch.real & ~torch.isin(batch.ids, torch.tensor(sorted(self.tokenizer.special_ids)))
        mean = (hidden * asked[..., None]).sum(1, keepdim=True) / asked.sum(1)[:, None, None].clamp(min=1)
        there = ((batch.ids[:, :, None] == batch.ids[:, None, :]) & asked[:, None, :]).any(-1) & (batch.segments == 1)
        near = cosine_similarity(hidden, mean.expand_as(hidden), dim=-1)
        return torch.cat([hidden, hidden * mean, there[..., None].to(hidden.dtype), near[..., None]], -1)

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        return {"targets": torch.tensor([row.target for row in rows])}  # (B, 2): the first and the last token

    def summed_loss(self, said: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.targets is not None and batch.segments is not None
        inside = ((batch.segments == 1) & batch.real).index_fill(1, torch.zeros(1, dtype=torch.int64, device=said.device), True)
        scores = said.masked_fill(~inside[..., None], torch.finfo(said.dtype).min)
        both = [cross_entropy(scores[..., side], batch.targets[:, side], reduction="sum") for side in (0, 1)]
        return (both[0] + both[1]) / 2, len(batch.targets)

    def best_answers(self, examples: Sequence[Question], rows: list[EncodedInput], said: list[np.ndarray]) -> list[dict[str, Any]]:
        """The best answer to each question: its text, its place, and by how much it is likelier than no answer."""
        best: list[dict[str, Any]] = [{"answer": "", "start": 0, "end": 0, "score": -np.inf, "nothing": np.inf} for _ in examples]
        for row, own in zip(rows, said, strict=True):
            first, offsets = row.metadata["first"], row.metadata["offsets"]
            inside = own[first : first + len(offsets)]
            score, i, j = best_span(inside[:, 0], inside[:, 1])
            kept = best[row.example]
            kept["nothing"] = min(kept["nothing"], float(own[0].sum()))
            if score > kept["score"]:
                start, end = offsets[i][0], offsets[j][1]
                kept.update(answer=examples[row.example].passage[start:end], start=start, end=end, score=float(score))
        for kept in best:
            kept["margin"] = kept.pop("score") - kept.pop("nothing")
            if self.settings["may_be_unanswered"] and kept["margin"] < 0:
                kept.update(answer="", start=0, end=0)
        return best

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> dict[str, Any]:
        return answer_metrics([[text for _, text in example.answers] for example in examples], self.predictions(examples, rows, said))

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> list[Any]:
        return [kept["answer"] for kept in self.best_answers(examples, rows, said)]

    def answer(self, text: str, *arguments: Any, second: str | None = None, **options: Any) -> dict[str, Any]:
        """The question, and behind a tab or as `second` the passage."""
        question, _, after = text.partition("\t")
        passage = second if second is not None else after
        if not passage:
            raise BadInput("a question came without a passage; give the passage with --second, or after a tab")
        example = Question(question, passage, ())
        rows = self.rows([example])
        return {"question": question, **self.best_answers([example], rows, self.logits(rows))[0]}


def target_span(example: Question, offsets: list[tuple[int, int]], first: int) -> tuple[int, int]:
    """The places in the row of the first and last token of the answer; twice that of [CLS] if it is not in this window."""
    if not example.answers:
        return 0, 0
    start, text = example.answers[0]
    end = start + len(text)
    inside = [place for place, (a, b) in enumerate(offsets) if a < end and b > start]
    whole = inside and offsets[inside[0]][0] <= start and offsets[inside[-1]][1] >= end
    return (first + inside[0], first + inside[-1]) if whole else (0, 0)


def best_span(starts: np.ndarray, ends: np.ndarray) -> tuple[float, int, int]:
    """The best first and last token, among the likeliest of each."""
    best = (-np.inf, 0, 0)
    for i in np.argsort(-starts)[:CANDIDATES].tolist():
        reach = ends[i : i + MAX_ANSWER_TOKENS]
        j = int(reach.argmax())
        best = max(best, (float(starts[i] + reach[j]), i, i + j))
    return best
