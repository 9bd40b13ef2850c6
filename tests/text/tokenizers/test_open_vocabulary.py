"""An open vocabulary: no word is unknown."""

import copy

import numpy as np
import pytest
import torch

from stairs.errors import Unsupported
from stairs.text.character_ids import FIRST_CHARACTER, FIRST_SPECIAL, PAD_CHARACTER, WORD_BEGIN, WORD_END
from stairs.text.tokenizers import open_vocabulary
from stairs.text.tokenizers.bulk_tokenization import BulkEncoder
from stairs.text.tokenizers.open_vocabulary import OpenVocabulary
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

TEXT = "the cat sat . 我 喜欢 苹果 。"


@pytest.fixture
def closed():
    return Tokenizer.train(TokenizerSpec("words", chinese="words"), lambda: [[TEXT]])


@pytest.fixture
def words(closed):
    return OpenVocabulary(closed, "unicode", 6)


def test_known_words_keep_their_ids_and_new_ones_get_more(words, closed):
    ids = words.encode("the dog sat . the dog ran")
    known = closed.encode("the dog sat . the dog ran")
    assert closed.unknown in known and words.unknown not in ids
    assert [i for i in ids if i < closed.vocab_size] == [i for i in known if i != closed.unknown]
    assert [words.token(i) for i in ids] == ["the", "dog", "sat", ".", "the", "dog", "ran"]
    assert words.encode_batch(["the dog", "the cat"]) == [[ids[0], ids[1]], closed.encode("the cat")]
    assert words.id("dog") == ids[1] and words.tokens("a dog") == ["a", "dog"] and words.unknown_words("a dog") == []


def test_the_bulk_path_gives_the_same_ids(words):
    encoding = BulkEncoder(words).encode_documents([["the zebra sat .", "我 喜欢 长颈鹿 。"]])
    ids = [i for i in np.asarray(encoding.ids).tolist() if i not in words.special_ids]
    assert ids == [*words.encode("the zebra sat ."), *words.encode("我 喜欢 长颈鹿 。")] and encoding.spelling_bits == 0


def test_words_are_spelt_between_two_marks(words):
    the, apple = words.character_ids(torch.tensor([words.id("the"), words.id("苹果")])).tolist()
    assert the == [WORD_BEGIN, FIRST_CHARACTER + ord("t"), FIRST_CHARACTER + ord("h"), FIRST_CHARACTER + ord("e"), WORD_END, PAD_CHARACTER,
        PAD_CHARACTER, PAD_CHARACTER]
    assert apple[1:4] == [FIRST_CHARACTER + ord("苹"), FIRST_CHARACTER + ord("果"), WORD_END]
    assert words.character_ids(torch.tensor([words.mask]))[0, :3].tolist() == [WORD_BEGIN, FIRST_SPECIAL + words.mask, WORD_END]
    assert words.character_ids(torch.tensor([words.id("unheard")]))[0, 1] == FIRST_CHARACTER + ord("u")


def test_bytes_are_characters_too(closed):
    words = OpenVocabulary(closed, "bytes", 6)
    assert words.character_ids(torch.tensor([words.id("苹果")]))[0].tolist() == [WORD_BEGIN, *(FIRST_CHARACTER + byte for byte in "苹果".encode()),
        WORD_END]


def test_a_long_word_is_cut_with_one_warning(words, capsys, monkeypatch):
    monkeypatch.setattr("stairs.progress.messages_enabled", True)
    long = [words.id("incomprehensible"), words.id("incomprehension")]
    assert torch.equal(*words.character_ids(torch.tensor(long)).split(1))
    message = capsys.readouterr().err
    assert message.count("more than 6 characters") == 1 and "incomprehensible" in message


def test_only_so_many_new_words_are_remembered(words, monkeypatch):
    monkeypatch.setattr(open_vocabulary, "MAX_NEW_WORDS", 3)
    ids = [words.id(word) for word in ("a", "b", "c", "d")]
    assert ids[3] == ids[0] and words.token(ids[3]) == "d" and words.id("b") == ids[1]
    assert words.character_ids(torch.tensor([ids[3]]))[0, 1] == FIRST_CHARACTER + ord("d")


def test_lower_case_is_the_tokenizers(closed):
    words = OpenVocabulary(Tokenizer.train(TokenizerSpec("words", lowercase=True), lambda: [[TEXT]]), "unicode", 6)
    assert words.encode("The DOG") == [words.id("the"), words.id("dog")]


def test_it_is_kept_as_the_one_it_came_from_and_never_copied(words, closed, tmp_path):
    words.encode("a dog")
    words.save(tmp_path)
    assert Tokenizer.load(tmp_path).hash == closed.hash == words.hash
    assert copy.deepcopy(words) is words


def test_subwords_have_no_characters_to_read():
    with pytest.raises(Unsupported, match="--tokenizer words"):
        OpenVocabulary(Tokenizer.train(TokenizerSpec("bpe", vocab_size=60), lambda: [[TEXT]]), "unicode", 6)
