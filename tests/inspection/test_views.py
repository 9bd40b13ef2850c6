"""Every look gives plain data, the right one, and says in a sentence what it cannot show."""

import dataclasses
import json
import math

import numpy as np
import pytest

from stairs.errors import BadInput, Unsupported
from stairs.inspection import attention, labels, nearest, tokens, views
from stairs.inspection.views import VIEWS, suitable_views, view
from stairs.layers.capture import capture
from stairs.models.gpt import GPT
from stairs.pictures import tokens as token_pictures
from stairs.tasks import NextToken
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.gallery import OPTIONS, TEXT, TEXTS, runs
from tests.support.small_world import SENTENCES, examples

RUNS = ("ngram", "nnlm", "gpt", "elmo", "bert", "skipgram", "vectors", "seq2seq", "plain seq2seq", "transformer")
TUNED = ("by n-gram", "by tf-idf", "by vectors", "classify", "classify by elmo", "compare", "tag", "span", "similar")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


def seen(task, name, folder=None):
    ours = {"confusion": {"run": str(folder)}, "nearest": {"labels": str(folder / "labels.csv")}}
    options = {**OPTIONS.get(name, {}), **ours.get(name, {})}
    return view(task, name, TEXTS.get(name, TEXT), **options)


def write_labels(path, *more):
    rows = [*((example.text, example.label) for example in examples("classify")), *more]
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows), "utf-8")
    return str(path)


@pytest.mark.parametrize("name", [*RUNS, *TUNED])
def test_all_that_fits_is_plain_data(tasks, name, tmp_path):
    (tmp_path / "report.json").write_text(json.dumps({"dev": {"labels": {"a": {}, "b": {}}, "confusion": [[3, 1], [0, 4]]}}))
    write_labels(tmp_path / "labels.csv")
    assert "tokens" in suitable_views(tasks[name])
    for one in suitable_views(tasks[name]):
        data = seen(tasks[name], one, tmp_path)
        assert json.loads(json.dumps(data, allow_nan=False)) == data, one


def test_which_run_has_which(tasks):
    assert suitable_views(tasks["ngram"]) == ["tokens", "backoff", "surprise", "next", "mask"]
    assert suitable_views(tasks["skipgram"]) == ["tokens", "neighbours", "strips", "map", "analogy", "mask", "senses"]
    assert "alignment" in suitable_views(tasks["seq2seq"]) and "alignment" not in suitable_views(tasks["plain seq2seq"])
    assert "mix" in suitable_views(tasks["classify by elmo"]) and "mix" not in suitable_views(tasks["classify"])
    assert suitable_views(tasks["by tf-idf"]) == ["tokens", "reasons", "nearest", "confusion"]
    assert "nearest" not in suitable_views(tasks["by n-gram"]) and "nearest" not in suitable_views(tasks["compare"])
    assert {name for task in tasks.values() for name in suitable_views(task)} == set(VIEWS)


def test_places_of_tokens_are_those_of_the_text(tasks):
    for name in ("ngram", "gpt", "bert", "elmo"):
        (cut,) = view(tasks[name], "tokens", TEXT)["tokenizations"]
        assert "".join(TEXT[one["start"] : one["end"]].strip() for one in cut["tokens"]) == TEXT.replace(" ", "")
    chinese = "他在北京大学 学习中文，Hello 世界!"
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [[chinese]])
    ids = words.encode(chinese)
    assert [chinese[start:end] for start, end in tokens.token_offsets(words, chinese, ids)] == [words.token(i) for i in ids]
    strange = view(tasks["ngram"], "tokens", "soup and zorblax")["tokenizations"][0]["tokens"]
    assert [one["unknown"] for one in strange] == [False, False, True]


