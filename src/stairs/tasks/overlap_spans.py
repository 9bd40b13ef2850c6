"""OverlapSpans: the words of a passage that stand among most words of the question, by a dozen weights.

A log-linear model over the spans of a passage, as the baseline of Rajpurkar et al. 2016, "SQuAD", section 5, with features of words only:

    P(span | question, passage) = exp(w . features(span)) / sum over spans         spans: up to MAX_WORDS words, and runs of clauses of a sentence
    loss = -log(sum over spans of P(span) F1(span, answer))                        F1 by the characters that the two share

Features: how much of the question, weighted by how rare its words are in the passage, stands within NEAR and within FAR words of the span, in its
sentence and inside the span; how many of the question's words (in Chinese, characters) the sentence has; the length of the span; whether it is a run
of clauses or a sentence, begins or ends at punctuation and holds punctuation; digits and capitals, and whether the question asks for a number or a
name. No answer, where the training file has such questions, is one more span.

Departures: no parses; the weights are learnt from at most MAX_QUESTIONS questions, since there are so few weights.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np

from stairs.errors import BadInput
from stairs.tasks.answers import Answer, SpanAnswer
from stairs.tasks.config_file import TaskConfig
from stairs.tasks.from_examples import FromExamples, words_tokenizer
from stairs.tasks.span_metrics import normalize_answer
from stairs.text.examples import Question
from stairs.text.segmentation import Segmentation
from stairs.text.tokenizers.tokenizer import Tokenizer

MAX_WORDS, MAX_CLAUSES, NEAR, FAR = 12, 6, 4, 12
MAX_QUESTIONS = 400
PENALTY = 1e-3
NO_ANSWER = (0, 0)
WORDS = Segmentation(chinese="words")
CLAUSE_END = re.compile(r"[.!?。！？；;,，:：、]")
SENTENCE_END = re.compile(r"[.!?。！？；;]")
ASKS_NUMBER = re.compile(r"\b(how (many|much|old|long|far|tall)|when|year|date|percent\w*)\b|多少|几|何时|哪年|时候|时间|日期|比例", re.IGNORECASE)
ASKS_NAME = re.compile(r"\b(who|whom|whose|where|which|name)\b|谁|哪里|哪个|哪位|何人|何处|何地", re.IGNORECASE)


class Spans(NamedTuple):
    """All spans of a passage: code points (N, 2) and features (N, F)."""

    offsets: np.ndarray
    features: np.ndarray


class OverlapSpans(FromExamples):
    name = "find-span-overlap"
    model_name = "overlap"
    example_kind = "span"
    takes_pairs = True

    def __init__(self, tokenizer: Tokenizer, weight: np.ndarray, may_be_unanswered: bool) -> None:
        self.labels = []
        self.tokenizer, self.weight, self.may_be_unanswered = tokenizer, weight, may_be_unanswered

    @classmethod
    def train(cls, examples: Sequence[Question]) -> Self:
        if not any(example.answers for example in examples):
            raise BadInput(f"{examples[0].where}: none of the {len(examples)} questions has an answer; there is nothing to learn")
        may_be_unanswered = any(not example.answers for example in examples)
        rows, targets = [], []
        for example in examples[:: -(-len(examples) // MAX_QUESTIONS)]:
            spans = find_spans(example.question, example.passage)
            target = shared_characters(spans.offsets, example)
            if target[0 if may_be_unanswered else 1 :].any():
                rows.append(spans.features if may_be_unanswered else spans.features[1:])
                targets.append(target if may_be_unanswered else target[1:])
        return cls(words_tokenizer(examples), fit_weights(rows, targets), may_be_unanswered)

    def best(self, question: str, passage: str) -> tuple[tuple[int, int], float]:
        """The span with the largest score, and by how much it is above that of no answer."""
        spans = find_spans(question, passage)
        scores = spans.features @ self.weight
        place = int(scores[1:].argmax()) + 1 if len(scores) > 1 else 0
        margin = float(scores[place] - scores[0])
        if self.may_be_unanswered and margin < 0:
            place = 0
        return (int(spans.offsets[place, 0]), int(spans.offsets[place, 1])), margin

    def predict_examples(self, examples: Sequence[Question]) -> list[Any]:
        offsets = [self.best(example.question, example.passage)[0] for example in examples]
        return [example.passage[start:end] for example, (start, end) in zip(examples, offsets, strict=True)]

    def answer(self, text: str, *, second: str | None = None) -> SpanAnswer:
        """Of a question, and a passage that comes after a tab or as `second`."""
        question, _, after = text.partition("\t")
        passage = second if second is not None else after
        if not passage:
            raise BadInput("the question has no passage; give the passage with --second, or after a tab")
        (start, end), margin = self.best(question, passage)
        return {"question": question, "answer": passage[start:end], "start": start, "end": end, "margin": margin}

    def summary(self, answer: Answer) -> str:
        return str(answer["answer"])

    def describe(self) -> TaskConfig:
        return {**super().describe(), "settings": {"may_be_unanswered": self.may_be_unanswered}}

    def strings(self) -> dict[str, list[str]]:
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        return {"weight": self.weight}

    @classmethod
    def from_parts(cls, tokenizer: Tokenizer, described: TaskConfig, strings: Mapping[str, list[str]], arrays: Mapping[str, np.ndarray]) -> Self:
        settings = cast(Mapping[str, bool], described["settings"])
        return cls(tokenizer, arrays["weight"], settings["may_be_unanswered"])


def find_spans(question: str, passage: str) -> Spans:
    """All spans of a passage with their features; the first is no answer."""
    offsets = np.array(WORDS.without_spaces(passage, 0, len(passage)), np.int64).reshape(-1, 2)
    words = [passage[a:b] for a, b in offsets]
    count = len(words)
    lower = [word.lower() for word in words]
    asked = {question[a:b].lower() for a, b in WORDS.without_spaces(question, 0, len(question))}
    is_word = np.array([any(map(str.isalnum, word)) for word in words], bool)
    frequency = {word: lower.count(word) for word in set(lower) & asked}
    rarity = np.array([1 / frequency[word] if word in asked and is_word[place] else 0.0 for place, word in enumerate(lower)])
    sentence = np.cumsum([0, *(bool(SENTENCE_END.fullmatch(word)) for word in words)])[:count]
    in_sentence = np.bincount(sentence, rarity, minlength=1) if count else np.zeros(1)
    first, last = word_runs(sentence)
    clause_first, clause_last = clause_runs([bool(CLAUSE_END.fullmatch(word)) for word in words], sentence)
    is_clauses = np.arange(len(first) + len(clause_first)) >= len(first)
    first, last = np.concatenate([first, clause_first]), np.concatenate([last, clause_last])
    own_question = set(normalize_answer(question))  # Chinese by characters, since words are cut in different ways
    sentences = np.split(np.arange(count), np.flatnonzero(np.diff(sentence)) + 1)
    texts = [passage[offsets[own[0], 0] : offsets[own[-1], 1]] for own in sentences if len(own)]
    alike = np.array([len(own_question & set(normalize_answer(text))) for text in texts]) / max(len(own_question), 1)
    sentence_words = np.bincount(sentence, is_word, minlength=1)

    def total(values: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The sum from word a to word b, both included."""
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray(sums[np.minimum(b, count - 1) + 1] - sums[np.maximum(a, 0)])

    inside, length = total(rarity, first, last), last - first + 1
    is_sentence = is_clauses & (total(is_word, first, last) == sentence_words[sentence[first]])
    is_mark = (~is_word).astype(np.float64)
    padded = np.concatenate([[1.0], is_mark, [1.0]])  # beyond the passage is like punctuation
    digits = np.array([any(map(str.isdigit, word)) for word in words], np.float64)
    capitals = np.array([word[:1].isupper() for word in words], np.float64)
    number, name = bool(ASKS_NUMBER.search(question)), bool(ASKS_NAME.search(question))
    has_digit, has_capital = total(digits, first, last) > 0, total(capitals, first, last) / length
    near, far = (total(rarity, first - reach, last + reach) - inside for reach in (NEAR, FAR))
    columns = [
        near, far, in_sentence[sentence[first]] - inside, alike[sentence[first]], inside, inside > 0,
        np.log(length), length == 1, length, padded[first], padded[last + 2], total(is_mark, first, last) > 0, is_mark[first], is_mark[last],
        is_clauses, is_sentence, has_digit * number, has_digit * (not number), has_capital * name, has_capital * (not name),
    ]  # fmt: skip
    features = np.zeros((len(first) + 1, len(columns) + 1), np.float32)
    features[0, -1] = 1.0
    features[1:, :-1] = np.stack(columns, 1) if len(first) else 0.0
    return Spans(np.concatenate([[NO_ANSWER], np.stack([offsets[first, 0], offsets[last, 1]], 1)]).astype(np.int64), features)


