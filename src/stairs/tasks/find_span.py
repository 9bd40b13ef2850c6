"""FindSpan: where in a passage a question is answered.

Devlin et al. 2018, sections 4.2 and 4.3: two linear classifiers, for the first and for the last token of the answer.

    P(first = i) = softmax over the passage of s h_i          P(last = j) = softmax over the passage of e h_j
    the answer   = the i <= j with the largest s h_i + e h_j;  none, if that of [CLS] is larger

A passage that does not fit is read in overlapping windows; where a window does not hold the answer, [CLS] is the target. For encoders that do not
attend from the question to the passage, the head also reads how each token matches the question (Chen et al. 2017, "DrQA"): whether the token occurs
in it, and the cosine of its vector and the question's mean.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, cross_entropy

from stairs.errors import BadInput, no_tokens
from stairs.tasks.answers import Answer, SpanAnswer
from stairs.tasks.measurements import Measurements
from stairs.tasks.parts.encoder_features import EncodedInput
from stairs.tasks.parts.layer_mix import LinearHead
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.span_metrics import answer_metrics
from stairs.text.batch import Batch
from stairs.text.examples import Question

MAX_ANSWER_TOKENS = 30
CANDIDATES = 20  # for the first token
OVERLAP = 128  # tokens that two windows share, if a window has twice as many
QUESTION_SHARE = 0.25  # of a row, at most, where question and passage do not fit

Offsets = list[tuple[int, int]]  # of each token in the passage, in code points


class ScoredSpan(TypedDict):
    answer: str
    start: int
    end: int
    score: float
    no_answer: float  # the score of [CLS], the lowest of all windows


class FindSpan(Supervised):
    """Two logits for each token."""

    name = "find-span"
    example_kind = "span"
    takes_pairs = True

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        if not any(example.answers for example in examples):
            raise BadInput(f"{examples[0].where}: none of the {len(examples)} questions has an answer; there is nothing to learn")
        return {"may_be_unanswered": any(not example.answers for example in examples)}

    def new_head(self) -> nn.Module:
        return LinearHead(self.width if self.model.takes_pairs else 2 * self.width + 2, 2, self.transfer)

    def rows(self, examples: Sequence[Any]) -> list[EncodedInput]:
        rows = []
        for number, example in enumerate(examples):
            question = self.tokenizer.encode(example.question)
            passage = self.tokenizer.encode_with_offsets(example.passage)
            if not question or not passage.ids:
                raise no_tokens(example.passage if question else example.question, example.where)
            if self.tokenizer.preprocess(example.passage) != example.passage:
                reason = f"{self.model_name} cuts Chinese into words by adding spaces, so places in a passage are lost"
                raise BadInput(f"{reason}; train it with --chinese characters")
            rows += self.window_rows(number, example, question, passage.ids, passage.offsets)
        return rows

    def window_rows(self, number: int, example: Question, question: list[int], ids: list[int], offsets: Offsets) -> list[EncodedInput]:
        """One row for each window of the passage."""
        limit = self.max_tokens or len(question) + len(ids) + 3
        question = question[: max(int((limit - 3) * QUESTION_SHARE), 1)] if len(question) + len(ids) + 3 > limit else question
        size = limit - 3 - len(question)
        stride = max(size - min(OVERLAP, size // 2), 1)
        starts = range(0, len(ids) - size + stride, stride) if len(ids) > size else [0]
        rows = []
        for start in starts:
            row = self.input_format.encode_pair(question, ids[start : start + size], number)
            first = len(question) + 2  # where the passage begins in the row
            row.metadata = {"first": first, "offsets": offsets[start : start + size], "question": question}
            row.target = target_span(example, row.metadata["offsets"], first)
            rows.append(row)
        return rows

    def combine(self, hidden: Tensor, batch: Batch) -> Tensor:
        if self.model.takes_pairs:
            return hidden
        assert batch.segments is not None
        in_question = (batch.segments == 0) & batch.real & ~torch.isin(batch.ids, torch.tensor(sorted(self.tokenizer.special_ids)))
        question = (hidden * in_question[..., None]).sum(1, keepdim=True) / in_question.sum(1)[:, None, None].clamp(min=1)
        occurs = ((batch.ids[:, :, None] == batch.ids[:, None, :]) & in_question[:, None, :]).any(-1) & (batch.segments == 1)
        cosine = cosine_similarity(hidden, question.expand_as(hidden), dim=-1)
        return torch.cat([hidden, hidden * question, occurs[..., None].to(hidden.dtype), cosine[..., None]], -1)

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        return {"targets": torch.tensor([row.target for row in rows])}  # (B, 2): the first and the last token

    def summed_loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.targets is not None and batch.segments is not None
        is_allowed = ((batch.segments == 1) & batch.real).index_fill(1, torch.zeros(1, dtype=torch.int64, device=logits.device), True)
        scores = logits.masked_fill(~is_allowed[..., None], torch.finfo(logits.dtype).min)
        first, last = (cross_entropy(scores[..., side], batch.targets[:, side], reduction="sum") for side in (0, 1))
        return (first + last) / 2, len(batch.targets)

    def best_answers(self, examples: Sequence[Question], rows: list[EncodedInput], logits: list[np.ndarray]) -> list[ScoredSpan]:
        """The best answer to each question in all of its windows."""
        best: list[ScoredSpan] = [{"answer": "", "start": 0, "end": 0, "score": -np.inf, "no_answer": np.inf} for _ in examples]
        for row, own in zip(rows, logits, strict=True):
            first, offsets = row.metadata["first"], row.metadata["offsets"]
            inside = own[first : first + len(offsets)]
            score, i, j = best_span(inside[:, 0], inside[:, 1])
            answer = best[row.example]
            answer["no_answer"] = min(answer["no_answer"], float(own[0].sum()))
            if score > answer["score"]:
                start, end = offsets[i][0], offsets[j][1]
                passage = examples[row.example].passage
                best[row.example] = {**answer, "answer": passage[start:end], "start": start, "end": end, "score": float(score)}
        if not self.settings["may_be_unanswered"]:
            return best
        return [{**own, "answer": "", "start": 0, "end": 0} if own["score"] < own["no_answer"] else own for own in best]

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        return answer_metrics([[text for _, text in example.answers] for example in examples], self.predictions(examples, rows, logits))

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> list[Any]:
        return [answer["answer"] for answer in self.best_answers(examples, rows, logits)]

    def answer(self, text: str, *, second: str | None = None) -> SpanAnswer:
        """Of a question, and a passage that comes after a tab or as `second`."""
        question, _, after = text.partition("\t")
        passage = second if second is not None else after
        if not passage:
            raise BadInput("the question has no passage; give the passage with --second, or after a tab")
        example = Question(question, passage, ())
        rows = self.rows([example])
        best = self.best_answers([example], rows, self.logits(rows))[0]
        margin = best["score"] - best["no_answer"]
        return {"question": question, "answer": best["answer"], "start": best["start"], "end": best["end"], "margin": margin}

    def summary(self, answer: Answer) -> str:
        return str(answer["answer"])


def target_span(example: Question, offsets: Offsets, first: int) -> tuple[int, int]:
    """The places of the first and the last token of the answer in the row; those of [CLS] if the answer is not in this window."""
    if not example.answers:
        return 0, 0
    start, text = example.answers[0]
    end = start + len(text)
    inside = [place for place, (a, b) in enumerate(offsets) if a < end and b > start]
    is_complete = inside and offsets[inside[0]][0] <= start and offsets[inside[-1]][1] >= end
    return (first + inside[0], first + inside[-1]) if is_complete else (0, 0)


def best_span(starts: np.ndarray, ends: np.ndarray) -> tuple[float, int, int]:
    """The score, the first and the last token of the best span, among the best first tokens."""
    best = (-np.inf, 0, 0)
    for i in np.argsort(-starts)[:CANDIDATES].tolist():
        reach = ends[i : i + MAX_ANSWER_TOKENS]
        j = int(reach.argmax())
        best = max(best, (float(starts[i] + reach[j]), i, i + j))
    return best
