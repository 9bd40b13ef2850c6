"""Every view gives plain data, the right one, and says in a sentence what it cannot show."""

import dataclasses
import json
import math

import numpy as np
import pytest

from stairs.errors import BadInput, Unsupported
from stairs.inspection import attention, labels, tokens
from stairs.layers.capture import capture
from stairs.models.gpt import GPT
from stairs.pictures import tokens as token_pictures
from stairs.pictures.catalogue import PICTURES, picture_data, suitable_pictures
from stairs.tasks import NextToken
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.gallery import OPTIONS, TEXT, TEXTS, runs
from tests.support.small_world import SENTENCES, examples

RUNS = ("ngram", "nnlm", "gpt", "elmo", "elmo from characters", "bert", "skipgram", "vectors", "seq2seq", "plain seq2seq", "transformer")
TUNED = ("by n-gram", "by tf-idf", "by vectors", "classify", "classify by elmo", "compare", "tag", "span", "similar")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


def data_of(task, name, folder):
    server_options = {"confusion": {"run": str(folder)}, "nearest": {"labels": str(folder / "labels.csv")}}
    options = {**OPTIONS.get(name, {}), **server_options.get(name, {})}
    return picture_data(task, name, TEXTS.get(name, TEXT), **options)


def write_labels(path, *more):
    rows = [*((example.text, example.label) for example in examples("classify")), *more]
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows), "utf-8")
    return str(path)


@pytest.mark.parametrize("name", [*RUNS, *TUNED])
def test_every_suitable_view_is_plain_data(tasks, name, tmp_path):
    (tmp_path / "evaluation.json").write_text(json.dumps({"dev": {"labels": {"a": {}, "b": {}}, "confusion": [[3, 1], [0, 4]]}}))
    write_labels(tmp_path / "labels.csv")
    assert "tokens" in suitable_pictures(tasks[name])
    for picture in suitable_pictures(tasks[name]):
        data = data_of(tasks[name], picture, tmp_path)
        assert json.loads(json.dumps(data, allow_nan=False)) == data, picture


def test_which_run_has_which_pictures(tasks):
    assert suitable_pictures(tasks["ngram"]) == ["tokens", "backoff", "surprise", "next", "windows", "mask"]
    words = ["tokens", "windows", "update", "onehot", "neighbours", "strips", "map", "analogy", "mask", "senses"]
    assert suitable_pictures(tasks["skipgram"]) == words
    assert "alignment" in suitable_pictures(tasks["seq2seq"]) and "alignment" not in suitable_pictures(tasks["plain seq2seq"])
    assert "mix" in suitable_pictures(tasks["classify by elmo"]) and "mix" not in suitable_pictures(tasks["classify"])
    assert suitable_pictures(tasks["by tf-idf"]) == ["tokens", "reasons", "nearest", "confusion"]
    assert "nearest" not in suitable_pictures(tasks["by n-gram"]) and "nearest" not in suitable_pictures(tasks["compare"])
    assert {name for task in tasks.values() for name in suitable_pictures(task)} == set(PICTURES)


def test_token_offsets_point_into_the_text(tasks):
    for name in ("ngram", "gpt", "bert", "elmo"):
        (tokenization,) = picture_data(tasks[name], "tokens", TEXT)["tokenizations"]
        assert "".join(TEXT[span["start"] : span["end"]].strip() for span in tokenization["tokens"]) == TEXT.replace(" ", "")
    chinese = "他在北京大学 学习中文，Hello 世界!"
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [[chinese]])
    ids = words.encode(chinese)
    assert [chinese[start:end] for start, end in tokens.token_offsets(words, chinese, ids)] == [words.token(i) for i in ids]
    spans = picture_data(tasks["ngram"], "tokens", "soup and zorblax")["tokenizations"][0]["tokens"]
    assert [span["unknown"] for span in spans] == [False, False, True]


def test_runs_with_the_same_tokens_share_a_line(tasks):
    of_runs = {name: picture_data(tasks[name], "tokens", TEXT) for name in ("ngram", "gpt", "elmo", "bert")}
    names = [tokenization["name"] for tokenization in tokens.side_by_side(of_runs)["tokenizations"]]
    assert names == ["words, by ngram, elmo", "byte-bpe, by gpt", "wordpiece, by bert"]
    assert token_pictures.shorten_runs("words, by " + ", ".join(["a-long-name"] * 9)).endswith("a-long-name, …")


def test_a_part_of_a_character_is_shown_as_its_bytes(tasks):
    (tokenization,) = picture_data(tasks["gpt"], "tokens", "国")["tokenizations"]
    assert "".join(span["token"] for span in tokenization["tokens"]) == "<E5><9B><BD>"