def test_runs_that_cut_alike_share_a_cut(tasks):
    found = {name: view(tasks[name], "tokens", TEXT) for name in ("ngram", "gpt", "elmo", "bert")}
    assert [cut["name"] for cut in tokens.side_by_side(found)["tokenizations"]] == ["words, by ngram, elmo", "byte-bpe, by gpt", "wordpiece, by bert"]
    assert token_pictures.shorten_runs("words, by " + ", ".join(["a-long-name"] * 9)).endswith("a-long-name, …")


def test_a_part_of_a_character_is_shown_as_its_bytes(tasks):
    (cut,) = view(tasks["gpt"], "tokens", "国")["tokenizations"]
    assert "".join(one["token"] for one in cut["tokens"]) == "<E5><9B><BD>"


def test_back_off_is_that_of_the_counts(tasks):
    found = view(tasks["ngram"], "backoff", TEXT)
    assert [one["token"] for one in found["tokens"]] == [*TEXT.split(), "[SEP]"]
    assert sum(math.log(one["probability"]) for one in found["tokens"]) == pytest.approx(tasks["ngram"].log_probability(TEXT), abs=1e-4)
    assert found["tokens"][2]["order"] == found["order"] == 3
    assert view(tasks["ngram"], "backoff", "Rome soup")["tokens"][1]["order"] == 1  # never seen together
    bits = [one["bits"] for one in view(tasks["ngram"], "surprise", TEXT)["tokens"]]
    assert bits == pytest.approx([one["bits"] for one in found["tokens"]], abs=1e-6)


def test_attention_is_what_capture_sees_and_long_texts_stand_together(tasks):
    task = tasks["bert"]
    found = view(task, "attention", TEXT, layer=1, head=1)
    with capture(task.model) as inside:
        task.model.encode(tokens.tokenize(task, TEXT).batch)
    assert np.allclose(found["weights"], inside["blocks.1.attention"][0, 1], atol=1e-3)
    weights = np.random.default_rng(0).dirichlet(np.ones(200), 200)
    small = attention.pool_groups(weights, tokens.group_bounds(200, 64))
    assert small.shape == (64, 64) and np.allclose(small.sum(1), 1)
    assert tokens.group_bounds(3) == [(0, 1), (1, 2), (2, 3)] and tokens.group_names(["a", "b", "c"], [(0, 2), (2, 3)]) == ["a…", "c"]


def test_a_text_beyond_the_context_is_cut_and_says_so(tasks):
    long = " ".join(SENTENCES[:20])
    for name in ("heads", "attention", "lines", "layers", "mask"):
        assert "32 tokens" in view(tasks["bert"], name, long)["truncation"]
    assert "30 tokens" in view(tasks["bert"], "surprise", long)["truncation"]
    assert "32 tokens" in view(tasks["gpt"], "surprise", long)["truncation"] and len(view(tasks["gpt"], "next", long)["next"]) == 10
    assert len(view(tasks["ngram"], "mask", long)["tokens"]) == tokens.MAX_GROUPS


def test_masks_are_those_the_models_obey(tasks):
    masks = {name: np.array(view(tasks[name], "mask", TEXT)["mask"]) for name in ("gpt", "bert", "ngram", "skipgram")}
    assert np.array_equal(masks["gpt"], np.tri(len(masks["gpt"]))) and masks["bert"].all()
    assert np.array_equal(masks["ngram"], np.tri(8) - np.tri(8, k=-2))
    assert not masks["skipgram"].diagonal().any() and masks["skipgram"][0, 5] and not masks["skipgram"][0, 6]


def test_lines_begin_at_the_pieces_of_a_word(tasks):
    found = view(tasks["bert"], "lines", TEXT, word="Rome")
    assert "".join(found["tokens"][at].removeprefix("##") for at in found["word"]) == "Rome"
    assert {one["from"] for one in found["lines"]} <= set(found["word"])
    assert view(tasks["bert"], "lines", TEXT, word="0")["word"] == [0]
    with pytest.raises(BadInput, match="'snow' does not stand in the text"):
        view(tasks["bert"], "lines", TEXT, word="snow")