def word_runs(sentence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last word of all runs of at most MAX_WORDS words within a sentence; `sentence` numbers that of each word."""
    count = len(sentence)
    first, more = (own.reshape(-1) for own in np.meshgrid(np.arange(count), np.arange(MAX_WORDS), indexing="ij"))
    last = first + more
    fits = last < count
    first, last = first[fits], last[fits]
    within = sentence[first] == sentence[last]
    return first[within], last[within]


def clause_runs(ends_clause: Sequence[bool], sentence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of all runs of whole clauses within a sentence, of at most MAX_CLAUSES, without the mark that ends them."""
    starts, stops = [], []
    start = 0
    for place, ends in enumerate([*ends_clause, True]):
        if ends and place > start:
            starts.append(start)
            stops.append(place - 1)
        start = place + 1 if ends else start
    runs = [(starts[a], stops[b]) for a in range(len(starts)) for b in range(a, min(a + MAX_CLAUSES, len(starts)))
            if sentence[starts[a]] == sentence[stops[b]]]  # fmt: skip
    return np.array([a for a, _ in runs], np.int64), np.array([b for _, b in runs], np.int64)


def shared_characters(offsets: np.ndarray, example: Question) -> np.ndarray:
    """F1 of each span with the best of the gold answers, by the offsets of their characters; 1 for no answer where there is none."""
    found = np.zeros(len(offsets))
    found[0] = not example.answers
    for start, text in example.answers:
        end = start + len(text)
        common = np.minimum(offsets[:, 1], end) - np.maximum(offsets[:, 0], start)
        f1 = 2 * np.maximum(common, 0) / np.maximum(offsets[:, 1] - offsets[:, 0] + len(text), 1)
        found[1:] = np.maximum(found, f1)[1:]
    return found


def fit_weights(rows: list[np.ndarray], targets: list[np.ndarray]) -> np.ndarray:
    """By L-BFGS, with a small penalty; `rows` has the features of the spans of each question, `targets` their F1."""
    from scipy.optimize import minimize

    def loss(weight: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = PENALTY * float(weight @ weight) / 2, PENALTY * weight
        for own, target in zip(rows, targets, strict=True):
            scores = own @ weight
            probabilities = np.exp(scores - scores.max())
            probabilities /= probabilities.sum()
            expected = max(float(probabilities @ target), 1e-30)
            value -= np.log(expected) / len(rows)
            gradient = gradient + (probabilities * (1 - target / expected)) @ own / len(rows)
        return value, gradient

    width = find_spans("", "").features.shape[1]
    found: np.ndarray = minimize(loss, np.zeros(width), jac=True, method="L-BFGS-B", options={"maxiter": 100}).x if rows else np.zeros(width)
    return found.astype(np.float32)
