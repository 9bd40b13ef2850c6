"""Every look gives plain data, the right one, and says in a sentence what it cannot show."""

import dataclasses
import json
import math

import numpy as np
import pytest
from gallery import OPTIONS, TEXT, TEXTS, runs
from small import SENTENCES, examples

from stairs.errors import BadInput, Unsupported
from stairs.inspection import attention, labels, nearest, tokens, views
from stairs.inspection.capture import capture
from stairs.inspection.views import LOOKS, fitting, look
from stairs.models.gpt import GPT
from stairs.pictures import tokens as token_pictures
from stairs.tasks import NextToken
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

RUNS = ("ngram", "nnlm", "gpt", "elmo", "bert", "skipgram", "vectors", "seq2seq", "plain seq2seq", "transformer")
TUNED = ("by n-gram", "by tf-idf", "by vectors", "classify", "classify by elmo", "compare", "tag", "span", "similar")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


def seen(task, name, folder=None):
    ours = {"confusion": {"run": str(folder)}, "nearest": {"labels": str(folder / "labels.csv")}}
    options = {**OPTIONS.get(name, {}), **ours.get(name, {})}
    return look(task, name, TEXTS.get(name, TEXT), **options)


def write_labels(path, *more):
    rows = [*((example.text, example.label) for example in examples("classify")), *more]
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows), "utf-8")
    return str(path)


@pytest.mark.parametrize("name", [*RUNS, *TUNED])
def test_all_that_fits_is_plain_data(tasks, name, tmp_path):
    (tmp_path / "report.json").write_text(json.dumps({"dev": {"labels": {"a": {}, "b": {}}, "confusion": [[3, 1], [0, 4]]}}))
    write_labels(tmp_path / "labels.csv")
    assert "tokens" in fitting(tasks[name])
    for one in fitting(tasks[name]):
        data = seen(tasks[name], one, tmp_path)
        assert json.loads(json.dumps(data, allow_nan=False)) == data, one


def test_which_run_has_which(tasks):
    assert fitting(tasks["ngram"]) == ["tokens", "backoff", "surprise", "next", "mask"]
    assert fitting(tasks["skipgram"]) == ["tokens", "neighbours", "strips", "map", "analogy", "mask", "senses"]
    assert "alignment" in fitting(tasks["seq2seq"]) and "alignment" not in fitting(tasks["plain seq2seq"])
    assert "mix" in fitting(tasks["classify by elmo"]) and "mix" not in fitting(tasks["classify"])
    assert fitting(tasks["by tf-idf"]) == ["tokens", "reasons", "nearest", "confusion"]
    assert "nearest" not in fitting(tasks["by n-gram"]) and "nearest" not in fitting(tasks["compare"])
    assert {name for task in tasks.values() for name in fitting(task)} == set(LOOKS)


def test_places_of_tokens_are_those_of_the_text(tasks):
    for name in ("ngram", "gpt", "bert", "elmo"):
        (cut,) = look(tasks[name], "tokens", TEXT)["cuts"]
        assert "".join(TEXT[one["start"] : one["end"]].strip() for one in cut["tokens"]) == TEXT.replace(" ", "")
    chinese = "他在北京大学 学习中文，Hello 世界!"
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [[chinese]])
    ids = words.encode(chinese)
    assert [chinese[start:end] for start, end in tokens.places(words, chinese, ids)] == [words.token(i) for i in ids]
    strange = look(tasks["ngram"], "tokens", "soup and zorblax")["cuts"][0]["tokens"]
    assert [one["unknown"] for one in strange] == [False, False, True]


def test_runs_that_cut_alike_share_a_cut(tasks):
    found = {name: look(tasks[name], "tokens", TEXT) for name in ("ngram", "gpt", "elmo", "bert")}
    assert [cut["name"] for cut in tokens.beside(found)["cuts"]] == ["words, by ngram, elmo", "byte-bpe, by gpt", "wordpiece, by bert"]
    assert token_pictures.named("words, by " + ", ".join(["a-long-name"] * 9)).endswith("a-long-name, …")


def test_a_part_of_a_character_is_shown_as_its_bytes(tasks):
    (cut,) = look(tasks["gpt"], "tokens", "国")["cuts"]
    assert "".join(one["token"] for one in cut["tokens"]) == "<E5><9B><BD>"


