"""Files of word vectors: out and in, in every habit that other tools have."""

import gzip
import struct

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.formats import word_vectors
from stairs.tasks import WordVectors
from stairs.training.run import FORMAT, Run, load

WORDS = ["the", ",", "naïve", "国王", "New_York", "a\u00a0b", "don't"]


def some(width=5, words=WORDS, seed=0):
    return np.random.default_rng(seed).normal(size=(len(words), width)).astype(np.float32)


def task(vectors, words=WORDS):
    return WordVectors(*word_vectors.to_model(word_vectors.WordVectorFile(words, vectors, "")))


def text(words, vectors, header=True, end="\n", between=" "):
    rows = [between.join([word, *map(repr, map(float, row))]) + end for word, row in zip(words, vectors, strict=True)]
    return ((f"{len(words)} {vectors.shape[1]}\n" if header else "") + "".join(rows)).encode()


def binary(words, vectors, newline):
    rows = [word.encode() + b" " + struct.pack(f"<{len(row)}f", *row) + newline for word, row in zip(words, vectors, strict=True)]
    return f"{len(words)} {vectors.shape[1]}\n".encode() + b"".join(rows)


FILES = {
    "word2vec": lambda v: text(WORDS, v),
    "fastText's spaces at the end": lambda v: text(WORDS, v, end=" \n"),
    "carriage returns": lambda v: text(WORDS, v, end="\r\n"),
    "tabs": lambda v: text(WORDS, v, between="\t"),
    "a byte-order mark": lambda v: b"\xef\xbb\xbf" + text(WORDS, v),
    "blank lines at the end": lambda v: text(WORDS, v) + b"\n \n",
    "no newline at the end": lambda v: text(WORDS, v).rstrip(b"\n"),
    "GloVe": lambda v: text(WORDS, v, header=False),
    "binary of word2vec.c": lambda v: binary(WORDS, v, b"\n"),
    "binary of gensim": lambda v: binary(WORDS, v, b""),
}


@pytest.mark.parametrize("block", [1, 1 << 20])
@pytest.mark.parametrize("habit", FILES)
def test_every_habit_gives_the_same_words_and_bits(tmp_path, monkeypatch, habit, block):
    monkeypatch.setattr("stairs.formats.word_vectors.vector_reader.BLOCK", max(block, 64))  # so small that every row is cut by the end of a block
    vectors = some()
    (tmp_path / "v").write_bytes(FILES[habit](vectors))
    (tmp_path / "v.gz").write_bytes(gzip.compress(FILES[habit](vectors)))
    for path in ("v", "v.gz"):
        result = word_vectors.read(str(tmp_path / path))
        assert result.words == WORDS
        assert np.array_equal(result.vectors, vectors)


@pytest.mark.parametrize("kind", word_vectors.KINDS)
@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_what_is_written_comes_back_bit_for_bit(tmp_path, kind, name):
    vectors = some(words=WORDS) * np.float32(10.0) ** np.arange(-3, 4)[:, None].astype(np.float32)
    vectors[0, :3] = [1e-40, 3.4028235e38, 0]  # the least and the greatest
    first = task(vectors)
    assert word_vectors.write(first.tokenizer.vocabulary, first.model.all_vectors(), str(tmp_path / name), kind) == (len(WORDS), 5)
    result = word_vectors.read(str(tmp_path / name))
    assert result.kind == kind
    assert result.words == [word.replace("\u00a0", "▁") for word in WORDS]
    assert np.array_equal(result.vectors, vectors)


def test_numbers_in_every_spelling(tmp_path):
    (tmp_path / "v").write_text("a 1 -2.50 +.5 1e3 -1E-3 12345678901234567890 0.000000000000000000000001234\nb 0 0 0 0 0 0 0\n")
    row = word_vectors.read(str(tmp_path / "v")).vectors[0]
    assert np.array_equal(row, np.array([1, -2.5, 0.5, 1000, -0.001, 12345678901234567890, 1.234e-24], np.float32))


def test_an_adopted_run_keeps_words_and_vectors(tmp_path):
    vectors = some()
    first = task(vectors)
    run = Run(tmp_path / "run")
    with run.open_for_writing({"format": FORMAT, **first.describe()}):
        run.save_model(first)
    again = load(tmp_path / "run")
    assert again.tokenizer.vocabulary[5:] == WORDS and again.tokenizer.hash == first.tokenizer.hash
    assert np.array_equal(again.model.all_vectors()[5:], vectors) and not again.model.all_vectors()[:5].any()
    assert np.array_equal(again.vectors(["国王"]), first.vectors(["国王"]))
    assert again.answer("naïve", top=2) == first.answer("naïve", top=2)


def test_adopted_vectors_are_neither_trained_nor_given_a_loss(tmp_path):
    vectors = task(some())
    with pytest.raises(BadInput, match="no context matrix, so they cannot be trained"):
        vectors.model.prepare()
    with pytest.raises(BadInput, match="score them on analogies"):
        vectors.evaluate_texts(["the naïve the"])


def test_a_word_that_is_a_special_token_is_refused():
    with pytest.raises(BadInput, match=r"\[MASK\] has the name of a special token"):
        task(some(words=["a", "[MASK]"]), ["a", "[MASK]"])
