"""Without a text, a picture shows an example whose words the run knows, in the language of the run; if it knows none, one must be given."""

import pytest

from stairs.cli import main
from stairs.pictures.default_text import default_example, reads_chinese
from stairs.pictures.pages import PAGES
from stairs.tasks import MaskedToken, NextToken, WordVectors
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.small_world import SENTENCES, encoder

MACHINE = "thou shalt not make a machine in the likeness of a human mind"
ENGLISH = ["The cat sat on the mat and looked at the dog.", "The animal didn't cross the street because it was too tired", MACHINE]
CHINESE = ["小明养了一只猫，它特别调皮可爱，他非常喜欢它。", "今天天气很好，我们一起去公园散步。他欠我100万"]


def tokenizer(texts, kind="words", **settings):
    return Tokenizer.train(TokenizerSpec(kind, **settings), lambda: [texts])


@pytest.mark.parametrize("kind", ["words", "wordpiece", "byte-bpe", "characters"])
def test_the_language_is_that_of_the_vocabulary(kind):
    size = {} if kind in ("words", "characters") else {"vocab_size": 400}
    assert reads_chinese(tokenizer(CHINESE * 9, kind, **size)) and not reads_chinese(tokenizer(ENGLISH * 9, kind, **size))


def test_the_first_example_that_the_run_knows_is_drawn():
    english, chinese = (MaskedToken(encoder("bert", pieces), pieces) for pieces in (tokenizer(ENGLISH, "wordpiece"), tokenizer(CHINESE, "wordpiece")))
    assert default_example(english, "attention").text == PAGES["attention"]["example"]["en"]
    assert default_example(chinese, "attention").text == PAGES["attention"]["example"]["zh"]
    few = tokenizer([MACHINE, "the cat"])
    assert default_example(NextToken(encoder("nnlm", few), few), "surprise").text == MACHINE
    assert default_example(NextToken(encoder("nnlm", few), few), "next").text == "thou shalt"
    assert default_example(english, "confusion") is None or PAGES["confusion"]["example"]["en"] == "-"
    assert default_example(english, "none of these") is None


def test_options_that_belong_to_an_example_come_with_it():
    bank = tokenizer([line.partition(":")[2] + " : river money" for line in PAGES["senses"]["example"]["en"].splitlines()], "wordpiece")
    assert default_example(MaskedToken(encoder("bert", bank), bank), "senses").options == {"word": "bank"}


def test_pictures_of_words_leave_out_what_the_run_does_not_know():
    few = tokenizer(["thou shalt not make"])
    task = WordVectors(encoder("skipgram", few), few)
    assert default_example(task, "update").text == "not thou" and default_example(task, "windows").text == "thou shalt not make"
    assert default_example(task, "onehot").text.split() == few.vocabulary[7:13] and default_example(task, "map") is None
    world = tokenizer(SENTENCES)
    words = default_example(WordVectors(encoder("skipgram", world), world), "update").text.split()
    assert words and all(world.id(word) >= 5 for word in words)


def test_signs_between_words_need_not_be_known():
    few = tokenizer(["merci thanks", "king man woman"])
    assert default_example(NextToken(encoder("nnlm", few), few), "distribution").text == "merci -> thanks"
    assert default_example(WordVectors(encoder("skipgram", few), few), "analogy").text == "king - man + woman"


def test_the_command_says_what_it_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(f"{MACHINE}\n\n" * 20)
    assert main(["train", "ngram", "text.txt", "--out", "run", "--quiet"]) == 0
    assert main(["draw", "run", "windows"]) == 0
    assert capsys.readouterr().err == f"no text given; an example is drawn: {MACHINE}\ndrawn: windows.svg\n"
    assert main(["draw", "run", "backoff", "--quiet"]) == 0 and capsys.readouterr().err == ""
    assert main(["draw", "run", "attention"]) == 2 and "has no attention to draw" in capsys.readouterr().err