def test_back_off_is_that_of_the_counts(tasks):
    data = picture_data(tasks["ngram"], "backoff", TEXT)
    assert [one["token"] for one in data["tokens"]] == [*TEXT.split(), "[SEP]"]
    assert sum(math.log(one["probability"]) for one in data["tokens"]) == pytest.approx(tasks["ngram"].log_probability(TEXT), abs=1e-4)
    assert data["tokens"][2]["order"] == data["order"] == 3
    assert picture_data(tasks["ngram"], "backoff", "Rome soup")["tokens"][1]["order"] == 1  # never seen together
    bits = [one["bits"] for one in picture_data(tasks["ngram"], "surprise", TEXT)["tokens"]]
    assert bits == pytest.approx([one["bits"] for one in data["tokens"]], abs=1e-6)


def test_attention_is_what_capture_records_and_long_texts_are_grouped(tasks):
    task = tasks["bert"]
    data = picture_data(task, "attention", TEXT, layer=1, head=1)
    with capture(task.model) as outputs:
        task.model.encode(tokens.tokenize(task, TEXT).batch)
    assert np.allclose(data["weights"], outputs["blocks.1.attention"][0, 1], atol=1e-3)
    weights = np.random.default_rng(0).dirichlet(np.ones(200), 200)
    small = attention.pool_groups(weights, tokens.group_bounds(200, 64))
    assert small.shape == (64, 64) and np.allclose(small.sum(1), 1)
    assert tokens.group_bounds(3) == [(0, 1), (1, 2), (2, 3)] and tokens.group_names(["a", "b", "c"], [(0, 2), (2, 3)]) == ["a…", "c"]


def test_a_text_beyond_the_context_is_cut_and_says_so(tasks):
    long = " ".join(SENTENCES[:20])
    for name in ("heads", "attention", "lines", "layers", "mask"):
        assert "32 tokens" in picture_data(tasks["bert"], name, long)["truncation"]
    assert "30 tokens" in picture_data(tasks["bert"], "surprise", long)["truncation"]
    assert "32 tokens" in picture_data(tasks["gpt"], "surprise", long)["truncation"] and len(picture_data(tasks["gpt"], "next", long)["next"]) == 10
    assert len(picture_data(tasks["ngram"], "mask", long)["tokens"]) == tokens.MAX_GROUPS


def test_masks_are_those_of_the_models(tasks):
    masks = {name: np.array(picture_data(tasks[name], "mask", TEXT)["mask"]) for name in ("gpt", "bert", "ngram", "skipgram")}
    assert np.array_equal(masks["gpt"], np.tri(len(masks["gpt"]))) and masks["bert"].all()
    assert np.array_equal(masks["ngram"], np.tri(8) - np.tri(8, k=-2))
    window = tasks["skipgram"].model.config.window
    assert not masks["skipgram"].diagonal().any() and masks["skipgram"][0, window] and not masks["skipgram"][0, window + 1]


def test_lines_begin_at_the_pieces_of_a_word(tasks):
    data = picture_data(tasks["bert"], "lines", TEXT, word="Rome")
    assert "".join(data["tokens"][at].removeprefix("##") for at in data["word"]) == "Rome"
    assert {one["from"] for one in data["lines"]} <= set(data["word"])
    assert picture_data(tasks["bert"], "lines", TEXT, word="0")["word"] == [0]
    with pytest.raises(BadInput, match="'snow' is not in the text"):
        picture_data(tasks["bert"], "lines", TEXT, word="snow")


def test_reasons_are_what_leaving_a_word_out_does(tasks):
    task = tasks["by tf-idf"]
    data = picture_data(task, "reasons", TEXT)
    full = task.answer(TEXT)["probabilities"][data["label"]]
    without = task.answer(TEXT.replace("soup ", ""))["probabilities"][data["label"]]
    assert data["probability"] == pytest.approx(full) and data["words"][0]["probability_drop"] == pytest.approx(full - without)
    assert [one["word"] for one in data["words"]] == TEXT.split()
    assert labels.remove_span("a b c", 2, 3) == "a c" and labels.remove_span("a b.", 2, 3) == "a ."
    assert [("我喜欢北京, don't!")[a:b] for a, b in labels.word_spans("我喜欢北京, don't!")] == ["我", "喜欢", "北京", ",", "don't", "!"]
    assert len(picture_data(task, "reasons", TEXT * 40)["words"]) == labels.MAX_SPANS


