"""A tokenizer without an unknown word."""

import copy

import numpy as np
import pytest
import torch

from stairs.errors import Unsupported
from stairs.text.character_ids import BEGIN, END, FIRST, OWN, PAD
from stairs.text.tokenizers import open_vocabulary
from stairs.text.tokenizers.bulk_encoding import Encoder
from stairs.text.tokenizers.open_vocabulary import OpenWords
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

TEXT = "the cat sat . 我 喜欢 苹果 。"


@pytest.fixture
def closed():
    return Tokenizer.train(TokenizerSpec("words", chinese="words"), lambda: [[TEXT]])


@pytest.fixture
def words(closed):
    return OpenWords(closed, "unicode", 6)


def test_known_words_keep_their_ids_and_new_ones_get_more(words, closed):
    ids = words.encode("the dog sat . the dog ran")
    known = closed.encode("the dog sat . the dog ran")
    assert closed.unknown in known and words.unknown not in ids
    assert [i for i in ids if i < closed.vocab_size] == [i for i in known if i != closed.unknown]
    assert [words.token(i) for i in ids] == ["the", "dog", "sat", ".", "the", "dog", "ran"]
    assert words.encode_batch(["the dog", "the cat"]) == [[ids[0], ids[1]], closed.encode("the cat")]
    assert words.id("dog") == ids[1] and words.tokens("a dog") == ["a", "dog"] and words.unknown_words("a dog") == []


def test_the_bulk_path_gives_the_same_ids(words):
    found = Encoder(words).encode_documents([["the zebra sat .", "我 喜欢 长颈鹿 。"]])
    ids = [i for i in np.asarray(found.ids).tolist() if i not in words.special]
    assert ids == [*words.encode("the zebra sat ."), *words.encode("我 喜欢 长颈鹿 。")] and found.spelling_bits == 0


def test_words_are_spelt_between_two_marks(words):
    the, apple = words.character_ids(torch.tensor([words.id("the"), words.id("苹果")])).tolist()
    assert the == [BEGIN, OWN + ord("t"), OWN + ord("h"), OWN + ord("e"), END, PAD, PAD, PAD]
    assert apple[1:4] == [OWN + ord("苹"), OWN + ord("果"), END]
    assert words.character_ids(torch.tensor([words.mask]))[0, :3].tolist() == [BEGIN, FIRST + words.mask, END]
    assert words.character_ids(torch.tensor([words.id("unheard")]))[0, 1] == OWN + ord("u")


def test_bytes_are_letters_too(closed):
    words = OpenWords(closed, "bytes", 6)
    assert words.character_ids(torch.tensor([words.id("苹果")]))[0].tolist() == [BEGIN, *(OWN + byte for byte in "苹果".encode()), END]


def test_a_long_word_is_cut_and_that_is_said_once(words, capsys, monkeypatch):
    monkeypatch.setattr("stairs.progress.messages_enabled", True)
    long = [words.id("incomprehensible"), words.id("incomprehension")]
    assert torch.equal(*words.character_ids(torch.tensor(long)).split(1))
    said = capsys.readouterr().err
    assert said.count("more than 6 letters") == 1 and "incomprehensible" in said


def test_only_so_many_new_words_are_remembered(words, monkeypatch):
    monkeypatch.setattr(open_vocabulary, "MOST_NEW", 3)
    ids = [words.id(word) for word in ("a", "b", "c", "d")]
    assert ids[3] == ids[0] and words.token(ids[3]) == "d" and words.id("b") == ids[1]
    assert words.character_ids(torch.tensor([ids[3]]))[0, 1] == OWN + ord("d")


def test_lower_case_is_the_tokenizers(closed):
    words = OpenWords(Tokenizer.train(TokenizerSpec("words", lowercase=True), lambda: [[TEXT]]), "unicode", 6)
    assert words.encode("The DOG") == [words.id("the"), words.id("dog")]


def test_it_is_kept_as_the_one_it_came_from_and_never_copied(words, closed, tmp_path):
    words.encode("a dog")
    words.save(tmp_path)
    assert Tokenizer.load(tmp_path).hash == closed.hash == words.hash
    assert copy.deepcopy(words) is words


def test_subwords_have_no_letters_to_read():
    with pytest.raises(Unsupported, match="--tokenizer words"):
        OpenWords(Tokenizer.train(TokenizerSpec("bpe", vocab_size=60), lambda: [[TEXT]]), "unicode", 6)
