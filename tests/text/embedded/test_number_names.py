"""Number names: textbook examples, and parsing them with independent rules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.errors import BadInput
from stairs.text.embedded.number_names import (
    ENGLISH_SMALL,
    ENGLISH_TENS,
    MAX_ENGLISH_WORDS,
    NAME_LIMIT,
    SET_SIZES,
    chinese_name,
    english_name,
    english_word_count,
    number_names,
    number_pairs,
)

KNOWN = {
    0: ("zero", "零"),
    2: ("two", "二"),
    10: ("ten", "十"),
    13: ("thirteen", "十三"),
    21: ("twenty-one", "二十一"),
    100: ("one hundred", "一百"),
    105: ("one hundred five", "一百零五"),
    110: ("one hundred ten", "一百一十"),
    1010: ("one thousand ten", "一千零一十"),
    10000: ("ten thousand", "一万"),
    100010: ("one hundred thousand ten", "十万零一十"),
    203000: ("two hundred three thousand", "二十万三千"),
    200003: ("two hundred thousand three", "二十万零三"),
    21000105: ("twenty-one million one hundred five", "二千一百万零一百零五"),
    100003000: ("one hundred million three thousand", "一亿零三千"),
    120003000: ("one hundred twenty million three thousand", "一亿二千万三千"),
    10**12: ("one trillion", "一万亿"),
    10**12 + 1: ("one trillion one", "一万亿零一"),
    10**12 + 5 * 10**8: ("one trillion five hundred million", "一万零五亿"),
}


ROUND = st.builds(lambda number, zeros: number * 10**zeros, st.integers(0, 99), st.integers(0, 13))


def read_english(name: str) -> int:
    scales = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "quadrillion": 10**15}
    total = group = 0
    for word in name.replace("-", " ").split():
        if word in scales:
            total, group = total + group * scales[word], 0
        elif word == "hundred":
            group *= 100
        else:
            group += ENGLISH_SMALL.index(word) if word in ENGLISH_SMALL else 10 * ENGLISH_TENS.index(word)
    return total + group


def read_chinese(name: str) -> int:
    if "亿" in name:
        high, low = name.split("亿")
        return read_chinese(high) * 10**8 + read_chinese(low)
    if "万" in name:
        high, low = name.split("万")
        return read_chinese(high) * 10**4 + read_chinese(low)
    total, digit = 0, 0
    for sign in "一" + name if name.startswith("十") else name:
        if sign in "十百千":
            total, digit = total + digit * {"十": 10, "百": 100, "千": 1000}[sign], 0
        else:
            digit = "零一二三四五六七八九".index(sign)
    return total + digit


@pytest.mark.parametrize(("number", "names"), KNOWN.items())
def test_textbook_examples(number, names):
    assert (english_name(number), chinese_name(number)) == names


@settings(derandomize=True, max_examples=300)
@given(st.one_of(st.integers(0, NAME_LIMIT - 1), st.integers(0, 10**6), ROUND))
def test_names_read_back_as_the_number(number):
    assert read_english(english_name(number)) == number
    name = chinese_name(number)
    assert read_chinese(name) == number
    assert "零零" not in name and "两" not in name
    assert number == 0 or not name.endswith("零")


def test_numbers_are_different_in_range_and_fixed_by_the_seed():
    examples = number_names(500, seed=3, lowest=5, highest=10**12)
    assert examples == number_names(500, seed=3, lowest=5, highest=10**12)
    assert examples != number_names(500, seed=4, lowest=5, highest=10**12)
    values = [read_english(example.source) for example in examples]
    assert len(set(values)) == 500 and min(values) >= 5 and max(values) <= 10**12
    assert [read_chinese(example.target) for example in examples] == values
    assert sum(value < 10**6 for value in values) > 100 < sum(value > 10**8 for value in values)


def test_a_range_can_be_used_up_and_a_narrow_one_is_found():
    assert {example.source for example in number_names(10, lowest=0, highest=9)} == set(ENGLISH_SMALL[:10])
    assert len(number_names(20, lowest=10**12 - 1000, highest=10**12)) == 20


@pytest.mark.parametrize("number", [-1, NAME_LIMIT, 1.5])
def test_a_number_without_a_name_is_refused(number):
    with pytest.raises(BadInput, match=r"no name for .*; give a whole number from 0"):
        chinese_name(number)


def test_more_than_there_are_is_refused():
    with pytest.raises(BadInput, match="no 11 different numbers from 0 to 9; give a smaller count"):
        number_names(11, lowest=0, highest=9)


def test_the_sets_share_no_number_and_longer_ones_need_no_new_word():
    sets = {name: number_pairs(name) for name in SET_SIZES}
    assert {name: len(examples) for name, examples in sets.items()} == SET_SIZES
    known, *others = ({example.where for example in examples} for examples in sets.values())
    assert not any(known & other for other in others)
    assert max(map(english_word_count, sets["numbers"])) == MAX_ENGLISH_WORDS < min(map(english_word_count, sets["longer-numbers"]))
    words = {word for example in sets["numbers"] for word in example.source.replace("-", " ").split()}
    characters = {character for example in sets["numbers"] for character in example.target}
    for example in sets["longer-numbers"]:
        assert set(example.source.replace("-", " ").split()) <= words and set(example.target) <= characters
