import json
import lzma
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.errors import BadInput
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.bulk_tokenization import BulkEncoder
from stairs.text.tokenizers.joining import join_words
from stairs.text.tokenizers.spec import assemble_backend, rebuild_model
from stairs.text.tokenizers.tokenizer import KINDS, Tokenizer, TokenizerSpec

ENGLISH = [
    ["The cat sat on the mat, didn't it?", "It's 3.14 or 1,000 -- well-known (to some)."],
    ["Straße, naïve café; ΣΊΣΥΦΟΣ İstanbul!", "A  tab\tand   spaces …", "'twas we'll they're I'd i'm you've o'clock 's"],
]
CHINESE = [
    ["我来到北京清华大学。", "研究生命起源，2003年完成Python的ABC；臺灣𠮷野家。"],
    ["他说：“中文分词很好！”", "全角　空格 和 数字１２３"],
]
INJECTED = [["[MASK] [PAD][UNK] [CLS]x[SEP] </s> <s> <|endoftext|> ▁[MASK] ##a a</w>"] * 40]
DOCUMENTS = ENGLISH * 3 + CHINESE * 3 + INJECTED


def spec(kind, **more):
    return TokenizerSpec(kind, vocab_size=None if kind in ("words", "characters") else 400, **more)


@pytest.fixture(scope="module")
def trained():
    return {kind: Tokenizer.train(spec(kind), lambda: DOCUMENTS) for kind in KINDS}


def expected(tokenizer, documents):
    """[SEP] closes a sentence, [CLS] the last of a document."""
    ids = []
    for document in documents:
        for sentence in document:
            ids += [*tokenizer.backend.encode(tokenizer.preprocess(sentence), add_special_tokens=False).ids, 3]
        ids[-1] = 2
    return ids


# textbook examples

LOW = [["low " * 5 + "lower " * 2 + "newest " * 6 + "widest " * 3]]  # Sennrich, Haddow and Birch 2016


def merges(tokenizer):
    return [tuple(pair) for pair in json.loads(tokenizer.backend.to_str())["model"]["merges"]]


def test_bpe_merges_as_worked_by_hand():
    # low 5, lower 2, newest 6, widest 3: e+s 9, then es+t</w> 9, then l+o 7, and e+w, first of the three pairs that occur 6 times
    tokenizer = Tokenizer.train(TokenizerSpec("bpe", vocab_size=100), lambda: LOW)
    trained_text = merges(tokenizer)
    assert trained_text[:4] == [("e", "s"), ("es", "t</w>"), ("l", "o"), ("e", "w")]
    assert {"".join(pair) for pair in trained_text} >= {"low</w>", "lower</w>", "newest</w>", "widest</w>"}
    assert tokenizer.tokens("lowest newest") == ["lo", "w", "est</w>", "newest</w>"]  # never seen, made of what was


def test_bpe_stops_when_no_pair_repeats():
    assert merges(Tokenizer.train(TokenizerSpec("bpe", vocab_size=100), lambda: [["abcd efgh"]])) == []


def test_every_character_of_bpe_and_wordpiece_is_known_in_every_place():
    for kind in ("bpe", "wordpiece"):
        tokenizer = Tokenizer.train(TokenizerSpec(kind, vocab_size=200), lambda: [["qu qu ab"]])
        assert tokenizer.unknown_words("uq b ba q u") == []


def wordpiece(pieces):
    path = None
    vocabulary = {token: number for number, token in enumerate([*SPECIAL_TOKENS, *pieces])}
    chosen = TokenizerSpec("wordpiece")
    return Tokenizer(chosen, assemble_backend(chosen, rebuild_model(chosen, {"vocab": vocabulary}, path)))


def test_wordpiece_takes_the_longest_piece_first():
    tokenizer = wordpiece(["un", "una", "##aff", "##ff", "##able", "##a", "##ble", "##able"][:-1])
    assert tokenizer.tokens("unaffable") == ["una", "##ff", "##able"]  # greedy: "una", though "un ##aff ##able" would do as well
    assert wordpiece(["un", "##aff", "##able"]).tokens("unaffable") == ["un", "##aff", "##able"]  # Devlin's own example
    assert wordpiece(["un", "##aff"]).tokens("unaffable") == ["[UNK]"]  # one missing piece makes the whole word unknown


def test_unigram_takes_the_most_probable_cut():
    chosen = TokenizerSpec("unigram")
    probabilities = {"▁": 0.1, "h": 0.05, "u": 0.05, "g": 0.05, "s": 0.1, "hu": 0.1, "ug": 0.2, "hug": 0.15, "▁h": 0.05, "gs": 0.01}
    pieces = [[token, -1e6] for token in SPECIAL_TOKENS] + [[piece, math.log(p)] for piece, p in probabilities.items()]
    tokenizer = Tokenizer(chosen, assemble_backend(chosen, rebuild_model(chosen, {"vocab": pieces}, None)))
    # ▁ hug s = .1 * .15 * .1 = .0015; ▁h ug s = .05 * .2 * .1 = .001; ▁ hu gs = .0001
    assert tokenizer.tokens("hugs") == ["▁", "hug", "s"]
    assert tokenizer.tokens("ugh") == ["▁", "ug", "h"]


