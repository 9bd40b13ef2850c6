"""The words that a tagger tags: those it is given, or a text segmented as its training words were."""

import re

import pytest

from stairs.text.segmentation import Segmentation

CONLL = [["Peter", "does", "n't", "like", "Ann", "'s", "U.S.", "trip", ",", "he", "said", "."]]
SPLIT_AT_SPACES = [["Peter", "doesn't", "like", "Ann's", "trip,", "he", "said."], ["Why?"]]
CHARACTERS = [list("我在2008年去了北京，很好。")]
WORDS = [["我", "在", "2008", "年", "去", "了", "北京", "，", "很", "好", "。"]]


@pytest.mark.parametrize(
    ("trained", "text", "words", "source"),
    [
        (CONLL, "I like Berlin.", "I|like|Berlin|.", "punctuation split"),
        (CONLL, "I like Berlin .", "I|like|Berlin|.", "given"),
        (CONLL, "Yahoo! pays Ann 's bill .", "Yahoo!|pays|Ann|'s|bill|.", "given"),  # a mark stands alone: it is cut already
        (CONLL, 'Mr. Smith (of St. Louis) said: "No." Then he left the U.S. for 3.5 days...',
         'Mr.|Smith|(|of|St.|Louis|)|said|:|"|No|.|"|Then|he|left|the|U.S.|for|3.5|days|...', "punctuation split"),
        (CONLL, "It rained. Ann's dog didn't care, e-mail a@b.org", "It|rained|.|Ann|'s|dog|did|n't|care|,|e-mail|a@b.org", "punctuation split"),
        (SPLIT_AT_SPACES, "I don't like Berlin.", "I|don't|like|Berlin.", "given"),
        (CONLL, "Berlin", "Berlin", "given"),
        (CONLL, "Berlin.", "Berlin|.", "punctuation split"),
        (CHARACTERS, "我 喜欢 北京", "我|喜欢|北京", "given"),
        (CHARACTERS, "我喜欢iPad15，北京。", "我|喜|欢|i|P|a|d|1|5|，|北|京|。", "characters"),
        (WORDS, "我喜欢iPad15，北京。", "我|喜欢|iPad15|，|北京|。", "dictionary"),
        (WORDS, "我 喜欢 北京。", "我|喜欢|北京|。", "punctuation split"),
        (WORDS, "我喜欢北京。 他也喜欢上海。", "我|喜欢|北京|。|他|也|喜欢|上海|。", "dictionary"),  # spaces between sentences, not words
        (WORDS, "中华人民共和国 万岁", "中华人民共和国|万岁", "given"),
        (CONLL, "", "", "given"),
    ],
)  # fmt: skip
def test_words_are_those_given_or_cut_as_in_training(trained, text, words, source):
    segmented = Segmentation.from_sentences(trained).segment(text)
    assert segmented.words == [word for word in words.split("|") if word] and segmented.source == source
    assert [text[start:stop] for start, stop in segmented.spans] == segmented.words


def test_without_anything_to_tell_by_the_usual_holds():
    assert Segmentation.from_sentences([["hello", "world"]]) == Segmentation.from_sentences([]) == Segmentation()


def test_real_training_data_are_cut_back_into_their_words(data):
    from stairs.text.labelled import read_examples

    for name, spaces, least in (("tags/msra/test.tsv", "", 1.0), ("tags/conll2003/dev.bio.tsv", " ", 0.95)):
        examples = read_examples(data / name, "tag").examples[:300]
        learned = Segmentation.from_sentences(example.words for example in examples)
        right = [tuple(learned.segment(glued(example.words, spaces)).words) == example.words for example in examples]
        assert sum(right) >= least * len(right)


def glued(words, space):
    """A sentence as people write it: no space before a closing mark or behind an opening one, none in Chinese."""
    return re.sub(r"(?<=\() | (?=[,;:)]|'s\b|\.$)", "", " ".join(words)) if space else "".join(words)
