from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.text import chinese
from stairs.text.subwords import subword_buckets

ANYTHING = st.characters(exclude_categories=["Cs"])


def test_words_of_the_textbook_sentence():
    assert chinese.segmenter().segment("我来到北京清华大学") == ["我", "来到", "北京", "清华大学"]


def test_every_han_character_is_one_for_the_whole_project():
    for character in "中〇㐀豈𠮷𫝀𬺰丽𰀀":
        assert chinese.has_han(f"a{character}b") and chinese.is_cjk(character)
        first, buckets = subword_buckets([character], (3, 6), 1000)
        assert len(buckets) == 2 == first[1]  # the character itself, and <character>: a Latin letter has the second alone
    assert not any(map(chinese.has_han, ("a", "é", "。", "カ", "ｆ", "한", "")))
    assert [chinese.is_cjk(character) for character in "。カｆ한é "] == [True, True, True, False, False, False]
    ranges = [range(first, last + 1) for first, last in chinese.HAN_RANGES]
    assert all(len(chinese.HAN_RUN.fullmatch("".join(map(chr, own)))[0]) == len(own) for own in ranges)


def test_spaces_go_around_chinese_words_only():
    assert chinese.space_words("I like 北京大学, ok") == "I like  北京大学 , ok"
    assert chinese.space_words("研究生命abc起源").split() == ["研究", "生命", "abc", "起源"]
    assert chinese.space_words("plain") == "plain"


def test_spans_name_the_words():
    text = "在北京,研究"
    assert [text[start:end] for start, end in chinese.chinese_word_spans(text)] == ["在", "北京", "研究"]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(text=st.text(ANYTHING | st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF) | st.sampled_from("𠮷〇㐀豈"), max_size=40))
def test_nothing_but_spaces_is_added_and_nothing_is_lost(text):
    assert chinese.space_words(text).replace(" ", "") == text.replace(" ", "")


def test_jieba_replaces_rjieba(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(chinese, "find_spec", lambda name: None)
    chinese.segmenter.cache_clear()
    try:
        assert chinese.segmenter().name == "jieba"
        assert chinese.segmenter().segment("我来到北京清华大学") == ["我", "来到", "北京", "清华大学"]
    finally:
        chinese.segmenter.cache_clear()
