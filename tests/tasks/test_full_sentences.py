"""RoBERTa's rows: full sentences, across the ends of documents, and words that are masked anew in every epoch."""

import numpy as np
import pytest

from stairs.models.settings import RoBERTaConfig
from stairs.randomness import numpy_generator
from stairs.tasks.parts.sentence_pairs import SentencePairs
from stairs.text.batch import IGNORE_INDEX
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

WORDS = [f"word{number}" for number in range(40)]
CONTEXT = 32


@pytest.fixture(scope="module")
def examples():
    """Documents of 5 to 29 tokens, in sentences of four or five, and the stream of their ids."""
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [WORDS * 3])
    random, ids = np.random.default_rng(0), []
    for _ in range(60):
        for _ in range(int(random.integers(1, 7))):
            ids += [*random.integers(5, tokenizer.vocab_size, int(random.integers(4, 6))).tolist(), tokenizer.end]
        ids[-1] = tokenizer.begin
    return SentencePairs(np.array(ids, np.uint16), RoBERTaConfig(tokenizer.vocab_size, context=CONTEXT), tokenizer)


def row(examples, number, epoch=0):
    example = examples.example(number, numpy_generator(0, "pairs", epoch, number))
    return example, np.where(example.targets == IGNORE_INDEX, example.ids, example.targets)


def test_rows_are_full_and_documents_are_separated(examples):
    begin, end = examples.tokenizer.begin, examples.tokenizer.end
    stream = np.split(examples.ids, np.flatnonzero(examples.ids == begin) + 1)
    documents = [[i for i in part.tolist() if i not in (begin, end)] for part in stream]
    count, separated = len(examples.lengths), 0
    for number in range(count):
        example, ids = row(examples, number)
        assert ids[0] == begin and ids[-1] == end and (ids[1:] != begin).all() and len(ids) <= CONTEXT
        assert len(ids) >= CONTEXT - 5 or number == count - 1  # less than a sentence is missing, but at the end of the text
        assert not example.segments.any() and example.attention_mask is None and example.label is None
        parts = [part.tolist() for part in np.split(ids[1:], np.flatnonzero(ids[1:] == end) + 1)[:-1]]
        for part in parts:
            assert any(contains(document, part[:-1]) for document in documents)
        for part in parts[1:-1]:
            assert part[:-1] in documents  # what stands between two others is a whole document
        separated += len(parts) > 1
    assert separated > count / 2


def contains(document, part):
    return any(document[start : start + len(part)] == part for start in range(len(document) - len(part) + 1))


def test_words_are_masked_anew_in_every_epoch_and_the_same_ones_again_after_a_kill(examples):
    first, again, later = (row(examples, 3, epoch)[0].targets.tolist() for epoch in (0, 0, 1))
    assert first == again != later


def test_no_token_is_lost(examples):
    """Over the epochs the excess of a row is cut off at either end, so every token is read."""
    seen = set()
    for epoch in range(8):
        for number in range(len(examples.lengths)):
            seen |= set(row(examples, number, epoch)[1].tolist())
    assert seen >= set(examples.ids.tolist())
