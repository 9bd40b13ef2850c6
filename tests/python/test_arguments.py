"""Arguments that no verb can take: each is refused in a sentence, before anything is computed; and numbers of numpy, which they can take."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

import stairs
from stairs import progress, session
from stairs.errors import BadInput, Diverged, Unsupported
from stairs.tasks.parts.decoding import sample_token
from tests.support.runs import REVIEWS, SENTENCES

FILL = "the cat sat on the ___ ."
TINY = {"width": 8, "layers": 1, "heads": 1, "context": 16, "vocab_size": 300, "out": "runs/never"}


def train(**given):
    return stairs.train("gpt", SENTENCES, **{"steps": 1, **TINY, **given})


REFUSED = {  # a call, and a part of the sentence
    "a number that is a word": (lambda runs: runs["bert"].fill(FILL, top="ten"), "top is 'ten', which is of type str; give a whole number"),
    "half of a word": (lambda runs: runs["bert"].fill(FILL, top=1.5), "top is 1.5, which is of type float; give a whole number"),
    "no word": (lambda runs: runs["bert"].fill(FILL, top=0), "top 0 is not between 1 and"),
    "not a number": (lambda runs: runs["gpt"].generate("a", temperature=float("nan")), "temperature is nan, which is of type float; give a number"),
    "an unknown keyword": (lambda runs: runs["gpt"].generate("a", topp=0.5), "unexpected keyword argument 'topp', did you mean top_p;"),
    "no argument": (lambda runs: runs["gpt"].log_probability(), "log_probability: missing a required argument: 'text'"),
    "None as a sentence": (lambda runs: runs["gpt"].log_probability(None), "text is None; give a string"),
    "None as a likely one": (lambda runs: runs["bert"].pseudo_log_likelihood(None), "text is None; give a string"),
    "similar to None": (lambda runs: runs["vectors"].similarity("cat", None), "second is None; give a string"),
    "a layer by name": (lambda runs: runs["bert"].embed("a cat", layer="top"), "layer is 'top'"),
    "an unknown precision": (lambda runs: runs["bert"].embed("a cat", precision="fp16"), "there is no precision 'fp16'; did you mean"),
    "half a character": (lambda runs: runs["tfidf"].predict("\ud800"), "half a surrogate pair"),
    "half a character among rows": (lambda runs: stairs.tune("tfidf", [("\ud800", "pos")]), "list:1: the text holds half a surrogate pair"),
    "an array without a dimension": (lambda runs: runs["bert"].embed(np.array(5)), "texts are given as int"),
    "no picture": (lambda runs: runs["bert"].draw(None, "a cat"), "picture is None; give a string"),
    "attention beside another run": (lambda runs: runs["bert"].draw("attention", "a cat", beside="runs/gpt"), "beside is not for attention"),
    "no file name": (lambda runs: runs["bert"].draw("tokens", "a cat").save(None), "path is None; give a string or a path"),
    "a run that is none": (lambda runs: stairs.load(5), "run is 5, which is of type int; give a string or a path"),
    "a task for a folder": (lambda runs: stairs.load(runs["bert"]), "run is <MaskedToken"),
    "tune nothing": (lambda runs: stairs.tune(None, REVIEWS), "the run is None; give a run folder"),
    "tune a run without a model": (lambda runs: stairs.tune("runs/tfidf", REVIEWS, out="runs/never"), "runs/tfidf is a classify-tfidf run"),
    "evaluate nothing": (lambda runs: runs["translator"].evaluate(None), "the data are None"),
    "a column list": (lambda runs: stairs.tune("tfidf", REVIEWS, columns="text,label"), "there is no option 'columns'; name each with text="),
    "too few rows": (lambda runs: stairs.tune("tfidf", REVIEWS[:2]), "list has 2 different examples"),
    "a series of texts alone": (lambda runs: stairs.tune("tfidf", pytest.importorskip("pandas").Series(["a"])), "Series:1: 'a' (of type str)"),
    "a transfer that is none": (lambda runs: runs["bert"].tune(REVIEWS, transfer="ful"), "there is no transfer 'ful'; did you mean full?"),
    "no model": (lambda runs: stairs.train(None, SENTENCES), "model is None; give a string"),
    "a model in capitals": (lambda runs: stairs.train("BERT", SENTENCES), "did you mean bert?"),
    "a budget without a unit": (lambda runs: train(budget=5), "budget is 5, which is of type int; give a time such as '90s'"),
    "a budget of a day of the week": (lambda runs: stairs.climb(REVIEWS, budget=None), "budget is None; give a time such as"),
    "a seed that is a word": (lambda runs: train(seed="ten"), "seed is 'ten'"),
    "a width that is a word": (lambda runs: train(width="ten"), "width is 'ten', which is of type str; give a whole number"),
    "threads that are none": (lambda runs: train(threads=True), "threads is True, which is of type bool; give a whole number"),
    "a rate that is a word": (lambda runs: train(learning_rate="ten"), "learning_rate is 'ten'"),
    "a folder that is a number": (lambda runs: train(out=5), "out is 5, which is of type int; give a string or a path"),
    "models that are none": (lambda runs: stairs.climb(REVIEWS, models=5), "models is 5, which is of type int; give a list of names"),
    "a cost that is none": (lambda runs: stairs.climb(REVIEWS, cost="speed"), "there is no cost 'speed'; there are train, latency, size, memory"),
    "embeddings of nothing": (lambda runs: stairs.Embeddings(None), "the run is None; give a run folder"),
    "embeddings of counts": (lambda runs: stairs.Embeddings(runs["tfidf"]), "a classify-tfidf run of tfidf has no embed; runs whose model encodes"),
    "a batch of words": (lambda runs: stairs.Embeddings(runs["bert"]).encode(["a"], batch_size="ten"), "batch_size is 'ten'"),
    "a model of a climb that is none": (lambda runs: stairs.climb(REVIEWS, models=[None]), "models is None; give a string"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_argument_is_one_sentence(what, runs):
    call, words = REFUSED[what]
    with pytest.raises(BadInput) as caught:
        call(runs)
    sentence = str(caught.value)
    assert words in sentence and "\n" not in sentence and "--" not in sentence and len(sentence) < 300
    assert not Path("runs/never").exists()


def test_numbers_of_numpy_and_whole_floats_are_numbers(runs):
    assert len(runs["bert"].fill(FILL, top=np.int64(2))["blanks"][0]["words"]) == 2
    assert runs["gpt"].generate("the cat", length=2.0, temperature=np.float32(0)) == runs["gpt"].generate("the cat", length=2)
    task = train(steps=np.int64(1), seed=np.uint8(3), learning_rate=np.float32(1e-3), out="runs/numpy")
    assert task.folder == Path("runs/numpy")


def test_one_name_is_a_list_of_one(runs):
    with pytest.raises(BadInput, match="no model 'zebra'"):
        stairs.climb(REVIEWS, models="tfidf, zebra", out="runs/never")
    report = stairs.climb(REVIEWS, budget="120s", models="tfidf", out="runs/climb-one")
    assert [row["model"] for row in report.rows] == ["tfidf"]


def test_columns_with_numbers_as_names(runs):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({2020: [text for text, _ in REVIEWS], 2021: [label for _, label in REVIEWS]})
    assert stairs.tune("tfidf", frame, text=2020, label=2021, out="runs/numbered").labels == ["neg", "pos"]
    assert stairs.train("ngram", frame, text=2020, out="runs/numbered-ngram").log_probability("a good film") < 0


def test_whole_floats_are_the_same_labels_in_a_frame_a_dict_and_a_list(runs):
    texts, labels = [text for text, _ in REVIEWS], [float(label == "pos") for _, label in REVIEWS]
    for number, data in enumerate(({"text": texts, "label": labels}, {"text": texts, "label": np.array(labels)})):
        assert stairs.tune("tfidf", data, out=f"runs/floats-{number}").labels == ["0", "1"]
    assert stairs.tune("tfidf", texts, labels, out="runs/floats-list").labels == ["0", "1"]


def test_errors_of_a_command_name_flags(runs, command):
    ended = command("ask", str(runs["vectors"].folder), "zzzz")
    assert ended.code == 2 and "--subwords" in ended.err
    with pytest.raises(BadInput, match="trained with subwords"):
        runs["vectors"].similarity("zzzz", "cat")


def test_verbs_of_several_threads_leave_progress_as_it_was(monkeypatch, runs):
    monkeypatch.setattr(session, "is_watched", lambda: True)
    entered, leave, seen = threading.Event(), threading.Event(), []

    @session.python_verb
    def slow() -> None:
        seen.append(progress.messages_enabled)
        entered.set()
        leave.wait(5)

    first = threading.Thread(target=slow)
    first.start()
    entered.wait(5)
    entered.clear()
    second = threading.Thread(target=slow)
    second.start()
    entered.wait(5)
    leave.set()
    first.join()
    second.join()
    assert seen == [True, True] and not progress.messages_enabled and not progress.bars_enabled


def test_what_a_task_has_not_is_said_where_the_model_is_right(runs):
    with pytest.raises(Unsupported, match="a classify run of bert has no fill; a pretrained bert run has it"):
        runs["reviews"].fill(FILL)


def test_ctrl_c_ends_a_verb_with_a_sentence_and_no_traceback_from_inside():
    @session.python_verb
    def tune() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="tune was stopped; the same call goes on from what is saved") as caught:
        tune()
    assert caught.value.__suppress_context__ and not progress.messages_enabled
    with pytest.raises(KeyboardInterrupt) as caught, session.in_command():
        tune()
    assert not str(caught.value), "a command says so itself"


def test_nothing_warns_and_nothing_is_left_behind(tmp_path):
    """With warnings as errors; labels with two examples each make scikit-learn suspect numbers."""
    script = """
