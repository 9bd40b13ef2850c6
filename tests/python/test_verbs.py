"""The verbs of tasks: those that a task has, what they give, that a command gives the same, and what they refuse."""

import copy
import doctest
import inspect
import json
import multiprocessing
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import stairs
from stairs import api
from stairs.errors import Unsupported
from stairs.tasks import TASKS
from stairs.tasks.availability import VERBS
from stairs.tasks.task import Task
from tests.support.runs import PAIRS, REVIEWS, SENTENCES

TEXT = "the cat sat on the mat ."
CALLS = {  # a call of every verb, and a task that has it
    "fill": ("bert", ("the cat sat on the ___ .",), {"top": 2}),
    "next_sentence": ("bert", (TEXT, "a dog ran ."), {}),
    "pseudo_log_likelihood": ("bert", (TEXT,), {}),
    "generate": ("gpt", ("the cat",), {"length": 3, "top_p": 0.9}),
    "log_probability": ("gpt", (TEXT,), {}),
    "embed": ("bert", (["a cat", "a dog"],), {}),
    "embed_tokens": ("bert", (["a cat"],), {"layer": 1}),
    "similarity": ("bert", ("a cat", "a dog"), {}),
    "nearest": ("vectors", ("cat - dog + bird",), {"top": 2}),
    "predict": ("reviews", (["a good film", "a bad film"],), {}),
    "predict_proba": ("reviews", (["a good film", "a bad film"],), {}),
    "predict_file": ("reviews", ("reviews.csv", "predictions.csv"), {}),
    "tag": ("tagger", ("the cat sat in Rome .",), {}),
    "find_span": ("reader", ("where is it ?", "the cat sat in Rome ."), {}),
    "choose": ("quiz", ("what is for dinner ?", ["a cat", "rice"]), {}),
    "find_sense": ("senses", ("the *bank* of water",), {}),
    "translate": ("translator", (["12", "3"],), {"beam_size": 1}),
    "tune": ("bert", (REVIEWS,), {"epochs": 1, "transfer": "features", "out": "runs/tuned-again"}),
    "evaluate": ("reviews", (REVIEWS,), {}),
    "draw": ("bert", ("attention", TEXT), {"layer": 1}),
    "convert": ("bert", ("huggingface", "converted"), {}),
}


