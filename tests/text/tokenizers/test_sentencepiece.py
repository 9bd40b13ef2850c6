"""SentencePiece's files: what is written is read, pieces by hand, and files that are refused in one sentence."""

import itertools
import struct

import numpy as np
import pytest

from stairs.errors import BadInput, Unsupported
from stairs.formats import sentencepiece as form
from stairs.text.tokenizers.sentencepiece_file import BYTE, CONTROL, NORMAL, UNKNOWN_TYPE, UNUSED, USER_DEFINED, Piece, SentencePieceModel, field
from stairs.text.tokenizers.sentencepiece_normalizer import SentencePieceNormalizer
from stairs.text.tokenizers.sentencepiece_tokenizer import SentencePieceTokenizer
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

SPECIAL = (Piece("<unk>", 0.0, UNKNOWN_TYPE), Piece("<s>", 0.0, CONTROL), Piece("</s>", 0.0, CONTROL))
SCORES = {"▁": -3.0, "a": -2.0, "b": -2.5, "c": -3.0, "ab": -3.5, "bc": -3.25, "▁a": -4.0, "abc": -7.0}


def model(kind="unigram", more=(), **settings):
    return SentencePieceModel((*SPECIAL, *(Piece(text, score, NORMAL) for text, score in SCORES.items()), *more), kind, **settings)


def pieces(tokenizer, text):
    return [tokenizer.vocabulary[i] for i in tokenizer.encode(text)]


def charsmap(rules):
    """A table of one-byte sources, by hand: the root's children are at 256 ^ byte, and each has its value where the byte's own offset leads."""
    units, replacements = np.zeros(1024, np.uint32), b""
    units[0] = 256 << 10
    for at, (source, replacement) in enumerate(rules.items()):
        place, leaf = 256 ^ ord(source), 600 + at
        units[place] = (place ^ leaf) << 10 | 1 << 8 | ord(source)
        units[leaf] = 1 << 31 | len(replacements)
        replacements += replacement.encode() + b"\0"
    return struct.pack("<I", units.nbytes) + units.tobytes() + replacements


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_file_is_read_as_it_was_written(tmp_path, kind):
    extra = (Piece("<0x41>", 0.0, BYTE), Piece("[MASK]", 0.0, USER_DEFINED), Piece("cc", -9.0, UNUSED))
    written = model(
        kind, extra, charsmap=charsmap({"Z": "ab"}), normalization="mine", adds_dummy_prefix=False, removes_extra_spaces=False, byte_fallback=True
    )
    (tmp_path / "m.model").write_bytes(written.to_bytes())
    assert SentencePieceModel.read(tmp_path / "m.model") == written
    tokenizer = SentencePieceTokenizer.read(tmp_path / "m.model")
    assert tokenizer.vocabulary[:6] == ["[PAD]", "<unk>", "<s>", "</s>", "[MASK]", "▁"]  # roles have our ids, the others follow
    tokenizer.save(tmp_path)
    again = Tokenizer.load(tmp_path)
    assert isinstance(again, SentencePieceTokenizer) and again.hash == tokenizer.hash and again.encode("abc [MASK]") == tokenizer.encode("abc [MASK]")


def test_unigram_finds_the_best_of_all_cuts():
    tokenizer = SentencePieceTokenizer(model())
    for text in map("".join, itertools.product("abc", repeat=5)):
        word = "▁" + text
        cuts = [
            [word[a:b] for a, b in itertools.pairwise((0, *cut, len(word)))]
            for n in range(6)
            for cut in itertools.combinations(range(1, len(word)), n)
        ]
        best = max(sum(SCORES[piece] for piece in cut) for cut in cuts if all(piece in SCORES for piece in cut))
        assert sum(SCORES[piece] for piece in pieces(tokenizer, text)) == best


def test_bpe_joins_the_highest_score_first():
    tokenizer = SentencePieceTokenizer(model("bpe"))
    assert pieces(tokenizer, "abc") == ["▁a", "bc"]  # bc scores more than ab, and then ▁a more than abc
    assert pieces(tokenizer, "cab") == ["▁", "c", "ab"]
    assert pieces(SentencePieceTokenizer(model("bpe", (Piece("ca", -1.0, UNUSED),))), "cab") == ["▁", "c", "a", "b"]  # joined, but it may not stay


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_unknown_characters_are_one_token_or_their_bytes(kind):
    assert pieces(SentencePieceTokenizer(model(kind)), "a中国b") == ["▁a", "<unk>", "b"]
    spelled = SentencePieceTokenizer(model(kind, tuple(Piece(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)), byte_fallback=True))
    assert pieces(spelled, "a中") == ["▁a", "<0xE4>", "<0xB8>", "<0xAD>"]
    assert spelled.decode(spelled.encode("a中 b")) == "a中 b"


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_user_defined_pieces_stay_and_control_pieces_are_never_in_a_text(kind):
    tokenizer = SentencePieceTokenizer(model(kind, (Piece("aca", 0.0, USER_DEFINED),)))
    assert pieces(tokenizer, "bacab") == ["▁", "b", "aca", "b"]
    assert tokenizer.begin not in tokenizer.encode("<s>")


