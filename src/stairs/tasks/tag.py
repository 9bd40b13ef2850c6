"""Tag: a tag for every word of a sentence.

    P(tag | word in its sentence) = softmax(W h + b),   h the vector of the word's first piece (of its last, for a GPT, which only then has read it)

The tags of a sentence are the likeliest that fit together: I-PER stands only behind B-PER or I-PER (found as Viterbi 1967 does). Encoders that know a
word alone see its two neighbours on either side as well (Collobert et al. 2011).
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from stairs.errors import BadInput
from stairs.tasks.metrics import tag_metrics
from stairs.tasks.parts.fine_tuning import LinearHead
from stairs.tasks.parts.rows import EncodedInput
from stairs.tasks.parts.supervised import Supervised
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.examples import TaggedSentence
from stairs.text.segmentation import Segmentation
from stairs.text.windows import owned_spans, window_spans

RADIUS = 2  # neighbours on either side, for encoders that know a word alone
FORBIDDEN = -1e4


class Tag(Supervised):
    """Token vectors, then a linear layer at the piece that stands for each word."""

    name = "tag"
    example_kind = "tag"

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        labels = sorted({tag for example in examples for tag in example.tags})
        if len(labels) < 2:
            raise BadInput(f"{examples[0].where}: every word has the tag {labels[0]!r}; at least two are needed")
        return {"labels": labels, "segmentation": asdict(Segmentation.from_sentences(example.words for example in examples))}

    @property
    def labels(self) -> list[str]:
        return self.settings["labels"]

    @property
    def reads_context(self) -> bool:
        return self.model.reads_context or self.transfer.insert != "head"

    def new_head(self) -> nn.Module:
        neighbours = 1 if self.reads_context else 2 * RADIUS + 1
        return LinearHead(self.width * neighbours, len(self.labels), self.transfer)

    def rows(self, examples: Sequence[TaggedSentence]) -> list[EncodedInput]:
        """One row for each sentence, or for each window of a sentence that is too long; `token_offsets` of the words it tells the tags of."""
        known = {label: number for number, label in enumerate(self.labels)}
        found = []
        for number, example in enumerate(examples):
            strange = next((tag for tag in example.tags if tag not in known), None)
            if strange is not None:
                had = ", ".join(self.labels[:8])
                raise BadInput(f"{example.where}: the tag {strange!r} was not in the training file, which had {had}; correct it")
            pieces = self.pieces(example.words)
            for words, (start, stop) in self.parts([len(piece) for piece in pieces]):
                ids = [i for piece in pieces[start:stop] for i in piece]
                ends = np.cumsum([0, *(len(piece) for piece in pieces[start:stop])])
                stands = ends[1:] if self.model.default_pooling == "last" else ends[:-1] + 1  # counted from [CLS]
                row = self.input_format.encode_one(ids, number)
                row.metadata = {"words": words, "places": [int(stands[word - start]) for word in words]}
                row.target = [known[example.tags[word]] for word in words] if example.tags else None
                found.append(row)
        return found

    def pieces(self, words: Sequence[str]) -> list[list[int]]:
        """The ids of each word; one of which nothing is left is unknown."""
        spaced = [f" {word}" if number and self.tokenizer.spec.kind == "byte-bpe" else word for number, word in enumerate(words)]
        return [ids or [self.tokenizer.unknown] for ids in self.tokenizer.encode_batch(spaced)]

    def parts(self, sizes: list[int]) -> list[tuple[range, tuple[int, int]]]:
        """The words each row tells of, and from where to where it reads."""
        room = self.max_tokens
        if room is None or sum(sizes) <= room - 2:
            return [(range(len(sizes)), (0, len(sizes)))]
        most = max(1, (room - 2) // max(sizes))  # words that fit in any case
        pairs = zip(window_spans(len(sizes), most), owned_spans(len(sizes), most), strict=True)
        return [(range(*own), window) for window, own in pairs]

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        if self.reads_context:
            return hidden
        inside = hidden * batch.real[..., None]
        moved = [pad(inside, (0, 0, RADIUS, RADIUS))[:, step : step + hidden.shape[1]] for step in range(2 * RADIUS + 1)]
        return torch.cat(moved, -1)

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        found = np.full((len(rows), length), IGNORE_INDEX, np.int64)
        for place, row in zip(found, rows, strict=True):
            place[row.metadata["places"]] = row.target
        return {"targets": torch.from_numpy(found)}

    def summed_loss(self, said: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.targets is not None
        asked = batch.targets != IGNORE_INDEX
        return cross_entropy(said[asked], batch.targets[asked], reduction="sum"), int(asked.sum())

    def tags(self, count: int, rows: list[EncodedInput], said: list[np.ndarray]) -> list[list[str]]:
        """The tags of each of `format_tokens` sentences."""
        scores: list[list[np.ndarray]] = [[] for _ in range(count)]
        for row, own in zip(rows, said, strict=True):
            scores[row.example] += list(own[row.metadata["places"]])
        return [[self.labels[i] for i in viterbi(np.stack(own), self.follows)] if own else [] for own in scores]

    @property
    def follows(self) -> np.ndarray:
        """What it costs that a tag (column) follows another (row); the last row is the begin of the sentence."""
        return transitions(self.labels)

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> dict[str, Any]:
        return tag_metrics([list(example.tags) for example in examples], self.predictions(examples, rows, said))

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> list[Any]:
        return self.tags(len(examples), rows, said)

    def answer(self, text: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        """The words of a text with their tags, and for tags such as B-PER the spans they make, with their places in code points.

        `words_from` says what was taken for a word: those given, with marks parted from them, characters, or a dictionary's words."""
        words, places, source = Segmentation(**self.settings.get("segmentation", {})).segment(text)
        if not words:
            raise BadInput("there are no words in the text; give a text with words")
        rows = self.rows([TaggedSentence(tuple(words), ())])
        tags = self.tags(1, rows, self.logits(rows))[0]
        found: dict[str, Any] = {"text": text, "words": words, "tags": tags, "segmentation": source}
        if any(tag.startswith("B-") for tag in self.labels):
            found["spans"] = [
                {"label": label, "text": text[places[a][0] : places[b - 1][1]], "start": places[a][0], "end": places[b - 1][1]}
                for label, a, b in spans(tags)
            ]
        return found


