"""Where words begin among the ids of a sentence."""

import numpy as np
import pytest

from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

ENGLISH = [["the unbelievable cat sat on the unbelievably old mat", "cats believe in unbelievable mats and an old mat"]] * 3
CHINESE = [["我在北京大学学习自然语言处理", "北京是中国的首都"]] * 3


def words_of(tokenizer, text):
    ids = np.array(tokenizer.encode(text))
    groups = np.cumsum(tokenizer.word_starts(ids))
    return ["".join(tokenizer.token(int(i)).removeprefix("##") for i in ids[groups == number]) for number in range(1, groups.max() + 1)]


def test_pieces_stay_with_their_word():
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=60), lambda: ENGLISH)
    assert len(tokenizer.encode("the unbelievables cat")) > 3
    assert words_of(tokenizer, "the unbelievables cat") == ["the", "unbelievables", "cat"]


def test_chinese_words_are_those_of_the_dictionary():
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=60), lambda: CHINESE)
    assert words_of(tokenizer, "我在北京大学学习，北京") == ["我", "在", "北京大学", "学习", "[UNK]", "北京"]


@pytest.mark.parametrize("kind", ["words", "wordpiece", "bpe", "byte-bpe", "unigram"])
def test_every_tokenizer_agrees_with_its_groups(kind):
    sizes = {"byte-bpe": 300, "unigram": 128, "words": None}
    documents = ENGLISH if kind != "unigram" else [[f"{line} {number}" for line in ENGLISH[0] for number in range(40)]]
    tokenizer = Tokenizer.train(TokenizerSpec(kind, vocab_size=sizes.get(kind, 60)), lambda: documents)
    text = "the unbelievable cat sat"
    groups = tokenizer.word_ids(text)
    starts = np.flatnonzero(tokenizer.word_starts(np.array(tokenizer.encode(text))))
    assert starts.tolist() == [groups.index(group) for group in sorted(set(groups))]


def test_nothing_has_no_words():
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=60), lambda: ENGLISH)
    assert tokenizer.word_starts(np.zeros(0, np.int64)).tolist() == []
