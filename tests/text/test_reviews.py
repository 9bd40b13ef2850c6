"""The reviews that one can try things on are the same each time, and cannot be told by one word."""

import csv

from stairs.text.embedded.reviews import RATINGS, reviews, write_reviews


def test_the_same_seed_gives_the_same_reviews(tmp_path):
    for name in ("one.csv", "two.csv"):
        write_reviews(tmp_path / name, 50, "en", 3)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert (tmp_path / "one.csv").read_bytes().startswith(b"\xef\xbb\xbfid,")


def test_about_half_are_good_and_some_have_no_rating(tmp_path):
    write_reviews(tmp_path / "reviews.csv", 2000, "zh", 0)
    with (tmp_path / "reviews.csv").open(encoding="utf-8-sig") as file:
        ratings = [row["评分"] for row in csv.DictReader(file)]
    assert 0.45 < ratings.count(RATINGS["zh"][True]) / len(ratings) < 0.55
    assert 0 < ratings.count("") < 60


def test_bad_words_occur_in_good_reviews():
    texts = [(text, is_good) for text, is_good in reviews(1000) if "dirty" in text]
    assert {is_good for _, is_good in texts} == {True, False}