@pytest.mark.parametrize("name", ["by tf-idf", "by vectors", "classify", "classify by elmo"])
def test_the_nearest_texts_are_those_whose_features_point_the_same_way(tasks, name, tmp_path, monkeypatch):
    task, labels = tasks[name], write_labels(tmp_path / "labels.csv", ("snow and hail in Oslo .", "weather"))
    known = list(dict.fromkeys(line.rsplit(",", 1)[0] for line in (tmp_path / "labels.csv").read_text().splitlines()[1:]))
    data = picture_data(task, "nearest", known[3], labels=labels, top=4)
    assert data["near"][0]["text"] == known[3] and data["near"][0]["cosine"] == pytest.approx(1, abs=1e-5) and len(data["near"]) == 4
    assert data["label"] == task.answer(known[3])["label"] and data["near"][0]["where"].endswith("labels.csv:5")
    features = task.text_features(known)
    dense = features.toarray() if hasattr(features, "toarray") else features
    lengths = np.linalg.norm(dense, axis=1)
    cosines = sorted(dense @ dense[3] / np.maximum(lengths * lengths[3], 1e-12), reverse=True)
    assert [one["cosine"] for one in data["near"]] == pytest.approx(cosines[:4], abs=1e-5)
    monkeypatch.setattr("stairs.inspection.labels.MAX_EXAMPLES", 10)
    write_labels(tmp_path / "labels.csv")
    assert "were compared" in picture_data(task, "nearest", TEXT, labels=labels)["truncation"]


def test_what_does_not_fit_is_one_sentence(tasks, tmp_path):
    def refuses(words, kind, *given, **options):
        with pytest.raises(kind, match=words):
            picture_data(*given, **options)

    refuses("has no attention to draw; it has tokens, backoff", Unsupported, tasks["ngram"], "attention", TEXT)
    refuses("did you mean attention", BadInput, tasks["bert"], "atention", TEXT)
    refuses("there are tokens, backoff", BadInput, tasks["bert"], "xyz", TEXT)
    refuses("--layer is not for tokens", BadInput, tasks["bert"], "tokens", TEXT, layer=1)
    refuses("--head is not for heads, which takes second", BadInput, tasks["bert"], "heads", TEXT, head=1)
    refuses("bert has no layer 9; it has 2", BadInput, tasks["bert"], "attention", TEXT, layer=9)
    refuses("bert has no head 9; each layer has 2", BadInput, tasks["bert"], "attention", TEXT, head=9)
    refuses("a picture of a text, and none was given", BadInput, tasks["bert"], "heads", " ")
    refuses("does not read two texts", Unsupported, tasks["gpt"], "heads", TEXT, second=TEXT)
    refuses("three words", BadInput, tasks["skipgram"], "analogy", "soup")
    refuses("give it with --word", BadInput, tasks["bert"], "senses", TEXT)
    refuses("names no sense", BadInput, tasks["bert"], "senses", TEXT, word="soup")
    refuses("must leave something", BadInput, tasks["by tf-idf"], "reasons", "soup")
    refuses("has no confusion matrix; stairs tune", Unsupported, tasks["classify"], "confusion", run=str(tmp_path))
    refuses("give the training file of the run with --labels", BadInput, tasks["by tf-idf"], "nearest", TEXT)
    refuses("there is no file none.csv", BadInput, tasks["by tf-idf"], "nearest", TEXT, labels="none.csv")
    refuses("knows no word of 'zorblax'", BadInput, tasks["by tf-idf"], "nearest", "zorblax", labels=write_labels(tmp_path / "labels.csv"))
    (tmp_path / "other.csv").write_text("text,label\nsoup,good\nrain,bad\n")
    refuses("has the labels good, bad, and this run food", BadInput, tasks["by tf-idf"], "nearest", TEXT, labels=str(tmp_path / "other.csv"))
    (tmp_path / "evaluation.json").write_text('{"dev": {"accuracy": 1}}')
    refuses("holds no confusion matrix", BadInput, tasks["classify"], "confusion", run=str(tmp_path))


def test_alignment_of_one_head_or_of_all(tasks):
    task = tasks["transformer"]
    mean, heads = picture_data(task, "alignment", TEXT), [picture_data(task, "alignment", TEXT, layer=0, head=head) for head in range(2)]
    assert np.allclose(np.mean([head["weights"] for head in heads], 0), mean["weights"], atol=1e-3)  # the last layer but one is the first of two
    assert not np.allclose(picture_data(task, "alignment", TEXT, layer=1)["weights"], mean["weights"], atol=1e-3)
    with pytest.raises(Unsupported, match="seq2seq has one attention"):
        picture_data(tasks["seq2seq"], "alignment", TEXT, layer=0)


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary", "learned"])
def test_positions_of_every_kind(tasks, kind):
    config = dataclasses.replace(tasks["gpt"].model.config, positions=kind)
    data = picture_data(NextToken(GPT(config), tasks["gpt"].tokenizer), "positions")
    assert data["kind"] == kind and len(data["table"]) == data["positions"] == 32
    assert kind == "learned" or data["table"][0][-1] == 1  # the cosine of nothing


def test_two_texts_are_read_in_one_row(tasks):
    data = picture_data(tasks["bert"], "attention", "soup", second="rain")
    assert data["tokens"].count("[SEP]") == 2 and PICTURES["attention"].view.options == ("layer", "head", "second")
