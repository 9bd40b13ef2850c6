"""Sentence ends of English and Chinese."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.text.sentences import MAX_SENTENCE_CHARACTERS, split_sentences


def marked(text: str) -> list[str]:
    return [piece.strip() for piece in text.split("|")]


@pytest.mark.parametrize(
    "text",
    [
        "It rained. | We left! | Why? | Who knows...",
        "Dr. Li met Mr. and Mrs. J. R. Smith of St. Louis. | They talked.",
        "Pi is 3.14159 or so. | It costs $2.50 at No. 5 Main St. in town.",
        "He lives in the U.S. Army base. | She left the U.S. | The end came at 5 p.m. | He slept.",
        "See Fig. 3 and pp. 4, e.g. Newton, i.e. the first. | Then stop.",
        "“Is it you?” she asked. | “Yes.” | He smiled.",
        '"Stop!" | Nobody did. | (It was late.) | So we went.',
        "Apple Inc. Chief Cook left in Jan. 2001. | Apple Inc. | The rest stayed.",
        "Wait... what? | Well... | Nothing happened.",
        "Yahoo! was a company. | 25 people came. | World War I. | It ended.",
        "Version 2.0.1 of example.com works. | Visit www.example.com.",
        "1. First things first. | 2 came later.",
        "Born c. 1500 in Ghent. | Smith et al. wrote it. | John F. Kennedy vs. Richard M. Nixon.",
        "Élan vital. | Über alles. | étude follows.".replace("| étude", "étude"),
    ],
)
def test_english(text):
    assert split_sentences(text.replace("| ", "")) == marked(text)


@pytest.mark.parametrize(
    "text",
    [
        "今天很好。|我们走吧！|去哪里？|不知道……|算了。",
        "他说：“你好。”|她笑了。|「真的嗎？」|他問。",
        "《你好！李焕英》是一部电影。|《加油！》也是。",
        "面积3.5平方公里，人口1.2万。|首府是U.S. Army的驻地。",
        "（完。）|下一章。",
        "好啊!|你呢?|我也好!",
        "「你好嗎？」的意思。|“去吧！”，他说。",
        "他走了；她来了，然后呢？！|没有了。",
        "第一句。|Second one. |第三句。| Fourth!",
    ],
)
def test_chinese(text):
    assert split_sentences(text.replace("|", "")) == marked(text)


def test_lines_end_sentences():
    assert split_sentences("a heading\nText goes on\n\n here. And here.\n") == ["a heading", "Text goes on", "here.", "And here."]
    assert split_sentences("第一行\n第二行") == ["第一行", "第二行"]
    assert split_sentences("one\u2028still one") == ["one\u2028still one"]
    assert split_sentences("") == split_sentences(" \n\t\u3000\n") == []


def test_very_long_sentences_are_cut():
    words = split_sentences("word " * 5000)
    assert len(words) == 3 and all(len(piece) <= MAX_SENTENCE_CHARACTERS and piece.endswith("word") for piece in words)
    assert [len(piece) for piece in split_sentences("字" * 25_000)] == [MAX_SENTENCE_CHARACTERS, MAX_SENTENCE_CHARACTERS, 5000]


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=80), st.text(alphabet="aAZ1.!?…。！？”’」)《》的，U.S \n\t\u2028\x1f", max_size=60)))
def test_nothing_but_whitespace_is_lost(text):
    pieces = split_sentences(text)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece and piece == piece.strip() and "\n" not in piece for piece in pieces)


@pytest.mark.parametrize("unit", [".", "!", "。", ". ", '."', "《。", "A. ", "…)", "1. ", " "])
def test_hostile_repetition_takes_linear_time(unit):
    started = time.process_time()
    split_sentences(unit * (400_000 // len(unit)))
    assert time.process_time() - started < 3