def transitions(labels: list[str]) -> np.ndarray:
    """0 where one tag may follow another, NEVER where not. Only tags of the kind I-X depend on what stands before them."""
    costs = np.zeros((len(labels) + 1, len(labels)), np.float32)
    for column, tag in enumerate(labels):
        if tag.startswith("I-"):
            costs[:, column] = FORBIDDEN
            for row, before in enumerate(labels):
                if before in (f"B-{tag[2:]}", tag):
                    costs[row, column] = 0.0
            if f"B-{tag[2:]}" not in labels:  # it never begins otherwise
                costs[:, column] = 0.0
    return costs


def viterbi(scores: np.ndarray, follows: np.ndarray) -> list[int]:
    """The best way through (T, labels)."""
    if not follows.any():
        return scores.argmax(1).tolist()
    logs = scores - np.log(np.exp(scores - scores.max(1, keepdims=True)).sum(1, keepdims=True)) - scores.max(1, keepdims=True)
    best, ways = logs[0] + follows[-1], []
    for own in logs[1:]:
        step = best[:, None] + follows[:-1]
        ways.append(step.argmax(0))
        best = step.max(0) + own
    found = [int(best.argmax())]
    for way in reversed(ways):
        found.append(int(way[found[-1]]))
    return found[::-1]


def spans(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """(label, first word, word behind the last) of B-X I-X I-X."""
    found: list[tuple[str, int, int]] = []
    for number, tag in enumerate(tags):
        if tag.startswith("I-") and found and found[-1][0] == tag[2:] and found[-1][2] == number:
            found[-1] = (found[-1][0], found[-1][1], number + 1)
        elif tag.startswith(("B-", "I-")):
            found.append((tag[2:], number, number + 1))
    return found
