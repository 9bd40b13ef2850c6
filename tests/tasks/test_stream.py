"""A text as one long row: what is learnt and what is judged."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.models.base import Model
from stairs.tasks import NextToken
from stairs.tasks.parts.stream import StreamExamples, overlapping_batch, row_length
from stairs.text.batch import IGNORE_INDEX
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

BEGIN, END = Tokenizer.begin, Tokenizer.end


class Fair(Model):
    """Every id is equally likely, so that only the counting is tested."""

    name = "fair"

    def __init__(self, ids: int) -> None:
        super().__init__(SimpleNamespace(context=8))
        self.logits = torch.nn.Parameter(torch.zeros(ids))

    def predict(self, batch):
        return self.logits.expand(*batch.ids.shape, -1)


@pytest.fixture
def shards(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join(f"the cat number {i} sat .\nit ran to number {i} ." for i in range(120)))
    return build_shards(Corpus(path), TokenizerSpec("words"), cache=tmp_path / "cache")


def test_an_epoch_reads_every_token_but_a_rest_and_asks_for_the_end_where_a_document_ends(shards):
    rows = StreamExamples(shards, "train", 16)
    ids = shards.ids("train")
    batch = rows.batch(np.arange(len(rows.lengths)), 0, 0)
    assert batch.ids.shape == (len(ids) // 16, 16) and batch.real.all()
    ring = ids.tolist()
    text = " ".join(map(str, ring + ring))
    for row, targets in zip(batch.ids.tolist(), batch.targets.tolist(), strict=True):
        assert " ".join(map(str, row)) in text
        assert [END if read == BEGIN else read for read in row[1:]] == targets[:-1]
    assert not (batch.targets == BEGIN).any()
    assert (rows.batch(np.arange(4), 0, 0).ids == rows.batch(np.arange(4), 0, 0).ids).all()
    assert any((rows.batch(np.arange(4), 0, 0).ids != rows.batch(np.arange(4), epoch, 0).ids).any() for epoch in (1, 2, 3))


def test_a_context_longer_than_the_text_is_refused_with_the_count(shards):
    count = len(shards.ids("train"))
    with pytest.raises(BadInput, match=f"{count} tokens, no more than the context of 100000.*--context"):
        StreamExamples(shards, "train", 100_000)


@pytest.mark.parametrize("context", [1, 2, 7, 8, 64])
@pytest.mark.parametrize("length", [2, 7, 8, 9, 40, 41])
def test_every_token_is_predicted_once_with_half_a_context_before_it(context, length):
    ids = np.array([5 + i for i in range(length - 1)] + [END])
    half = max(context // 2, 1)
    batch = overlapping_batch(ids, np.arange(1 + max(0, -(-(length - context) // half))), context, half)
    asked = batch.targets != IGNORE_INDEX
    assert sorted(batch.targets[asked].tolist()) == sorted(ids.tolist())
    assert batch.ids[0, 0] == BEGIN
    follows = dict(zip([BEGIN, *ids.tolist()], ids.tolist(), strict=False))
    for row, column in asked.nonzero().tolist():
        assert follows[int(batch.ids[row, column])] == int(batch.targets[row, column])
        assert row == 0 or column >= context - half
    assert batch.real[asked].all()


def test_bits_per_character_count_the_same_tokens_and_characters_as_counting_does(shards):
    task = NextToken(Fair(shards.tokenizer.vocab_size), shards.tokenizer)
    info = shards.info("validation")
    measured = task.evaluate_split(shards)
    assert row_length(task.model) == 8
    assert measured["tokens"] == info["tokens"] and measured["characters"] == info["characters"]
    expected = (info["tokens"] * math.log2(shards.tokenizer.vocab_size) + info["spelling_bits"]) / info["characters"]
    assert measured["bits_per_character"]["value"] == pytest.approx(expected, rel=1e-6)
    assert task.evaluate_split(shards, limit=16)["bits_per_character"]["value"] == pytest.approx(expected, rel=1e-6)


def test_a_file_is_evaluated_as_its_shards_are(shards, tmp_path):
    task = NextToken(Fair(shards.tokenizer.vocab_size), shards.tokenizer)
    documents = list(Corpus(tmp_path / "text.txt").documents())
    measured = task.evaluate_texts(documents)
    both = [shards.info(split) for split in ("train", "validation", "test")]
    assert measured["tokens"] == sum(info["tokens"] for info in both) and measured["characters"] == sum(info["characters"] for info in both)

