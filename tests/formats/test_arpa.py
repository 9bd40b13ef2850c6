"""ARPA files: out, in, and read by KenLM."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from stairs.formats import arpa
from stairs.models.base import as_array
from stairs.models.ngram import NGram
from stairs.models.settings import NGramConfig
from stairs.tasks import NextToken
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

SENTENCES = ["the cat sat on the mat .", "the dog sat on the cat .", "a dog ran .", "the cat ran to the dog on the mat ."] * 3 + [
    "so it goes ."
]


def task(order=3, kind="words"):
    tokenizer = Tokenizer.train(TokenizerSpec(kind), lambda: [SENTENCES])
    model = NGram(NGramConfig(tokenizer.vocab_size, order=order))
    model.count(np.array([i for row in tokenizer.encode_batch(SENTENCES) for i in (*row, tokenizer.end)], np.uint16))
    return NextToken(model, tokenizer)


def test_what_is_written_comes_back(tmp_path):
    first = task()
    path = str(tmp_path / "model.arpa")
    sizes = arpa.write(first.model, first.tokenizer, path)
    model, tokenizer = arpa.read(path)
    assert model.sizes.tolist()[1:] == sizes[1:] == first.model.sizes.tolist()[1:]
    second = NextToken(model, tokenizer)
    for sentence in [*SENTENCES, "the mat sat on a zebra ."]:
        assert second.log_probability(sentence) == pytest.approx(first.log_probability(sentence), abs=1e-4)
    again = str(tmp_path / "again.arpa")
    arpa.write(model, tokenizer, again)
    assert sorted(Path(again).read_text().splitlines()) == sorted(Path(path).read_text().splitlines())


def test_packed_by_its_ending(tmp_path):
    first = task()
    arpa.write(first.model, first.tokenizer, str(tmp_path / "model.arpa.gz"))
    assert gzip.decompress((tmp_path / "model.arpa.gz").read_bytes()).startswith(b"\\data\\\n")
    model, _ = arpa.read(str(tmp_path / "model.arpa.gz"))
    assert np.allclose(sorted(as_array(model.backoffs)), sorted([*as_array(first.model.backoffs)]), atol=1e-5)


def test_a_file_written_by_hand(tmp_path):
    text = """
\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.3
-0.5\t</s>
-0.6\ta\t-0.2
-0.7\tb\t-0.1

\\2-grams:
-0.1\t<s> a
-0.2\ta b
-0.4\tb </s>

\\end\\
"""
    path = tmp_path / "hand.arpa"
    path.write_text(text)
    result = NextToken(*arpa.read(str(path)))
    ten = np.log(10)
    assert result.log_probability("a b") == pytest.approx(ten * (-0.1 - 0.2 - 0.4))
    assert result.log_probability("b a") == pytest.approx(ten * (-0.3 - 0.7 - 0.1 - 0.6 - 0.2 - 0.5))
    assert result.log_probability("zebra") == pytest.approx(ten * (-0.3 - 1.0 - 0.5))


def test_a_suffix_the_file_leaves_out_is_passed_over(tmp_path):
    text = """\\data\\
ngram 1=5
ngram 2=2
ngram 3=1

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.3
-0.5\t</s>
-0.6\ta\t-0.2
-0.7\tb\t-0.1

\\2-grams:
-0.1\t<s> a\t-0.05
-0.4\tb </s>

\\3-grams:
-0.3\t<s> a b

\\end\\
"""
    path = tmp_path / "pruned.arpa"
    path.write_text(text)
    result = NextToken(*arpa.read(str(path)))
    assert result.log_probability("a b") == pytest.approx(np.log(10) * (-0.1 - 0.3 - 0.4))  # "a b" is no bigram; "b" is what is left of it


@pytest.mark.parametrize("kind", ["bpe", "byte-bpe", "wordpiece", "unigram", "characters"])
def test_subwords_are_words_to_arpa(tmp_path, kind):
    spec = TokenizerSpec(kind, vocab_size=300)
    tokenizer = Tokenizer.train(spec, lambda: [SENTENCES])
    model = NGram(NGramConfig(tokenizer.vocab_size, order=2))
    model.count(np.array([i for row in tokenizer.encode_batch(SENTENCES) for i in (*row, tokenizer.end)], np.uint16))
    sizes = arpa.write(model, tokenizer, str(tmp_path / "m.arpa"))
    back, _ = arpa.read(str(tmp_path / "m.arpa"))
    assert back.sizes.tolist()[1] == sizes[1]


@pytest.mark.reference
@pytest.mark.parametrize("order", [2, 3, 5])
def test_kenlm_gives_the_same_scores(tmp_path, order):
    kenlm = pytest.importorskip("kenlm")
    ours = task(order)
    path = str(tmp_path / "model.arpa")
    arpa.write(ours.model, ours.tokenizer, path)
    theirs = kenlm.Model(path)
    for sentence in [*SENTENCES, "the mat sat on a zebra .", "zebra zebra", "dog"]:
        tokens = " ".join(ours.tokenizer.tokens(sentence))
        assert ours.log_probability(sentence) / np.log(10) == pytest.approx(theirs.score(tokens), abs=1e-4)