def test_back_off_is_that_of_the_counts(tasks):
    found = look(tasks["ngram"], "backoff", TEXT)
    assert [one["token"] for one in found["tokens"]] == [*TEXT.split(), "[SEP]"]
    assert sum(math.log(one["probability"]) for one in found["tokens"]) == pytest.approx(tasks["ngram"].log_probability(TEXT), abs=1e-4)
    assert found["tokens"][2]["order"] == found["order"] == 3
    assert look(tasks["ngram"], "backoff", "Rome soup")["tokens"][1]["order"] == 1  # never seen together
    bits = [one["bits"] for one in look(tasks["ngram"], "surprise", TEXT)["tokens"]]
    assert bits == pytest.approx([one["bits"] for one in found["tokens"]], abs=1e-6)


def test_attention_is_what_capture_sees_and_long_texts_stand_together(tasks):
    task = tasks["bert"]
    found = look(task, "attention", TEXT, layer=1, head=1)
    with capture(task.model) as inside:
        task.model.encode(tokens.read(task, TEXT).batch)
    assert np.allclose(found["weights"], inside["blocks.1.attention"][0, 1], atol=1e-3)
    weights = np.random.default_rng(0).dirichlet(np.ones(200), 200)
    small = attention.together(weights, tokens.grouped(200, 64))
    assert small.shape == (64, 64) and np.allclose(small.sum(1), 1)
    assert tokens.grouped(3) == [(0, 1), (1, 2), (2, 3)] and tokens.names(["a", "b", "c"], [(0, 2), (2, 3)]) == ["a…", "c"]


def test_a_text_beyond_the_context_is_cut_and_says_so(tasks):
    long = " ".join(SENTENCES[:20])
    for name in ("heads", "attention", "lines", "layers", "mask"):
        assert "32 tokens" in look(tasks["bert"], name, long)["cut"]
    assert "30 tokens" in look(tasks["bert"], "surprise", long)["cut"]
    assert "32 tokens" in look(tasks["gpt"], "surprise", long)["cut"] and len(look(tasks["gpt"], "next", long)["next"]) == 10
    assert len(look(tasks["ngram"], "mask", long)["tokens"]) == tokens.LONGEST


def test_masks_are_those_the_models_obey(tasks):
    masks = {name: np.array(look(tasks[name], "mask", TEXT)["mask"]) for name in ("gpt", "bert", "ngram", "skipgram")}
    assert np.array_equal(masks["gpt"], np.tri(len(masks["gpt"]))) and masks["bert"].all()
    assert np.array_equal(masks["ngram"], np.tri(8) - np.tri(8, k=-2))
    assert not masks["skipgram"].diagonal().any() and masks["skipgram"][0, 5] and not masks["skipgram"][0, 6]


def test_lines_begin_at_the_pieces_of_a_word(tasks):
    found = look(tasks["bert"], "lines", TEXT, word="Rome")
    assert "".join(found["tokens"][at].removeprefix("##") for at in found["word"]) == "Rome"
    assert {one["from"] for one in found["lines"]} <= set(found["word"])
    assert look(tasks["bert"], "lines", TEXT, word="0")["word"] == [0]
    with pytest.raises(BadInput, match="'snow' does not stand in the text"):
        look(tasks["bert"], "lines", TEXT, word="snow")


def test_reasons_are_what_leaving_a_word_out_does(tasks):
    task = tasks["by tf-idf"]
    found = look(task, "reasons", TEXT)
    whole = task.answer(TEXT)["probabilities"][found["label"]]
    without = task.answer(TEXT.replace("soup ", ""))["probabilities"][found["label"]]
    assert found["probability"] == pytest.approx(whole) and found["words"][0]["fall"] == pytest.approx(whole - without)
    assert [one["word"] for one in found["words"]] == TEXT.split()
    assert labels.without("a b c", 2, 3) == "a c" and labels.without("a b.", 2, 3) == "a ."
    assert [("我喜欢北京, don't!")[a:b] for a, b in labels.words_of("我喜欢北京, don't!")] == ["我", "喜欢", "北京", ",", "don't", "!"]
    assert len(look(task, "reasons", TEXT * 40)["words"]) == labels.PIECES


