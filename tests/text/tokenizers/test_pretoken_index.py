"""Spaces that a tokenizer drops are paid for, with the bits of a code that restores them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.tasks.parts.stream import TextStatistics, encode_documents, language_model_metrics
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.bulk_tokenization import BulkEncoder
from stairs.text.tokenizers.pretoken_index import TABLE_SHAPE, Gaps, PretokenIndex, SpacingTable, character_kind
from stairs.text.tokenizers.spec import assemble_backend, build_model
from stairs.text.tokenizers.tokenizer import KINDS, Tokenizer, TokenizerSpec

DOCUMENTS = [
    ['He said: "It\'s 3.5 % (or so)!"', "a\tb  c, d", "x"],
    ["我在北京 大学study语言。", "2003年 “好” 的 (Ａ)", "naïve café\u3000déjà-vu"],
    ["f(x) = x**2 + 'a b'", "--flag=1 / 2"],
]
WHITESPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())  # 29 of them, so that 11111 can be the end
SPECS = [TokenizerSpec("words"), TokenizerSpec("words", chinese="characters"), TokenizerSpec("wordpiece"), TokenizerSpec("bpe")]


def segment(tokenizer, sentence):
    """The words of a sentence, and the whitespace before each but the first."""
    words, gaps, at = tokenizer.words(sentence), [], 0
    for word in words:
        start = sentence.index(word, at)
        gaps.append(sentence[at:start])
        at = start + len(word)
    assert sentence[at:] == gaps[0] == ""
    return words, gaps[1:]


def coded(gap):
    return {"": 0, " ": 1}.get(gap, 2)


def contexts(words, gaps):
    """What a decoder knows of each gap when it has read the words and the gaps before."""
    before = 2
    for left, right, gap in zip(words, words[1:], gaps, strict=False):
        yield character_kind(left[-1]), character_kind(right[0]), before
        before = min(coded(gap), 1)


def spelled_out(gap):
    """Whitespace as the digits of its code."""
    if set(gap) == {" "}:
        number = f"{len(gap) - 1:b}"
        return "0" + "0" * (len(number) - 1) + number
    return "1" + "".join(f"{WHITESPACE.index(character):05b}" for character in gap) + "11111"


def read_back(digits):
    if digits[0] == "0":
        return " " * (int(digits[1:], 2) + 1)
    counted = [digits[at : at + 5] for at in range(1, len(digits), 5)]
    return "".join(WHITESPACE[int(position, 2)] for position in counted[:-1])


def counted(tokenizer, documents):
    gaps, pretokens = Gaps(), PretokenIndex(tokenizer.spec, tokenizer.backend)
    block = pretokens.block(documents)
    pretokens.number_block(block)
    pretokens.count_gaps(block, gaps)
    return gaps


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.kind}-{spec.chinese}")
def test_text_comes_back_from_its_words_and_the_gaps_that_are_paid_for(spec):
    tokenizer = Tokenizer(spec, assemble_backend(spec, build_model(spec.kind)), [])
    gaps = counted(tokenizer, DOCUMENTS)
    table, bits, expected, spelling = SpacingTable(gaps.counts), 0.0, np.zeros(TABLE_SHAPE, np.int64), 0
    for sentence in (sentence for document in DOCUMENTS for sentence in document):
        words, between = segment(tokenizer, sentence)
        message = [(coded(gap), gap if coded(gap) == 2 else None) for gap in between]  # what is transmitted
        for context, (code, spell) in zip(contexts(words, between), message, strict=True):
            expected[(*context, code)] += 1
            bits -= math.log2(table.probabilities[(*context, code)])
            if spell is not None:
                spelling += len(spelled_out(spell))
                assert read_back(spelled_out(spell)) == spell
        restored = words[0] + "".join((spell or ["", " "][code]) + word for (code, spell), word in zip(message, words[1:], strict=True))
        assert restored == sentence
    assert np.array_equal(gaps.counts, expected) and gaps.spelling_bits == spelling
    assert table.bits(gaps) == pytest.approx(bits + spelling)


def test_probabilities_are_positive_and_sum_to_one():
    counts = np.random.default_rng(0).integers(0, 3, TABLE_SHAPE)
    for table in (SpacingTable(counts), SpacingTable(np.zeros(TABLE_SHAPE, np.int64))):
        assert table.probabilities.min() > 0 and np.allclose(table.probabilities.sum(-1), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_who_drops_spaces_pays_for_them_and_nobody_else(kind, tmp_path):
    lines = [f'The cat number {n} said: "it is (maybe) well-known", or not .' for n in range(200)]
    (tmp_path / "text.txt").write_text("\n\n".join(lines))
    made = build_shards(Corpus(tmp_path / "text.txt"), TokenizerSpec(kind, vocab_size=None if kind in ("words", "characters") else 400),
        cache=tmp_path)
    drops = kind in ("words", "bpe", "wordpiece")
    info = made.info("test")
    assert (info["spacing_bits"] > 0) == drops == (made.tokenizer.spacing is not None)
    text = TextStatistics.of_split(made, "test")
    free, paid = (language_model_metrics(np.array([50.0]), np.array([10]), own) for own in (replace(text, spacing_bits=0.0), text))
    difference = paid["bits_per_character"]["value"] - free["bits_per_character"]["value"]
    assert difference == pytest.approx(info["spacing_bits"] / info["characters"])
    other = Tokenizer.load(made.folder)  # the table travels with the tokenizer: any text is charged by it
    counted, again = (encode_documents(tokenizer, ['A cat said: "no".'])[1].spacing_bits for tokenizer in (made.tokenizer, other))
    assert counted == again and (counted > 0) == drops


def test_a_table_that_was_tampered_with_is_refused(tmp_path):
    spec = TokenizerSpec("words")
    tokenizer = Tokenizer.train(spec, lambda: [["a b , c"]])
    assert BulkEncoder(tokenizer).encode_documents([["a b"]]).spacing_bits == 0.0  # nobody counted
    tokenizer.spacing = SpacingTable(counted(tokenizer, DOCUMENTS).counts)
    tokenizer.save(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    config = json.loads(path.read_text())
    for lines in ("0 0 0 1 1 1", ["0 0 0 1 1"], ["0 0 99 1 1 1"], ["0 0 0 1 -1 1"], ["a"], [None]):
        config["stairs"]["spacing"] = lines
        path.write_text(json.dumps(config))
        with pytest.raises(BadInput, match=r"tokenizer_config.json"):
            assert Tokenizer.load(tmp_path).spacing