import stairs
rows = [(f"a film number {i}", str(i // 2)) for i in range(60)]
print(stairs.tune("tfidf", rows, out="run").labels[:2])
"""
    surroundings = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, cwd=tmp_path, env=surroundings, check=False)
    assert ended.returncode == 0 and not ended.stderr, ended.stderr
    assert not list(tmp_path.glob("stairs-*"))


def test_a_text_without_words_is_found_among_many(runs):
    texts = ["a good film", "   "]
    for verb, place in (("predict", "list:2"), ("predict_proba", "list:2"), ("embed", "text 2"), ("embed_tokens", "text 2")):
        with pytest.raises(BadInput, match=f"^{place}: there are no tokens in '   '; give a text with words$"):
            getattr(runs["reviews"], verb)(texts)
    with pytest.raises(BadInput, match=r"^list:2: there are no tokens"):
        runs["pairs"].predict(texts, texts)
    with pytest.raises(BadInput, match=r"^there are no tokens in '   '"):
        runs["reviews"].predict("   ")
    assert runs["tfidf"].predict(texts)[0] == "pos"


def test_numbers_with_fractions_are_predicted_unless_they_are_said_to_be_labels(runs):
    texts = [text for text, _ in REVIEWS]
    halves = [number % 4 / 2 for number in range(len(texts))]
    assert stairs.tune("tfidf", texts, halves, task="classify", out="runs/halves").labels == ["0.0", "0.5", "1.0", "1.5"]
    assert len(stairs.tune("tfidf", texts, [number % 24 for number in range(len(texts))], out="runs/numbers").labels) == 24


def test_weights_that_diverged_generate_no_traceback():
    with pytest.raises(Diverged, match="the weights have diverged; train again with a lower learning rate"):
        sample_token(torch.tensor([float("nan"), 1.0]), 1.0, 0, 1.0, 0, 0)


def test_n_grams_have_no_parameters_to_show(runs):
    assert "parameters" not in repr(runs["ngram"]) and "parameters: 31,640" in repr(runs["bert"])


def test_what_a_command_has_parsed_is_checked_as_before(command):
    """tyro replaces the annotations of inherited fields by its own."""
    assert command("train", "ngram", "--help").code == 0
    with pytest.raises(BadInput, match="threads is True"):
        train(threads=True)