def test_words_come_by_count_then_by_first_appearance():
    tokenizer = Tokenizer.train(TokenizerSpec(), lambda: [["b a a c", "c c ."], ["d"]])
    assert tokenizer.vocabulary == [*SPECIAL_TOKENS, "c", "a", "b", ".", "d"]
    small = Tokenizer.train(TokenizerSpec(vocab_size=7), lambda: [["b a a c", "c c ."], ["d"]])
    assert small.vocabulary[5:] == ["c", "a"] and small.tokens("c b") == ["c", "[UNK]"]
    assert Tokenizer.train(TokenizerSpec(min_count=2), lambda: [["b a a c", "c c ."]]).vocab_size == 7


# every kind


@pytest.mark.parametrize("kind", KINDS)
def test_bulk_ids_are_those_of_the_library(trained, kind):
    assert BulkEncoder(trained[kind]).encode_documents(DOCUMENTS).ids.tolist() == expected(trained[kind], DOCUMENTS)


TEXTS = st.lists(
    st.lists(
        st.text(
            st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \t'stveld 1.,中文ΣİA▁\u3000\u00a0\u2028\x1c"),
            min_size=1,
            max_size=30,
        ),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(derandomize=True, max_examples=60, deadline=None)
@given(documents=TEXTS)
def test_bulk_ids_are_those_of_the_library_for_any_text(trained, kind, lowercase, documents):
    tokenizer = trained[kind]
    if lowercase:
        tokenizer = Tokenizer(spec(kind, lowercase=True), assemble_backend(spec(kind, lowercase=True), tokenizer.backend.model))
    encoded = BulkEncoder(tokenizer).encode_documents(documents)
    assert encoded.ids.tolist() == expected(tokenizer, documents)
    assert encoded.unknown_words == sum(len(tokenizer.unknown_words(sentence)) for document in documents for sentence in document)


@pytest.mark.parametrize("kind", ["words", "bpe", "wordpiece"])
@pytest.mark.parametrize("chinese", ["words", "characters"])
def test_bulk_ids_for_both_ways_of_chinese(kind, chinese):
    tokenizer = Tokenizer.train(spec(kind, chinese=chinese), lambda: DOCUMENTS)
    assert BulkEncoder(tokenizer).encode_documents(DOCUMENTS).ids.tolist() == expected(tokenizer, DOCUMENTS)
    if kind == "words":
        assert tokenizer.tokens("清华大学") == (["清华大学"] if chinese == "words" else ["清", "华", "大", "学"])


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_that_forgets_gives_the_same_ids(trained, kind, monkeypatch):
    monkeypatch.setattr("stairs.text.tokenizers.bulk_tokenization.MAX_PRETOKENS", 3)
    encoder = BulkEncoder(trained[kind])
    ids = [one for document in DOCUMENTS for one in encoder.encode_documents([document]).ids.tolist()]
    assert ids == expected(trained[kind], DOCUMENTS)


@pytest.mark.parametrize("kind", ["words", "byte-bpe"])
def test_tables_grow(trained, kind):
    documents = [[f"w{number} {'x' * (number % 50)}é{number}" for number in range(start, start + 1000)] for start in range(0, 60_000, 1000)]
    encoder = BulkEncoder(trained[kind])
    ids = encoder.encode_documents(documents).ids.tolist()
    assert encoder.pretokens.distinct_count > 1 << 15 and ids == expected(trained[kind], documents)


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_in_a_text_are_ordinary_text(trained, kind):
    tokenizer = trained[kind]  # trained on a text full of them
    for text in [*SPECIAL_TOKENS, "A [MASK] A", "x[SEP]", "[CLS][CLS]", "</s>", "<|endoftext|>", "▁[PAD]", "\u200b[MASK]"]:
        assert not set(tokenizer.encode(text)) & {tokenizer.pad, tokenizer.begin, tokenizer.end, tokenizer.mask}
        assert not set(BulkEncoder(tokenizer).encode_documents([[text]]).ids[:-2].tolist()) & {0, 2, 3, 4}
        if "\u200b" not in text:
            assert tokenizer.unknown not in tokenizer.encode(text)


@pytest.mark.parametrize("kind", KINDS)
def test_training_twice_gives_the_same(trained, kind):
    assert {Tokenizer.train(spec(kind), lambda: DOCUMENTS).hash for _ in range(4)} == {trained[kind].hash}


@pytest.mark.parametrize("kind", KINDS)
def test_special_ids_are_fixed(trained, kind):
    tokenizer = trained[kind]
    assert tokenizer.vocabulary[:5] == list(SPECIAL_TOKENS)
    assert (tokenizer.pad, tokenizer.unknown, tokenizer.begin, tokenizer.end, tokenizer.mask) == (0, 1, 2, 3, 4)
    assert len(tokenizer.vocabulary) == tokenizer.vocab_size
    assert [tokenizer.id(token) for token in tokenizer.vocabulary] == list(range(tokenizer.vocab_size))
    assert tokenizer.id("no such token at all") == tokenizer.unknown
    with pytest.raises(BadInput, match="vocabulary ends at"):
        tokenizer.token(tokenizer.vocab_size)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_byte_bpe_brings_any_text_back(trained, text):
    assert trained["byte-bpe"].decode(trained["byte-bpe"].encode(text)) == text


@pytest.mark.parametrize(
    "text", ["e\u0301" + "\u0316" * 1000, "👩‍👩‍👧‍👦🇨🇳", "\U000f0000\U0010ffff\ufdd0", "a\u202eb\u200d\ufeff", "\x00\x1b[31m", "  a\n\n b\t"]
)
def test_byte_bpe_brings_odd_text_back(trained, text):
    assert trained["byte-bpe"].decode(trained["byte-bpe"].encode(text)) == text


def test_characters_bring_seen_text_back(trained):
    text = "It's  the 中文 mat."
    assert trained["characters"].decode(trained["characters"].encode(text)) == text
    assert trained["characters"].tokens("a b") == ["a", " ", "b"]


@pytest.mark.parametrize("kind", ["words", "bpe", "wordpiece", "unigram", "byte-bpe"])
def test_decoding_restores_the_spaces(trained, kind):
    for text in ("The cat sat on the mat, didn't it?", "It's 3.14 or 1,000!", "我来到北京清华大学。", "研究2003年完成"):
        assert trained[kind].decode([2, *trained[kind].encode(text), 3, 0]) == text


def test_join_words():
    quoted = ["He", "said", ":", '"', "it", "'", "s", "$", "5", "(", "or", "3", ".", "5", ")", "!", '"']
    assert join_words(quoted) == 'He said: "it\'s $5 (or 3.5)!"'
    assert join_words(["在", "2003", "年", "，", "Python", "很", "好"]) == "在2003年，Python很好"
    assert join_words([]) == ""


def test_groups_for_whole_word_masking(trained):
    for kind in ("bpe", "wordpiece", "byte-bpe", "unigram"):
        tokenizer = trained[kind]
        tokens, groups = tokenizer.tokens("unbelievable things"), tokenizer.word_ids("unbelievable things")
        assert len(tokens) == len(groups) and set(groups) == {0, 1} and groups == sorted(groups)
    assert trained["wordpiece"].word_ids("我来到北京清华大学") == [0, 1, 1, 2, 2, 3, 3, 3, 3]
    assert trained["characters"].word_ids("北京ab c") == [0, 0, 1, 1, 2, 3]
    assert trained["words"].word_ids("北京 is big.") == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
@settings(derandomize=True, max_examples=40, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("ab 中文,"), max_size=40))
def test_groups_count_up_by_one(trained, kind, text):
    groups = trained[kind].word_ids(text)
    assert len(groups) == len(trained[kind].encode(text))
    assert all(later - earlier in (0, 1) for earlier, later in zip([-1, *groups], groups, strict=False)) or not groups


def test_unknown_words_and_their_spelling():
    tokenizer = Tokenizer.train(TokenizerSpec(), lambda: [["ab a"]])
    assert tokenizer.unknown_words("ab zz q a") == ["zz", "q"]
    # letters a 2, b 1, end 2, one added to each, and one slot for the unseen: 5 + 3 + 1 = 9
    assert tokenizer.spelling_bits("ba") == pytest.approx(-math.log2(2 / 9) - math.log2(3 / 9) - math.log2(3 / 9))
    assert tokenizer.spelling_bits("z") == pytest.approx(math.log2(9) + math.log2(0x110000) - math.log2(3 / 9))
    encoded = BulkEncoder(tokenizer).encode_documents([["ab zz q a", "zz"]])
    assert encoded.unknown_words == 3
    assert encoded.spelling_bits == pytest.approx(2 * tokenizer.spelling_bits("zz") + tokenizer.spelling_bits("q"))


def test_rare_characters_become_visible_unknowns(trained):
    for kind in ("words", "characters", "bpe", "wordpiece", "unigram"):
        assert trained[kind].tokens("a ☃").count("[UNK]") == 1


@pytest.mark.parametrize("text", ["\ud800", "a\udfff b"])
@pytest.mark.parametrize("kind", KINDS)
def test_half_a_surrogate_pair_is_refused(trained, kind, text):
    tokenizer = trained[kind]
    for attempt in (
        lambda: tokenizer.encode(text),
        lambda: tokenizer.encode_batch([text]),
        lambda: BulkEncoder(tokenizer).encode_documents([[text]]),
        lambda: Tokenizer.train(spec(kind), lambda: [[text, "a b"]]),
    ):
        with pytest.raises(BadInput, match="surrogate"):
            attempt()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wiki_en", "wiki_zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_bulk_ids_on_real_text(kind, name, data):
    with lzma.open(data / "corpora" / f"{name}.txt.xz", "rt", encoding="utf-8") as file:
        documents = [text.split("\n") for text in file.read(1_000_000).split("\n\n")]
    tokenizer = Tokenizer.train(TokenizerSpec(kind), lambda: documents[:20])
    assert BulkEncoder(tokenizer).encode_documents(documents).ids.tolist() == expected(tokenizer, documents)
