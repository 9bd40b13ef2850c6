"""SentencePiece's files beside the package: equal ids for every line of real text, read and written, in English and Chinese."""

import lzma

import pytest

from stairs.formats import sentencepiece as form
from stairs.text.tokenizers.sentencepiece_tokenizer import SentencePieceTokenizer
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

pytestmark = pytest.mark.reference
CHARACTERS = 250_000
ODD = [
    "", " ", "  a  b  ", "▁x▁", "x  ▁  y ▁", "\ta\u3000b ", "ﬁ ½ Ａ１ é e\u0301 ￥ ㌔", "\u00a8", "\u00a8x", "00000 000000000 0000", "🙂🙂 x🙂",
    "<s> </s> <unk> [MASK] [UNK]", "\u1112\u1161\u11ab", "\u0915\u093c\u093e", "a\u200bb\u00adc", "<foo>bar<foo> <foo>x<foo", "www 1111111 ......",
]  # fmt: skip
SETTINGS = {
    "as it is": {},
    "bytes": {"byte_fallback": True, "character_coverage": 0.98},
    "own symbols": {
        "user_defined_symbols": ["<foo>", "[MASK]", "ing", "的", "!"], "control_symbols": ["<ctl>"], "pad_id": 0, "unk_id": 1, "bos_id": 2,
        "eos_id": 3,
    },
    "no prefix": {"normalization_rule_name": "identity", "add_dummy_prefix": False},
    "all spaces": {"normalization_rule_name": "nfkc_cf", "remove_extra_whitespaces": False},
}  # fmt: skip


@pytest.fixture(scope="module")
def package():
    return pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")


@pytest.fixture(scope="module", params=["en", "zh"])
def lines(request, data):
    with lzma.open(data / "corpora" / f"wiki_{request.param}.txt.xz", "rt", encoding="utf-8") as file:
        return file.read(CHARACTERS // (1 if request.param == "en" else 3)).split("\n")


def trained(package, lines, folder, kind, settings):
    (folder / "text").write_text("\n".join(lines), "utf-8")
    shared = {"vocab_size": 4500, "hard_vocab_limit": kind == "bpe", "num_threads": 1, "minloglevel": 2}
    package.SentencePieceTrainer.train(input=str(folder / "text"), model_prefix=str(folder / "m"), model_type=kind, **shared, **settings)
    return folder / "m.model"


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_every_line_has_the_packages_ids(package, lines, tmp_path, kind, name):
    path = trained(package, lines, tmp_path, kind, SETTINGS[name])
    ours, theirs = SentencePieceTokenizer.read(path), package.SentencePieceProcessor(model_file=str(path))
    texts = [*lines, *ODD]
    assert [ours.piece_ids(text) for text in texts] == theirs.encode(texts)
    form.write(ours, str(tmp_path / "ours.model"))  # in the order of our ids
    again = package.SentencePieceProcessor(model_file=str(tmp_path / "ours.model"))
    assert [ours.encode(text) for text in texts] == again.encode(texts)
    unknown = ours.vocabulary[ours.unknown]
    assert [ours.decode(ours.encode(line)).replace(unknown, " ⁇ ") for line in lines] == theirs.decode(theirs.encode(lines))
    assert (again.pad_id(), again.unk_id(), again.bos_id(), again.eos_id()) == (0, 1, 2, 3)


def test_our_unigram_has_the_same_ids_in_the_package(package, lines, tmp_path):
    tokenizer = Tokenizer.train(TokenizerSpec("unigram", 4500), lambda: [lines])
    form.write(tokenizer, str(tmp_path / "ours.model"))
    theirs = package.SentencePieceProcessor(model_file=str(tmp_path / "ours.model"))
    texts = [text for text in (*lines, *ODD) if not text.startswith((" ", "▁"))]
    different = [text for text in texts if theirs.encode(text) != tokenizer.encode(text)]
    for text in different:  # only where two cuts have the same score
        a, b = sorted(theirs.encode(text)), sorted(tokenizer.encode(text))
        assert a == b, text
    assert len(different) <= len(texts) / 100