@pytest.mark.parametrize("name", ["by tf-idf", "by vectors", "classify", "classify by elmo"])
def test_the_nearest_texts_are_those_whose_features_point_the_same_way(tasks, name, tmp_path, monkeypatch):
    task, labels = tasks[name], write_labels(tmp_path / "labels.csv", ("snow and hail in Oslo .", "weather"))
    known = list(dict.fromkeys(line.rsplit(",", 1)[0] for line in (tmp_path / "labels.csv").read_text().splitlines()[1:]))
    found = look(task, "nearest", known[3], labels=labels, top=4)
    assert found["near"][0]["text"] == known[3] and found["near"][0]["cosine"] == pytest.approx(1, abs=1e-5) and len(found["near"]) == 4
    assert found["label"] == task.answer(known[3])["label"] and found["near"][0]["where"].endswith("labels.csv:5")
    features = task.text_features(known)
    dense = features.toarray() if hasattr(features, "toarray") else features
    lengths = np.linalg.norm(dense, axis=1)
    cosines = sorted(dense @ dense[3] / np.maximum(lengths * lengths[3], 1e-12), reverse=True)
    assert [one["cosine"] for one in found["near"]] == pytest.approx(cosines[:4], abs=1e-5)
    monkeypatch.setattr(nearest, "MOST", 10)
    write_labels(tmp_path / "labels.csv")
    assert "were compared" in look(task, "nearest", TEXT, labels=labels)["cut"]


def test_what_does_not_fit_is_one_sentence(tasks, tmp_path):
    def refused(words, kind, *given, **options):
        with pytest.raises(kind, match=words):
            look(*given, **options)

    refused("nothing to show as attention; it has tokens, backoff", Unsupported, tasks["ngram"], "attention", TEXT)
    refused("did you mean attention", BadInput, tasks["bert"], "atention", TEXT)
    refused("there are tokens, backoff", BadInput, tasks["bert"], "xyz", TEXT)
    refused("--layer is not for tokens", BadInput, tasks["bert"], "tokens", TEXT, layer=1)
    refused("--head is not for heads, which takes second", BadInput, tasks["bert"], "heads", TEXT, head=1)
    refused("bert has no layer 9; it has 2", BadInput, tasks["bert"], "attention", TEXT, layer=9)
    refused("bert has no head 9; each layer has 2", BadInput, tasks["bert"], "attention", TEXT, head=9)
    refused("a picture of a text, and none came", BadInput, tasks["bert"], "heads", " ")
    refused("does not read two texts", Unsupported, tasks["gpt"], "heads", TEXT, second=TEXT)
    refused("three words", BadInput, tasks["skipgram"], "analogy", "soup")
    refused("give it with --word", BadInput, tasks["bert"], "senses", TEXT)
    refused("names no sense", BadInput, tasks["bert"], "senses", TEXT, word="soup")
    refused("must leave something", BadInput, tasks["by tf-idf"], "reasons", "soup")
    refused("has no report.json", Unsupported, tasks["classify"], "confusion", run=str(tmp_path))
    refused("give the one that the run learnt from with --labels", BadInput, tasks["by tf-idf"], "nearest", TEXT)
    refused("there is no file none.csv", BadInput, tasks["by tf-idf"], "nearest", TEXT, labels="none.csv")
    refused("knows nothing in 'zorblax'", BadInput, tasks["by tf-idf"], "nearest", "zorblax", labels=write_labels(tmp_path / "labels.csv"))
    (tmp_path / "other.csv").write_text("text,label\nsoup,good\nrain,bad\n")
    refused("has the labels good, bad, and this run knows food", BadInput, tasks["by tf-idf"], "nearest", TEXT, labels=str(tmp_path / "other.csv"))
    (tmp_path / "report.json").write_text('{"dev": {"accuracy": 1}}')
    refused("tells no confusion", BadInput, tasks["classify"], "confusion", run=str(tmp_path))


def test_alignment_of_one_head_or_of_all(tasks):
    task = tasks["transformer"]
    usual, heads = look(task, "alignment", TEXT), [look(task, "alignment", TEXT, layer=0, head=head) for head in range(2)]
    assert np.allclose(np.mean([one["weights"] for one in heads], 0), usual["weights"], atol=1e-3)  # the last layer but one is the first of two
    assert not np.allclose(look(task, "alignment", TEXT, layer=1)["weights"], usual["weights"], atol=1e-3)
    with pytest.raises(Unsupported, match="seq2seq looks at the source once"):
        look(tasks["seq2seq"], "alignment", TEXT, layer=0)


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary", "learned"])
def test_positions_of_every_kind(tasks, kind):
    config = dataclasses.replace(tasks["gpt"].model.config, positions=kind)
    found = look(NextToken(GPT(config), tasks["gpt"].tokenizer), "positions")
    assert found["kind"] == kind and len(found["table"]) == found["positions"] == 32
    assert kind == "learned" or found["table"][0][-1] == 1  # the cosine of nothing


def test_two_texts_are_read_in_one_row(tasks):
    found = look(tasks["bert"], "attention", "soup", second="rain")
    assert found["tokens"].count("[SEP]") == 2 and views.LOOKS["attention"].takes == ("layer", "head", "second")
