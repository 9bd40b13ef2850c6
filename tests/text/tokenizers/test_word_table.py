"""A vocabulary that is looked up in a file gives the same ids as one in memory."""

import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stairs.errors import BadInput
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.tokenizers.word_table import WordTable

WORDS = ["the", "don't", "国王", "王", "new_york", "u.s.", "'"]


def test_it_is_what_was_saved(tmp_path):
    first = WordTable.from_words(WORDS)
    first.save(tmp_path)
    again = Tokenizer.load(tmp_path)
    assert isinstance(again, WordTable)
    assert again.vocabulary == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS] and again.vocab_size == 12
    assert again.hash == first.hash and again.spec == first.spec
    assert [again.token(again.id(word)) for word in WORDS] == WORDS
    assert again.ids_by_token == {word: number for number, word in enumerate(again.vocabulary)}
    assert again.id("nothing") == again.unknown
    with pytest.raises(BadInput, match="ends at 11"):
        again.token(12)


WORD = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5).filter(lambda word: word not in SPECIAL_TOKENS)


@given(st.lists(WORD, min_size=1, max_size=30, unique=True))
def test_every_word_is_found_and_no_other(words):
    table = WordTable.from_words(words)
    assert [table.id(word) for word in words] == list(range(5, 5 + len(words)))
    assert all(table.id(other) == table.unknown for other in ("".join(words) + "x", words[0] + "\0") if other not in words)


def test_words_with_the_same_hash_are_distinguished():
    twins = ["plumless", "buckeroo"]  # the same CRC-32
    table = WordTable.from_words(twins)
    assert len(set(table.hashes[np.isin(table.order, (5, 6))].tolist())) == 1
    assert [table.id(word) for word in twins] == [5, 6]


def test_text_is_cut_into_words_of_the_vocabulary():
    table = WordTable.from_words(WORDS)
    assert table.tokens("The don't u.s. new_york") == ["the", "don't", "u.s.", "new_york"]
    assert table.words("(The don't!) can't u.s.a.") == ["(", "the", "don't", "!", ")", "can", "'", "t", "u", ".", "s", ".", "a", "."]
    assert table.tokens("王 国王") == ["王", "国王"]
    assert table.encode("[MASK] zebra") == [table.unknown] * 4  # what stands in a text is no special token
    assert table.unknown_words("the zebra") == ["zebra"]
    assert table.encode_batch(["the", ""]) == [[5], []]
    assert len(table.word_ids("the new_york zebra")) == 3
    assert WordTable.from_words(["The", "the"]).encode("The the") == [5, 6]  # where there are capitals, they count
    with pytest.raises(BadInput, match="surrogate"):
        table.encode("\ud800")


@pytest.mark.slow
def test_a_million_words_are_opened_in_no_time(tmp_path):
    WordTable.from_words([f"word{number}" for number in range(1_000_000)]).save(tmp_path)
    began = time.perf_counter()
    table = Tokenizer.load(tmp_path)
    assert table.encode("word999999 word0 word-1")[:2] == [1_000_004, 5]
    assert time.perf_counter() - began < 0.5
    assert "vocabulary" not in table.__dict__ and sys.getsizeof(table) < 1000
