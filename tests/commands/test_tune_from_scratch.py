"""stairs tune with an encoder that was not pretrained: `cnn` in place of a run, and --transfer scratch."""

import json

import numpy as np
import pytest
import torch

import stairs
from stairs.cli import main
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import TASKS, Encode, WordVectors
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.new_encoder import encoder_of_words
from stairs.training.run import fit_once, load
from tests.commands.test_tune import write, write_scores
from tests.support.small_world import QUESTION, SENTENCES, encoder, examples

QUICK = ("--batch-examples", "8", "--precision", "fp32", "--threads", "1")
SMALL = ("--word-width", "16", "--width", "24", "--windows", "2", "3", *QUICK)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def runs(folder):
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [[*SENTENCES, QUESTION]])
    fit_once(folder / "vectors", {"seed": 0}, lambda: WordVectors(encoder("skipgram", words), words), lambda task: {})
    fit_once(folder / "bert", {"seed": 0}, lambda: Encode(encoder("bert", words), words), lambda task: {})


@pytest.mark.parametrize(
    ("example_kind", "given", "expected"),
    [
        ("classify", ["soup and rice in Rome today ."], "food"),
        ("compare", ["soup today", "--second", "rice today"], ""),  # a hard one for so small a model
        ("tag", ["rice and soup in Rome today ."], "rice/O and/O soup/O in/O Rome/B-place today/O ./O"),
        ("span", [QUESTION, "--second", "soup and rice in Kyoto today ."], "Kyoto"),
    ],
)
def test_cnn_learns_every_task_from_the_labels_alone(example_kind, given, expected, folder, capsys):
    file = write(folder, example_kind, 200)
    assert main(["tune", "cnn", file, "--task", example_kind, "--out", "run", "--epochs", "8", *SMALL, "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["run"] == "run"
    recorded = json.loads((folder / "run" / "run.json").read_text())
    assert recorded["model"] == "cnn" and recorded["transfer"]["transfer"] == "scratch" and recorded["config"]["windows"] == [2, 3]
    assert recorded["config"]["dilated_layers"] == {"tag": 3, "span": 4}.get(example_kind, 0)
    assert main(["ask", "run", *given]) == 0
    assert expected in capsys.readouterr().out
    assert main(["score", "run", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["error"]["value"] <= (0.8 if example_kind == "compare" else 0.2)


def test_it_starts_from_the_word_vectors_of_a_run_and_draws_the_others(runs, folder):
    extra = examples("classify", 20)
    new = encoder_of_words("cnn", "nano", {}, extra, "classify", "vectors", 3)
    first, second = new(), new()
    table, source = first.model.tokens.weight, load("vectors")
    assert all(torch.equal(a, b) for a, b in zip(first.model.parameters(), second.model.parameters(), strict=True))
    own, given = (table[first.tokenizer.id("soup")].detach(), torch.from_numpy(source.rows(np.array([source.tokenizer.id("soup")]))[0]))
    assert float(torch.cosine_similarity(own, given, 0)) == pytest.approx(1, abs=1e-5) and not torch.equal(own, given)
    assert not torch.equal(table, encoder_of_words("cnn", "nano", {}, extra, "classify", None, 3)().model.tokens.weight)
    unknown = table[first.tokenizer.unknown]
    assert unknown.any() and float((unknown.std() / table[5:].std()).detach()) == pytest.approx(1, abs=0.7)


def test_the_same_command_resumes_another_seed_differs_and_the_run_can_be_tuned_further(runs, folder, capsys):
    file = write(folder, "classify")
    words = ["--epochs", "2", "--word-vectors", "vectors", "--width", "24", "--windows", "2", "3", *QUICK]
    for out, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        assert main(["tune", "cnn", file, "--out", out, "--seed", seed, *words]) == 0
    tables = [load(out).model.tokens.weight for out in "abc"]
    assert torch.equal(tables[0], tables[1]) and not torch.equal(tables[0], tables[2])
    assert main(["tune", "cnn", file, "--out", "a", *words]) == 0
    assert "nothing to do" in capsys.readouterr().err
    assert main(["tune", "a", file, "--out", "d", "--transfer", "full", "--epochs", "1", *QUICK]) == 0
    assert load("d").pooling == "max"


def test_scores_of_pairs_have_no_untuned_cosine_to_beat(folder, capsys):
    assert main(["tune", "cnn", write_scores(folder), "--task", "compare", "--out", "run", "--epochs", "2", *SMALL, "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert set(reported["dev"]["selection"]["validation_errors"]) == {"scratch-bi-encoder", "scratch"}
    assert reported["dev"].get("baseline", {}).get("name") != "untuned cosine"


def test_chinese_is_cut_into_words_for_a_text_and_into_characters_for_places_in_it():
    labelled = examples("classify", 4)
    text = type(labelled[0])("这家酒店很好", "food", "file:9")
    assert "酒店" in encoder_of_words("cnn", "nano", {}, [*labelled, text], "classify", None, 0)().tokenizer.vocabulary
    assert "酒店" not in encoder_of_words("cnn", "nano", {}, [*labelled, text], "span", None, 0)().tokenizer.vocabulary


def test_from_python(folder):
    labelled = [(example.text, example.label) for example in examples("classify", 80)]
    task = stairs.tune("cnn", labelled, width=24, windows=(2, 3), word_width=16, steps=100, out="run")
    assert task.predict(["soup and rice in Rome today ."]) == ["food"] and task.model.config.windows == (2, 3)


def test_scratch_trains_new_weights_of_a_run_and_leaves_the_run_alone(runs, folder, capsys):
    file, before = write(folder, "classify", 200), load("bert").model.tensors()
    for out, seed in (("a", "0"), ("c", "1")):
        flags = ["--transfer", "scratch", "--seed", seed, "--learning-rate", "0.003", "--epochs", "6", *QUICK, "--json"]
        assert main(["tune", "bert", file, "--out", out, *flags]) == 0
    accuracies = [json.loads(line)["test"]["accuracy"]["value"] for line in capsys.readouterr().out.splitlines()]
    assert accuracies[0] > 0.8 and not torch.equal(load("a").model.tokens.weight, load("c").model.tokens.weight)
    after = load("bert").model.tensors()
    assert all(torch.equal(before[name], after[name]) for name in before)
    task = TASKS["classify"].for_examples(examples("classify"), load("bert"), TransferOptions(transfer="scratch"))
    assert task.learning_rate == load("bert").model.learning_rate and all(weight.requires_grad for weight in task.model.blocks.parameters())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tune", "cnn", "labels.tsv", "--transfer", "features"], "cnn learns all of it from the labels"),
        (["tune", "cnn", "labels.tsv", "--adapt", "2"], "cnn has none"),
        (["tune", "cnn", "labels.tsv", "--width", "100"], "multiple of 3"),
        (["tune", "cnn", "labels.tsv", "--word-vectors", "bert"], "which has no static word vectors"),
        (["tune", "cnn", "labels.tsv", "--task", "similar"], "for similar give a run"),
        (["tune", "bert", "labels.tsv", "--size", "small"], "a run has its size"),
        (["tune", "bert", "labels.tsv", "--windows", "3"], "no option --windows"),
        (["tune", "bert", "labels.tsv", "--transfer", "scratch", "--adapt", "1"], "give one of the two"),
        (["train", "cnn", "labels.tsv"], "stairs tune cnn labels.csv"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(words, message, runs, folder, capsys):
    write(folder, "classify")
    assert main(words) == 2
    assert message in capsys.readouterr().err