def test_reasons_are_what_leaving_a_word_out_does(tasks):
    task = tasks["by tf-idf"]
    found = view(task, "reasons", TEXT)
    whole = task.answer(TEXT)["probabilities"][found["label"]]
    without = task.answer(TEXT.replace("soup ", ""))["probabilities"][found["label"]]
    assert found["probability"] == pytest.approx(whole) and found["words"][0]["probability_drop"] == pytest.approx(whole - without)
    assert [one["word"] for one in found["words"]] == TEXT.split()
    assert labels.remove_span("a b c", 2, 3) == "a c" and labels.remove_span("a b.", 2, 3) == "a ."
    assert [("我喜欢北京, don't!")[a:b] for a, b in labels.spans_of_words("我喜欢北京, don't!")] == ["我", "喜欢", "北京", ",", "don't", "!"]
    assert len(view(task, "reasons", TEXT * 40)["words"]) == labels.MAX_SPANS


@pytest.mark.parametrize("name", ["by tf-idf", "by vectors", "classify", "classify by elmo"])
def test_the_nearest_texts_are_those_whose_features_point_the_same_way(tasks, name, tmp_path, monkeypatch):
    task, labels = tasks[name], write_labels(tmp_path / "labels.csv", ("snow and hail in Oslo .", "weather"))
    known = list(dict.fromkeys(line.rsplit(",", 1)[0] for line in (tmp_path / "labels.csv").read_text().splitlines()[1:]))
    found = view(task, "nearest", known[3], labels=labels, top=4)
    assert found["near"][0]["text"] == known[3] and found["near"][0]["cosine"] == pytest.approx(1, abs=1e-5) and len(found["near"]) == 4
    assert found["label"] == task.answer(known[3])["label"] and found["near"][0]["where"].endswith("labels.csv:5")
    features = task.text_features(known)
    dense = features.toarray() if hasattr(features, "toarray") else features
    lengths = np.linalg.norm(dense, axis=1)
    cosines = sorted(dense @ dense[3] / np.maximum(lengths * lengths[3], 1e-12), reverse=True)
    assert [one["cosine"] for one in found["near"]] == pytest.approx(cosines[:4], abs=1e-5)
    monkeypatch.setattr(nearest, "MAX_EXAMPLES", 10)
    write_labels(tmp_path / "labels.csv")
    assert "were compared" in view(task, "nearest", TEXT, labels=labels)["truncation"]


def test_what_does_not_fit_is_one_sentence(tasks, tmp_path):
    def refused(words, kind, *given, **options):
        with pytest.raises(kind, match=words):
            view(*given, **options)

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
    usual, heads = view(task, "alignment", TEXT), [view(task, "alignment", TEXT, layer=0, head=head) for head in range(2)]
    assert np.allclose(np.mean([one["weights"] for one in heads], 0), usual["weights"], atol=1e-3)  # the last layer but one is the first of two
    assert not np.allclose(view(task, "alignment", TEXT, layer=1)["weights"], usual["weights"], atol=1e-3)
    with pytest.raises(Unsupported, match="seq2seq looks at the source once"):
        view(tasks["seq2seq"], "alignment", TEXT, layer=0)


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary", "learned"])
def test_positions_of_every_kind(tasks, kind):
    config = dataclasses.replace(tasks["gpt"].model.config, positions=kind)
    found = view(NextToken(GPT(config), tasks["gpt"].tokenizer), "positions")
    assert found["kind"] == kind and len(found["table"]) == found["positions"] == 32
    assert kind == "learned" or found["table"][0][-1] == 1  # the cosine of nothing


def test_two_texts_are_read_in_one_row(tasks):
    found = view(tasks["bert"], "attention", "soup", second="rain")
    assert found["tokens"].count("[SEP]") == 2 and views.VIEWS["attention"].options == ("layer", "head", "second")
