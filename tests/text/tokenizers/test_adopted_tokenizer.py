"""Tokenizers of other tools: the same ids, their own special tokens, and nothing but vocabulary and switches taken from a file."""

import json

import pytest
from tokenizers import Tokenizer as Library
from tokenizers import models, normalizers, pre_tokenizers

from stairs.errors import BadInput
from stairs.text.tokenizers.adopted_tokenizer import AdoptedTokenizer
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

TOKENS = ["[unused0]", "[PAD]", "[MASK]", "[CLS]", "[UNK]", "[SEP]", *"abcdehst", *(f"##{letter}" for letter in "abcdehst"), "the", "北", ",", "."]
TEXTS = ["The cab, sat.", "北京 ÀB [MASK] [SEP]", "zebra"]


def of_pieces(folder, lowercase=True):
    """tokenizer.json as BERT has it."""
    folder.mkdir(parents=True, exist_ok=True)
    library = Library(models.WordPiece({token: number for number, token in enumerate(TOKENS)}, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.add_special_tokens(TOKENS[1:6])
    library.save(str(folder / "tokenizer.json"))
    return library


@pytest.mark.parametrize("lowercase", [True, False])
def test_word_pieces(tmp_path, lowercase):
    library = of_pieces(tmp_path / "theirs", lowercase)
    library.encode_special_tokens = True
    tokenizer = AdoptedTokenizer.read(tmp_path / "theirs")
    assert (tokenizer.pad, tokenizer.mask, tokenizer.begin, tokenizer.unknown, tokenizer.end) == (1, 2, 3, 4, 5)
    assert [tokenizer.encode(text) for text in TEXTS] == [library.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert not set(tokenizer.encode("[MASK] [SEP][PAD]")) & {1, 2, 3, 5}  # no text is encoded as a special token
    assert tokenizer.vocabulary_settings["vocab_size"] == len(TOKENS) and tokenizer.spec.lowercase is lowercase
    assert tokenizer.decode([3, *tokenizer.encode("the cab, sat."), 5, 1]) == "the cab, sat."
    assert tokenizer.id("zebra") == tokenizer.unknown and tokenizer.unknown_words("zebra the") == ["zebra"]
    assert tokenizer.suppressed_ids == [1, 2, 3, 4]
    tokenizer.save(tmp_path / "ours")
    again = Tokenizer.load(tmp_path / "ours")
    assert isinstance(again, AdoptedTokenizer) and again.hash == tokenizer.hash and again.vocabulary_settings == tokenizer.vocabulary_settings
    assert again.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS) and again.word_ids("the cab") == tokenizer.word_ids("the cab") == [0, 1, 1, 1]


def test_vocab_txt_alone(tmp_path):
    library = of_pieces(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("\r\n".join(TOKENS), "utf-8")
    tokenizer = AdoptedTokenizer.read(tmp_path)
    assert tokenizer.encode(TEXTS[0]) == library.encode(TEXTS[0], add_special_tokens=False).ids
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert AdoptedTokenizer.read(tmp_path).unknown in AdoptedTokenizer.read(tmp_path).encode(TEXTS[0])


@pytest.mark.parametrize(("spoilt", "message"), [("a\n\nb", "txt:2"), ("a\nb\na", "txt:3"), ("a\nb\0\n", "txt:2"), ("\xff", "not UTF-8")])
def test_a_damaged_vocabulary_is_named_with_its_line(tmp_path, spoilt, message):
    (tmp_path / "vocab.txt").write_bytes(spoilt.encode("latin-1"))
    with pytest.raises(BadInput, match=message):
        AdoptedTokenizer.read(tmp_path)


def test_bytes(tmp_path):
    ours = Tokenizer.train(TokenizerSpec("byte-bpe", 280), lambda: [TEXTS * 9])
    model = json.loads(ours.backend.to_str())["model"]
    vocabulary = {token: number - 5 for token, number in model["vocab"].items() if number >= 5}
    vocabulary["<|endoftext|>"] = len(vocabulary)
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(merge) for merge in model["merges"]) + "\n", "utf-8")
    tokenizer = AdoptedTokenizer.read(tmp_path)
    end = len(vocabulary) - 1
    assert tokenizer.begin == tokenizer.end == tokenizer.pad == tokenizer.unknown == tokenizer.mask == end
    text = "The cab 北京 <|endoftext|>"
    assert tokenizer.decode(tokenizer.encode(text)) == text and end not in tokenizer.encode(text)
    assert tokenizer.encode(text) == [number - 5 for number in ours.encode(text)]
    assert tokenizer.suppressed_ids == []  # the end may be said
    wider = tokenizer.pad_vocabulary(end + 4)
    assert wider.vocab_size == end + 4 and wider.token(end + 3) == f"<unused {end + 3}>" and wider.encode(text) == tokenizer.encode(text)
    assert wider.suppressed_ids == [end + 1, end + 2, end + 3]


WRONG = [
    (lambda c: c.pop("model"), "no model"),
    (lambda c: c["model"].update(vocab=[]), "no vocabulary"),
    (lambda c: (c["model"].update(vocab={"a": 0, "[UNK]": 7}), c.update(added_tokens=[])), "ids are not"),
    (lambda c: c["model"].update(vocab={"\ud800": 0}), "surrogate"),
    (lambda c: c["model"].update(type="Unigram"), "Unigram"),
    (lambda c: c["model"].update(continuing_subword_prefix="@@"), "@@"),
    (lambda c: c["model"].update(unk_token="[none]"), "none"),
    (lambda c: c.update(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}}), "Split"),
    (lambda c: c.update(pre_tokenizer=None), "None"),
    (lambda c: c.update(normalizer={"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}), "Replace"),
    (lambda c: c["normalizer"].update(lowercase="yes"), "normalizer"),
    (lambda c: c["added_tokens"].append({"content": "[new]", "id": 99, "special": True}), "99"),
    (lambda c: c.update(added_tokens="no"), "added tokens"),
]


@pytest.mark.parametrize(("spoil", "message"), WRONG)
def test_crafted_files_are_refused(tmp_path, spoil, message):
    of_pieces(tmp_path)
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    spoil(content)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(BadInput, match=message) as error_of:
        AdoptedTokenizer.read(tmp_path)
    assert "\n" not in str(error_of.value) and "tokenizer.json" in str(error_of.value)


def test_nothing_there(tmp_path):
    with pytest.raises(BadInput, match=r"no tokenizer\.json"):
        AdoptedTokenizer.read(tmp_path)
    (tmp_path / "vocab.txt").write_text("[UNK]\na\nb\n")
    with pytest.raises(BadInput, match="no token ends a text"):
        AdoptedTokenizer.read(tmp_path)
