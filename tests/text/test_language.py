"""The language of texts: English, Chinese, or neither for certain."""

import pytest

from stairs.text.embedded.reviews import reviews
from stairs.text.examples import TextPair, TranslationPair
from stairs.text.language import SAMPLED_EXAMPLES, examples_language, have_chinese, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("It is one of the best films of the year, and you should see it with your family.", "en"),
        ("Das Hotel war in der Nähe vom Bahnhof, und das Zimmer war sauber. So etwas findet man an keinem anderen Ort.", None),
        ("Het is een mooie dag en de zon schijnt; de kamer was in de stad en het ontbijt was heel goed.", None),
        ("Un homme est dans la rue et on a vu un chien qui joue avec une balle dans le jardin.", None),
        ("这部手机的屏幕很好，iPhone 也比不上。", "zh"),
        ("この映画はとても面白かったので、もう一度見たいと思います。", None),
        ("12345 !!! 67.8", None),
        ("", None),
    ],
)
def test_what_it_takes_a_text_for(text, language):
    assert language_of([text]) == language


@pytest.mark.parametrize("language", ["en", "zh"])
def test_short_reviews_are_known_by_their_language(language):
    assert language_of([text for text, _ in reviews(200, language)]) == language


def test_of_many_examples_some_that_are_spread_over_all_decide():
    english, chinese = TextPair("the price of it", "and that is for you", "same"), TextPair("价格很高", "价格不低", "same")
    pairs = [english] * SAMPLED_EXAMPLES + [chinese] * SAMPLED_EXAMPLES * 9
    assert examples_language(pairs) == "zh" and examples_language(pairs[:SAMPLED_EXAMPLES]) == "en" and examples_language([]) is None


def test_either_side_of_translations_may_be_chinese():
    chinese, french = TranslationPair("The price is high.", "价格很高。"), TranslationPair("The price is high.", "Le prix est élevé.")
    assert have_chinese([chinese] * 3) and have_chinese([TranslationPair(chinese.target, chinese.source)])
    assert not have_chinese([french] * 3) and not have_chinese([])