def test_normalization_and_offsets():
    normalizer = SentencePieceNormalizer(charsmap({"Z": "ab", "\t": " "}), ["ZZ"], True, True)
    assert normalizer.normalize("  a \t  Z ZZ ") == " a ab ZZ"
    assert normalizer.normalize(" ") == normalizer.normalize("") == ""
    text, origins = normalizer.normalize_with_origins("a\t\tZ")
    assert text == " a ab" and origins == [(0, 0), (0, 1), (1, 2), (3, 4), (3, 4)]
    tokenizer = SentencePieceTokenizer(model(charsmap=charsmap({"Z": "ab"})))
    encoding = tokenizer.encode_with_offsets("ca  Zc")
    assert [(tokenizer.vocabulary[i], "ca  Zc"[start:end]) for i, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)] == [
        ("▁", ""), ("c", "c"), ("a", "a"), ("▁a", "  Z"), ("bc", "Zc")]  # fmt: skip


def test_what_we_write_has_the_ids_of_the_run(tmp_path):
    text = ["the cat sat on the mat", "the dog sat on the log, didn't it?"] * 20
    tokenizer = Tokenizer.train(TokenizerSpec("unigram", 128), lambda: [text])
    form.write(tokenizer, str(tmp_path / "m.model"))
    written = SentencePieceTokenizer.read(tmp_path / "m.model")
    assert form.compare(tokenizer, str(tmp_path / "m.model"))["texts"] > 3
    assert written.vocabulary == tokenizer.vocabulary and written.encode(text[1]) == tokenizer.encode(text[1])
    for spec in (TokenizerSpec("bpe", 64), TokenizerSpec("unigram", 128, lowercase=True)):
        with pytest.raises(Unsupported, match="train"):
            form.write(Tokenizer.train(spec, lambda: [text]), str(tmp_path / "no.model"))


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"the cat sat on the mat", "begins no field of a protobuf message"),
        (b"", "no pieces"),
        (model().to_bytes()[:-3], "ends in the middle"),
        (model("unigram", (Piece("a", 0.0, NORMAL),)).to_bytes(), "listed twice"),
        (model().to_bytes() + field(2, field(3, 3)), "of the type word; only unigram and bpe"),
        (model().to_bytes() + field(2, field(3, 4)), "of the type char; only unigram and bpe"),
        (model().to_bytes() + field(2, field(3, 1) + field(24, 1)), "marks words at their end"),
        (model("bpe", (Piece("a▁b", -1.0, NORMAL),)).to_bytes(), "crosses a space"),
        (model(charsmap=b"\xff\xff\xff\x00abc").to_bytes(), "normalization table is damaged"),
    ],
)
def test_files_of_an_unknown_kind_are_refused_in_one_sentence(tmp_path, raw, sentence):
    (tmp_path / "m.model").write_bytes(raw)
    with pytest.raises((BadInput, Unsupported), match=sentence) as refusal:
        SentencePieceTokenizer.read(tmp_path / "m.model")
    assert str(refusal.value).startswith(str(tmp_path / "m.model")) and str(refusal.value).count("\n") == 0


def test_training_with_a_file(stairs, tmp_path):
    (tmp_path / "text.txt").write_text("a ab abc cab. bca ba!\n" * 60, "utf-8")
    (tmp_path / "m.model").write_bytes(model().to_bytes())
    assert stairs("train", "ngram", "text.txt", "--tokenizer", "m.model", "--out", "run").returncode == 0
    assert stairs("convert", "run", "sentencepiece", "--out", "again.model").returncode == 0
    assert SentencePieceTokenizer.read(tmp_path / "again.model").encode("abc") == SentencePieceTokenizer.read(tmp_path / "m.model").encode("abc")
    refused = stairs("train", "ngram", "text.txt", "--tokenizer", "m.model", "--lowercase", "--out", "other")
    assert refused.returncode == 2 and "trained already" in refused.stderr
