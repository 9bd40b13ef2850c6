"""stairs tune --structural-positions: from a CoNLL-U file to tags, as a user types it."""

import json

import pytest

import stairs
from stairs.cli import main
from stairs.errors import Unsupported
from stairs.tasks import Encode
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import fit_once
from tests.support.parsed_world import as_conllu, parsed_sentences
from tests.support.small_world import SENTENCES, encoder

QUICK = ("--steps", "20", "--batch-examples", "8", "--learning-rate", "0.003", "--precision", "fp32", "--threads", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [SENTENCES])
    for model in ("bert", "gpt"):
        fit_once(tmp_path / model, {"seed": 0}, lambda model=model: Encode(encoder(model, tokenizer), tokenizer), lambda task: {})
    (tmp_path / "ud.conllu").write_text(as_conllu(parsed_sentences(80)))
    (tmp_path / "other.conllu").write_text(as_conllu(parsed_sentences(5, seed=1)))
    return tmp_path


def test_tune_score_and_ask(folder, capsys):
    assert main(["tune", "bert", "ud.conllu", "--task", "tag", "--structural-positions", "--out", "run", *QUICK, "--json"]) == 0
    shown = capsys.readouterr()
    assert "trees from head" in shown.err and "trying" not in shown.err  # a head alone would not learn them
    assert 0 <= json.loads(shown.out)["test"]["accuracy"]["value"] <= 1
    assert main(["score", "run", "other.conllu"]) == 0
    assert "accuracy" in capsys.readouterr().out
    assert main(["ask", "run", "soup and rice ."]) == 2
    assert "needs the dependency tree of a sentence; give a CoNLL-U file (ask RUN --file)" in capsys.readouterr().err
    untagged = (folder / "other.conllu").read_text().replace("NEAR", "_").replace("FAR", "_")
    (folder / "untagged.conllu").write_text(untagged)
    answers = []
    for file in ("other.conllu", "untagged.conllu"):
        assert main(["ask", "run", "--file", file, "--json"]) == 0
        answers.append([json.loads(line) for line in capsys.readouterr().out.splitlines()])
    assert answers[0] == answers[1] and [answer["words"] for answer in answers[0]] == [list(own.words) for own in parsed_sentences(5, seed=1)]
    (folder / "texts.txt").write_text("soup and rice .\n")
    assert main(["ask", "run", "--file", "texts.txt"]) == 2
    assert "texts.txt: no dependency trees" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("embed", "run", "soup"), "which plain text does not have; tag or score a CoNLL-U file with it, or take the run that it was tuned from"),
        (("draw", "run", "attention", "soup"), "which plain text does not have"),
        (("convert", "run", "huggingface", "--out", "folder"), "for which huggingface has no place; convert the run that it was tuned from"),
        (("convert", "run", "sentence-transformers", "--out", "folder"), "for which sentence-transformers has no place"),
        (("tune", "run", "ud.conllu", "--task", "tag", "--out", "again"), "reads nothing without dependency trees"),
    ],
)
def test_what_a_run_with_trees_cannot_do(arguments, says, folder, capsys):
    assert main(["tune", "bert", "ud.conllu", "--task", "tag", "--structural-positions", "--out", "run", *QUICK]) == 0
    capsys.readouterr()
    assert main([*arguments, "--quiet"]) == 2
    (printed,) = capsys.readouterr().err.splitlines()
    assert says in printed and "--structural-positions" in printed and not (folder / "folder").exists() and not (folder / "again").exists()


def test_the_same_in_python(folder):
    tagger = stairs.tune("bert", "ud.conllu", task="tag", structural_positions=True, out="run", steps=20, precision="fp32", threads=1)
    assert tagger.model.needs_trees and set(tagger.evaluate("other.conllu")["accuracy"]) == {"value", "low", "high"}
    with pytest.raises(Unsupported, match="needs the dependency tree"):
        tagger.tag("soup and rice .")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["bert", "ud.conllu", "--transfer", "features"], "--transfer features trains none of it; use full or top"),
        (["gpt", "ud.conllu"], "--structural-positions is for bert, and this is a gpt run"),
        (["tfidf", "ud.conllu"], "tfidf learns classify, multilabel, regress, compare and choose only; for tag give hmm, crf or a run"),
    ],
)
def test_what_cannot_be(arguments, says, capsys):
    assert main(["tune", *arguments, "--task", "tag", "--structural-positions", "--out", "run", *QUICK]) == 2
    assert says in capsys.readouterr().err


def test_without_the_flag_heads_are_not_looked_at(folder, capsys):
    (folder / "headless.conllu").write_text((folder / "ud.conllu").read_text().replace("\t0\troot", "\t_\t_"))
    runs = []
    for file in ("ud.conllu", "headless.conllu"):
        assert main(["tune", "bert", file, "--task", "tag", "--transfer", "full", "--out", file[:-7], *QUICK]) == 0
        runs.append(json.loads((folder / file[:-7] / "run.json").read_text())["data"])
    assert runs[0] == runs[1]