def test_every_verb_has_a_call_and_every_kind_of_task_a_run(runs):
    assert CALLS.keys() == VERBS.keys()
    assert {task.name for task in runs.values()} >= TASKS.keys() - {"encode", "classify-vectors", "multilabel-vectors", "regress-vectors"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_works_where_completion_shows_it_and_says_who_has_it_elsewhere(verb, runs):
    name, arguments, options = CALLS[verb]
    assert verb in dir(runs[name])
    assert getattr(runs[name], verb)(*arguments, **options) is not None
    for task in runs.values():
        assert (verb in dir(task)) == VERBS[verb].has(task)
        if verb not in dir(task):
            with pytest.raises(Unsupported, match=r"^a [\w-]+ run of [\w-]+ (has no|gives no)") as caught:
                getattr(task, verb)(*arguments, **options)
            assert "\n" not in str(caught.value) and "run" in str(caught.value)


def test_completion_shows_what_people_use_and_no_more(runs):
    shown = [name for name in dir(runs["bert"]) if not name.startswith("_")]
    assert shown == [
        "answer", "answers", "convert", "draw", "embed", "embed_tokens", "evaluate", "fill", "folder", "model", "name", "next_sentence",
        "predict_file", "pseudo_log_likelihood", "save", "similarity", "summary", "tokenizer", "tune",
    ]  # fmt: skip
    assert {"predict", "predict_proba", "labels"} <= set(dir(runs["tfidf"])) and "model" not in dir(runs["tfidf"])


def test_the_public_names_of_the_package():
    expected = ["BadInput", "Embeddings", "MODELS", "StairsError", "TASKS", "TOKENIZERS", "__version__", "adopt", "climb", "load", "train", "tune"]
    assert dir(stairs) == expected and all(getattr(stairs, name) for name in expected)
    assert (Path(stairs.__file__).parent / "py.typed").exists()


def test_the_file_that_mypy_checks_uses_every_verb():
    """`make check` runs mypy --strict on it."""
    text = (Path(__file__).parents[1] / "typing" / "uses_every_verb.py").read_text()
    assert not [verb for verb in (*VERBS, "recommended", "recommendation", "rows", "table") if f".{verb}" not in text]
    assert not [name for name in dir(stairs) if f"stairs.{name}" not in text]


def test_shapes_and_orders(runs):
    assert runs["bert"].embed("a cat").shape == (32,) and runs["bert"].embed(["a cat"]).dtype == np.float32
    for name in ("reviews", "tfidf", "ngram_classifier"):
        probabilities, labels = runs[name].predict_proba(["a good film", "a bad soup"]), runs[name].predict(["a good film", "a bad soup"])
        assert probabilities.shape == (2, 2) and probabilities.sum(1) == pytest.approx(1, abs=1e-5)
        assert [runs[name].labels[place] for place in probabilities.argmax(1)] == labels
        assert runs[name].predict("a good film") == labels[0] and runs[name].predict_proba("a bad soup") == pytest.approx(probabilities[1], abs=1e-5)
    assert runs["tfidf"].predict(["a good film", "a bad soup"]) == ["pos", "neg"]
    assert runs["pairs"].predict_proba(["a cat"], ["the dog"]).shape == (1, 2)
    assert isinstance(runs["scores"].predict("a cat", "the dog"), float)
    assert [near["text"] for near in runs["similar"].nearest(SENTENCES[3], top=1)] == [SENTENCES[3]]


@pytest.mark.parametrize("name", ["bert", "gpt", "ngram", "elmo", "vectors", "translator", "reviews", "pairs", "scores", "tagger", "reader", "senses",
                                  "similar", "tfidf", "ngram_classifier", "vector_classifier"])  # fmt: skip
def test_a_task_of_every_kind_is_pickled_and_copied(name, runs):
    task = runs[name]
    questions = {"senses": "the *bank* of water", "translator": "12", "reader": "where is it ?", "vectors": "cat", "bert": "the ___ sat ."}
    question = questions.get(name, "the cat sat .")
    second = {"second": "the cat sat in Rome ."} if name in ("reader", "pairs", "scores") else {}
    expected = json.dumps(task.answer(question, **second), sort_keys=True)
    packed = pickle.dumps(task)
    for twin in (pickle.loads(packed), copy.deepcopy(task), copy.copy(task)):
        assert type(twin) is type(task) and twin.folder == task.folder and repr(twin) == repr(task)
        assert json.loads(json.dumps(twin.answer(question, **second), sort_keys=True)) == json.loads(expected)


def predict_elsewhere(task):
    return task.predict(["a good film", "a bad soup"])


def test_a_task_works_in_another_process(runs):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(predict_elsewhere, [runs["tfidf"]]) == [["pos", "neg"]]


def test_nothing_but_safetensors_and_json_is_pickled(runs):
    restore, (files, folder) = runs["bert"].__reduce__()
    assert restore.__module__ == "stairs.tasks.portable" and folder == str(runs["bert"].folder)
    assert {Path(name).suffix for name in files} <= {".json", ".safetensors"} and all(isinstance(own, bytes) for own in files.values())


def test_what_it_is_and_how_good(runs):
    shown = {"bert": ("masked-token", "loss: ", "run: "), "reviews": ("labels: neg, pos", "accuracy: "), "ngram": ("bits per character",)}
    for name, words in shown.items():
        assert all(word in repr(runs[name]) and word.split(":")[0] in runs[name]._repr_html_() for word in words)


# help()


def documented():
    verbs = [getattr(Task, name) for name in VERBS]
    return [*verbs, stairs.train, stairs.load, stairs.tune, stairs.climb, stairs.adopt]


@pytest.mark.parametrize("verb", documented(), ids=lambda verb: verb.__name__)
def test_help_has_arguments_and_an_example_that_runs(verb, runs):
    text = inspect.getdoc(verb)
    assert re.search(r"^>>> ", text, re.M), f"{verb.__name__} has no example"
    kinds = {parameter.kind for parameter in inspect.signature(verb).parameters.values()}
    assert inspect.Parameter.VAR_POSITIONAL not in kinds and "self" not in text
    if verb is stairs.adopt:
        runs["bert"].convert("huggingface", "bert-of-transformers")
    test = doctest.DocTestParser().get_doctest(text, {"stairs": stairs, **runs}, verb.__name__, None, 0)
    failures = doctest.DocTestRunner(verbose=False).run(test)
    assert failures.attempted and not failures.failed


# A command gives the same as its verb


def output(command, *arguments):
    ended = command(*arguments, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_a_command_and_its_verb_give_the_same(runs, command, monkeypatch, world):
    monkeypatch.chdir(world[0])
    asked = {
        "bert": (["the cat sat on the ___ .", "--top", "2"], lambda task: task.fill("the cat sat on the ___ .", top=2)),
        "reviews": (["a good film"], lambda task: {**task.answer("a good film"), "label": task.predict("a good film")}),
        "tagger": (["the cat sat in Rome ."], lambda task: task.tag("the cat sat in Rome .")),
        "reader": (["where is it ?", "--second", TEXT], lambda task: task.find_span("where is it ?", TEXT)),
        "quiz": (["dinner ?", "--choices", "a cat", "rice"], lambda task: task.choose("dinner ?", ["a cat", "rice"])),
        "senses": (["the *bank* of water"], lambda task: task.find_sense("the *bank* of water")),
    }
    for name, (arguments, verb) in asked.items():
        assert output(command, "ask", f"runs/{name}", *arguments) == json.loads(json.dumps(verb(runs[name]))), name
    pair = output(command, "ask", "runs/bert", "a cat .", "--second", "a dog .")
    assert pair == runs["bert"].next_sentence("a cat .", "a dog .")
    assert output(command, "ask", "runs/bert", TEXT, "--likelihood") == runs["bert"].pseudo_log_likelihood(TEXT)
    drawn = ["--length", "3", "--temperature", "1", "--top-p", "0.9"]
    assert output(command, "ask", "runs/gpt", "the cat", *drawn)["continuation"] == runs["gpt"].generate("the cat", length=3, top_p=0.9)
    assert output(command, "ask", "runs/translator", "12")["translation"] == runs["translator"].translate("12")
    assert output(command, "embed", "runs/bert", "a cat")[0]["vector"] == runs["bert"].embed("a cat").tolist()
    (tokens,) = output(command, "embed", "runs/bert", "a cat", "--tokens", "--layer", "1")
    assert tokens["vectors"] == runs["bert"].embed_tokens("a cat", layer=1)[0][1].tolist()
    assert output(command, "near", "runs/vectors", "cat - dog + bird", "--top", "2")[0]["near"] == runs["vectors"].nearest("cat - dog + bird", top=2)
    assert output(command, "draw", "runs/bert", "attention", TEXT, "--layer", "1") == json.loads(
        json.dumps(runs["bert"].draw("attention", TEXT, layer=1).data)
    )
    Path("rows.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in REVIEWS))
    assert output(command, "score", "runs/reviews", "rows.csv") == runs["reviews"].evaluate(REVIEWS) == runs["reviews"].evaluate("rows.csv")
    ours = runs["bert"].convert("huggingface", "converted-here")
    assert output(command, "convert", "runs/bert", "huggingface", "--out", "converted-there") == {"out": "converted-there", **ours}
    assert output(command, "adopt", "converted-here", "--out", "runs/adopted-there")["parameters"] == sum(
        weight.numel() for weight in stairs.adopt("converted-there", out="runs/adopted-here").model.parameters()
    )


def test_rows_of_python_are_split_and_learnt_as_those_of_a_file(runs, command, world, monkeypatch):
    monkeypatch.chdir(world[0])
    Path("pairs.csv").write_text("first,second,label\n" + "".join(",".join(row) + "\n" for row in PAIRS))
    shell = output(command, "tune", "runs/bert", "pairs.csv", "--epochs", "1", "--transfer", "features", "--out", "runs/from-shell")
    task = runs["bert"].tune(PAIRS, epochs=1, transfer="features", out="runs/from-python")
    ours = json.loads((task.folder / "evaluation.json").read_text())
    assert ours["test"] == shell["test"]
    again = stairs.load("runs/from-shell")
    assert task.predict_proba(["a cat"], ["the soup"]) == pytest.approx(again.predict_proba(["a cat"], ["the soup"]), abs=1e-6)
    assert api.tune(runs["bert"], PAIRS, epochs=1, transfer="features", out="runs/from-python").folder == task.folder, "it is finished and left alone"
