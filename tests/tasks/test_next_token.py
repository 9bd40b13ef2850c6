"""NextToken over a counted model: scores, continuations, and bits per character that every tokenizer is charged alike."""

import math

import numpy as np
import pytest

from stairs.models.gpt import GPT
from stairs.models.ngram import NGram
from stairs.models.settings import GPTConfig, NGramConfig
from stairs.tasks import NextToken
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec

PAIRS = [(a, b) for a in ("old", "big", "red") for b in ("new", "wet", "dry")]
TEXT = "\n\n".join(f"The {a} cat sat on the {b} mat. The {b} dog ran to the {a} cat!" for a, b in PAIRS) * 4


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "cats.txt").write_text(TEXT)
    return build_shards(Corpus([folder / "cats.txt"]), TokenizerSpec("words"), cache=folder)


@pytest.fixture(scope="module")
def task(shards):
    model = NGram(NGramConfig(shards.tokenizer.vocab_size))
    model.count(shards.ids("train"))
    return NextToken(model, shards.tokenizer)


def test_log_probability_is_that_of_the_sentence_and_its_end(task):
    sentence = "The old cat sat on the new mat ."
    ids = task.tokenizer.encode(sentence)
    context, total = task.model.next_context(-1, task.tokenizer.begin), 0.0
    for word in [*ids, task.tokenizer.end]:
        total += float(task.model.continuations(context)[0][word])
        context = task.model.next_context(context, word)
    assert task.log_probability(sentence) == pytest.approx(total, abs=1e-4)
    surprise = task.token_bits(sentence)
    assert sum(token["bits"] for token in surprise) == pytest.approx(-total / math.log(2), abs=1e-3)
    assert [token["token"] for token in surprise] == [*task.tokenizer.tokens(sentence), "[SEP]"]


def test_next_tokens_are_ranked_with_the_order_they_rest_on(task):
    result = task.answer("The old cat", top=5)["next"]
    assert result[0]["token"] == "sat" and result[0]["order"] == 3
    assert [entry["probability"] for entry in result] == sorted((entry["probability"] for entry in result), reverse=True)
    assert not {"[PAD]", "[CLS]", "[MASK]"} & {entry["token"] for entry in task.answer("The", top=50)["next"] if entry["probability"] > 1e-30}


def test_greedy_repeats_and_sampling_follows_its_seed(task):
    assert task.answer("The old")["continuation"] == task.answer("The old")["continuation"]
    wild = [task.answer("The", temperature=1.0, seed=seed)["continuation"] for seed in range(8)]
    assert wild == [task.answer("The", temperature=1.0, seed=seed)["continuation"] for seed in range(8)]
    assert len(set(wild)) > 2
    assert task.answer("The old", temperature=1.0, top_k=1)["new"] == task.answer("The old")["new"]
    assert task.answer("The old cat", length=0)["new"] == ""


def test_a_file_and_the_shards_of_the_same_text_get_the_same_metrics(task, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("The red dog sat.\nThe zebra ran to the wet mat!\n\n" * 30)
    as_text = task.evaluate_texts(Corpus([other]).documents())
    as_shards = task.evaluate_split(build_shards(Corpus([other]), task.tokenizer, cache=tmp_path), "test")
    assert as_text["perplexity"]["value"] == pytest.approx(as_shards["perplexity"]["value"], rel=1e-6)
    assert as_text["bits_per_character"]["value"] == pytest.approx(as_shards["bits_per_character"]["value"], rel=1e-6)
    assert as_text["unknown_words"] == 30


def test_an_unknown_word_costs_its_spelling(task):
    short, long = (task.evaluate_texts([f"The {word} cat sat."])["bits_per_character"]["value"] for word in ("zzz", "zzzzzzzzzz"))
    bits = [value * len(f"The {word} cat sat. ") for value, word in ((short, "zzz"), (long, "zzzzzzzzzz"))]
    assert bits[1] - bits[0] == pytest.approx(task.tokenizer.spelling_bits("zzzzzzzzzz") - task.tokenizer.spelling_bits("zzz"), rel=1e-5)


def test_bits_per_character_of_other_tokenizers_is_of_the_same_characters(shards, tmp_path):
    text = tmp_path / "cats.txt"
    text.write_text(TEXT)
    measured = []
    for kind in ("words", "characters", "byte-bpe"):
        cut = build_shards(Corpus([text]), TokenizerSpec(kind), cache=tmp_path)
        model = NGram(NGramConfig(cut.tokenizer.vocab_size, order=4))
        model.count(cut.ids("train"))
        measured.append(NextToken(model, cut.tokenizer).evaluate_split(cut))
    assert len({result["characters"] for result in measured}) == 1
    assert all(np.isfinite(result["bits_per_character"]["value"]) for result in measured)


def test_what_is_trained_again_does_not_speak_with_its_old_weights(shards):
    task = NextToken(GPT(GPTConfig(shards.tokenizer.vocab_size, context=32, width=16, heads=2, layers=1)), shards.tokenizer)
    before = task.answer("The old cat")["next"]
    task.start(1)
    after = task.answer("The old cat")["next"]
    assert before != after and task.answer("The old cat")["next"] == after
