"""Tag: a tag for every word of a sentence.

    P(tag | word in its sentence) = softmax(W h + b),   h the vector of the word's first piece (of its last, for a GPT, which only then has read it)

The tags of a sentence are the most probable ones that fit together: I-PER follows only B-PER or I-PER (Viterbi 1967). For encoders whose vectors do
not depend on the context, the head reads the two neighbours on either side as well (Collobert et al. 2011). With `--crf` how well one tag follows
another is learnt, too (`layers/crf.py`). With `--structural-positions` the encoder also knows where the words stand in the dependency tree of the
sentence (`text/trees.py`).
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from stairs.errors import BadInput, Unsupported
from stairs.layers.crf import LinearChainCRF, gather_rows
from stairs.tasks.answers import Answer, TagsAnswer
from stairs.tasks.measurements import Measurements
from stairs.tasks.parts.encoder_features import EncodedInput
from stairs.tasks.parts.layer_mix import LinearHead
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.parts.tag_sequences import check_tags, labels_of_tags, tags_answer, transitions, viterbi
from stairs.tasks.span_metrics import tag_metrics
from stairs.tasks.task import TrainingExamples
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.examples import ParsedSentence, TaggedSentence
from stairs.text.segmentation import Segmentation
from stairs.text.trees import token_positions
from stairs.text.windows import owned_spans, window_spans

RADIUS = 2  # neighbours on either side, for encoders without context
CRF_RATE = 0.01  # learning rate of the transitions of a CRF, which are few and start at 0: at the rate of an encoder they would hardly move
NEEDS_TREES = "this run was tuned with --structural-positions and needs the dependency tree of a sentence; give a CoNLL-U file (ask RUN --file)"


class Tag(Supervised):
    """Token vectors, then a linear layer at the piece that stands for each word."""

    name = "tag"
    example_kind = "tag"

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        return {"labels": labels_of_tags(examples), "segmentation": asdict(Segmentation.from_sentences(example.words for example in examples))}

    @property
    def labels(self) -> list[str]:
        labels: list[str] = self.settings["labels"]
        return labels

    @property
    def needs_trees(self) -> bool:  # type: ignore[override]
        return self.transfer.structural_positions

    @property
    def reads_context(self) -> bool:
        return self.model.reads_context or self.transfer.insert != "head"

    def new_head(self) -> nn.Module:
        neighbours = 1 if self.reads_context else 2 * RADIUS + 1
        head = LinearHead(self.width * neighbours, len(self.labels), self.transfer)
        if self.transfer.crf:
            head.crf = LinearChainCRF(torch.from_numpy(transitions(self.labels)))
        return head

    @property
    def crf(self) -> LinearChainCRF | None:
        return cast(LinearChainCRF, self.head.crf) if self.transfer.crf else None

    def start(self, seed: int, examples: TrainingExamples | None = None) -> None:
        super().start(seed, examples)
        if self.crf is not None:
            nn.init.zeros_(self.crf.transitions)

    def lr_scales(self) -> dict[str, float]:
        return super().lr_scales() | ({} if self.crf is None else {"head.crf.transitions": CRF_RATE / self.learning_rate})

    def rows(self, examples: Sequence[Any]) -> list[EncodedInput]:
        """One row for each sentence, or for each window of a sentence that is too long, with the `places` of the words that it tags."""
        label_ids = {label: number for number, label in enumerate(self.labels)}
        rows = []
        for number, example in enumerate(examples):
            check_tags(example, self.labels)
            pieces = self.pieces(example.words)
            sizes = [len(piece) for piece in pieces]
            for words, (start, stop) in self.word_windows(sizes):
                ids = [i for piece in pieces[start:stop] for i in piece]
                ends = np.cumsum([0, *(len(piece) for piece in pieces[start:stop])])
                positions = ends[1:] if self.model.default_pooling == "last" else ends[:-1] + 1  # [CLS] is at 0
                row = self.input_format.encode_one(ids, number)
                row.metadata = {"words": words, "positions": [int(positions[word - start]) for word in words]}
                row.target = [label_ids[example.tags[word]] for word in words] if example.tags else None
                if self.needs_trees:
                    fitting = sizes[start:stop] if stop - start > 1 else [len(row.ids) - 2]  # a single word may have been truncated
                    row.tree = token_positions(tree_of(example), fitting, start, stop)
                rows.append(row)
        return rows

    def pieces(self, words: Sequence[str]) -> list[list[int]]:
        """The ids of each word; [UNK] for a word that the tokenizer drops."""
        spaced = [f" {word}" if number and self.tokenizer.spec.kind == "byte-bpe" else word for number, word in enumerate(words)]
        return [ids or [self.tokenizer.unknown] for ids in self.tokenizer.encode_batch(spaced)]

    def word_windows(self, sizes: list[int]) -> list[tuple[range, tuple[int, int]]]:
        """For each row the words that it tags, and the window of words that it reads; `sizes` are the pieces of each word."""
        if self.max_tokens is None or sum(sizes) <= self.max_tokens - 2:
            return [(range(len(sizes)), (0, len(sizes)))]
        most = max(1, (self.max_tokens - 2) // max(sizes))  # words that fit in any case
        pairs = zip(window_spans(len(sizes), most), owned_spans(len(sizes), most), strict=True)
        return [(range(*own), window) for window, own in pairs]

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        if self.reads_context:
            return hidden
        padded = pad(hidden * batch.real[..., None], (0, 0, RADIUS, RADIUS))
        return torch.cat([padded[:, offset : offset + hidden.shape[1]] for offset in range(2 * RADIUS + 1)], -1)

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        targets = np.full((len(rows), length), IGNORE_INDEX, np.int64)
        for own, row in zip(targets, rows, strict=True):
            own[row.metadata["positions"]] = row.target
        return {"targets": torch.from_numpy(targets)}

    def summed_loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.targets is not None
        has_target = batch.targets != IGNORE_INDEX
        if self.crf is not None:
            scores, real = gather_rows(logits, has_target)
            labels = gather_rows(batch.targets, has_target)[0]
            return self.crf.nll(scores, labels.masked_fill(~real, 0), real), int(has_target.sum())
        return cross_entropy(logits[has_target], batch.targets[has_target], reduction="sum"), int(has_target.sum())

    def tags(self, count: int, rows: list[EncodedInput], logits: list[np.ndarray]) -> list[list[str]]:
        """The tags of each of `count` sentences."""
        scores: list[list[np.ndarray]] = [[] for _ in range(count)]
        for row, own in zip(rows, logits, strict=True):
            scores[row.example] += list(own[row.metadata["positions"]])
        costs = transitions(self.labels) if self.crf is None else self.crf.allowed_transitions().detach().numpy()
        return [[self.labels[i] for i in viterbi(np.stack(own), costs)] if own else [] for own in scores]

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        return tag_metrics([list(example.tags) for example in examples], self.predictions(examples, rows, logits))

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> list[Any]:
        return self.tags(len(examples), rows, logits)

    def answer(self, text: str) -> TagsAnswer:
        """The words of a text with their tags; where tags mark spans (B-PER), also the spans, with their places in code points."""
        if self.needs_trees:
            raise Unsupported(NEEDS_TREES)
        words, positions, segmentation = Segmentation(**self.settings.get("segmentation", {})).segment(text)
        if not words:
            raise BadInput("there are no words in the text; give a text with words")
        return self.answer_words(text, TaggedSentence(tuple(words), ()), positions, segmentation)

    def answer_parsed(self, sentence: ParsedSentence) -> TagsAnswer:
        """The same for the words of a sentence with its tree; its tags are not looked at."""
        ends = np.cumsum([len(word) + 1 for word in sentence.words]).tolist()
        positions = [(end - 1 - len(word), end - 1) for word, end in zip(sentence.words, ends, strict=True)]
        return self.answer_words(" ".join(sentence.words), replace(sentence, tags=()), positions, "given")

    def answer_words(self, text: str, sentence: TaggedSentence, positions: Sequence[tuple[int, int]], segmentation: str) -> TagsAnswer:
        """`positions` are the places of the words in the text."""
        rows = self.rows([sentence])
        tags = self.tags(1, rows, self.logits(rows))[0]
        return tags_answer(text, sentence.words, tags, positions, segmentation, self.labels)

    def summary(self, answer: Answer) -> str:
        tagged = cast(TagsAnswer, answer)
        return " ".join(f"{word}/{tag}" for word, tag in zip(tagged["words"], tagged["tags"], strict=True))


def tree_of(example: TaggedSentence) -> tuple[int, ...]:
    """The heads of a sentence that must have a tree."""
    if not isinstance(example, ParsedSentence):
        raise Unsupported(f"{example.where + ': ' if example.where else ''}{NEEDS_TREES}")
    return example.heads
