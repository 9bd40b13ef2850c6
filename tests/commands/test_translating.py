"""Translating as a user types it: train on pairs, ask, judge, draw, convert; and what bad pairs get."""

import json

import pytest

from stairs.cli import main

QUICK = ("--context", "32", "--width", "32", "--steps", "40", "--batch-tokens", "512", "--learning-rate", "0.005", "--threads", "1")
SIZES = {"transformer": ("--heads", "2", "--layers", "1"), "seq2seq": ("--hidden", "32", "--attention", "additive"), "cove": ("--hidden", "32")}
WORDS = ["one", "two", "three", "four", "five", "six", "seven"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers = [f"{a} {b} {c}" for a in range(1, 8) for b in range(1, 8) for c in range(1, 4)]
    (tmp_path / "pairs.en").write_text("".join(f"{' '.join(WORDS[int(n) - 1] for n in row.split())}\n" for row in numbers))
    (tmp_path / "pairs.zh").write_text("".join(f"{row}\n" for row in numbers))
    return tmp_path


def train(step, *more):
    return main(["train", step, "--pairs", "pairs.en", "--tokenizer", "words", "--out", f"runs/{step}", *QUICK, *SIZES[step], *more])


@pytest.mark.parametrize("step", SIZES)
def test_from_pairs_to_a_translation(step, folder, capsys):
    assert train(step) == 0
    assert "BLEU" in capsys.readouterr().out
    (folder / "lines.txt").write_text("one two\nseven\n")
    assert main(["ask", f"runs/{step}", "--file", "lines.txt"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["ask", f"runs/{step}", "one two", "--beam-size", "3", "--n-best", "3", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["translations"]) == 3 and answer["tree"] and answer["trace"][0]["input"] == "[CLS]"
    assert main(["score", f"runs/{step}", "pairs.en", "pairs.zh", "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert judged["sentences"] == 147 and {"bleu", "chrf", "exact_match", "bits_per_character"} <= judged.keys()
    for precision in ("bf16", "int8"):
        assert main(["ask", f"runs/{step}", "one two", "--precision", precision]) == 0
        assert capsys.readouterr().out.strip()
    assert main(["score", f"runs/{step}", "pairs.en", "--beam-size", "1"]) == 0
    assert "bleu" in capsys.readouterr().out


@pytest.mark.parametrize(("digits", "kind"), [("一二三四五六七", "bpe"), ("abcdefg", "byte-bpe")])
def test_tokens_of_chinese_pairs_are_whole_characters_unless_a_tokenizer_is_named(folder, capsys, digits, kind):
    rows = [row.split() for row in (folder / "pairs.zh").read_text().splitlines()]
    (folder / "pairs.zh").write_text("".join("".join(digits[int(n) - 1] for n in row) + "\n" for row in rows))
    command = ["train", "transformer", "--pairs", "pairs.en", "pairs.zh", "--out", "runs/pairs", *QUICK, *SIZES["transformer"], "--steps", "2"]
    assert main(command) == 0
    assert json.loads((folder / "runs/pairs/tokenizer/tokenizer_config.json").read_text())["stairs"]["kind"] == kind
    assert ("one of the languages is Chinese" in capsys.readouterr().err) == (kind == "bpe")
    named = ["--tokenizer", "byte-bpe", "--out", "runs/named"]
    assert main([*command, *named]) == 0
    assert json.loads((folder / "runs/named/tokenizer/tokenizer_config.json").read_text())["stairs"]["kind"] == "byte-bpe"


def test_pictures_of_the_alignment_and_of_the_tree(folder, capsys):
    train("transformer")
    assert main(["ask", "runs/transformer", "one two", "--alignment", "a.svg", "--tree", "t.svg"]) == 0
    assert "two" in (folder / "a.svg").read_text() and "<svg" in (folder / "t.svg").read_text()
    train("seq2seq", "--attention", "none")
    capsys.readouterr()
    assert main(["ask", "runs/seq2seq", "one two", "--alignment", "a.svg"]) == 2
    assert "no alignment; train with --attention additive" in capsys.readouterr().err


def test_the_encoder_of_a_translation_serves_other_tasks(folder, capsys):
    train("cove")
    rows = [(f"{a} {b}", "odd" if WORDS.index(a) % 2 else "even") for a in WORDS for b in WORDS]
    (folder / "labels.tsv").write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    assert main(["tune", "runs/cove", "labels.tsv", "--transfer", "features", "--epochs", "3", "--out", "runs/labels"]) == 0
    assert main(["ask", "runs/labels", "one two"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] in ("odd", "even")


def test_what_it_would_take(capsys):
    assert main(["plan", "transformer", "--pairs", "pairs.en", *QUICK, *SIZES["transformer"], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 40 and found["minutes"] >= 0 and found["memory_mb"] > 0


def test_numbers_are_there_without_a_file(capsys):
    assert main(["train", "transformer", "--pairs", "numbers", "--out", "runs/n", *QUICK, *SIZES["transformer"], "--steps", "2"]) == 0
    assert main(["score", "runs/n", "longer-numbers", "--beam-size", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["sentences"] == 1000


def refused(arguments, capsys):
    assert main(arguments) == 2
    return capsys.readouterr().err


def test_what_cannot_be_is_one_sentence(folder, capsys):
    (folder / "short.en").write_text("one\ntwo\nthree\n")
    (folder / "short.zh").write_text("1\n2\n")
    assert "has 3 lines and short.zh has 2" in refused(["train", "transformer", "--pairs", "short.en", "short.zh"], capsys)
    assert "learns from pairs of sentences" in refused(["train", "transformer", "pairs.en"], capsys)
    assert "learns from pairs of sentences" in refused(["train", "seq2seq"], capsys)
    assert "are for models that translate" in refused(["train", "gpt", "--pairs", "pairs.en"], capsys)
    train("transformer")
    assert "5 best of a beam of 4" in refused(["ask", "runs/transformer", "one", "--beam-size", "4", "--n-best", "5"], capsys)
    assert "a beam size of 0" in refused(["ask", "runs/transformer", "one", "--beam-size", "0"], capsys)
    assert "reads at most 254" in refused(["ask", "runs/transformer", "one " * 300], capsys)  # eight contexts


def test_an_empty_line_on_one_side_is_left_out_and_told(folder, capsys):
    lines = (folder / "pairs.zh").read_text().splitlines()
    (folder / "pairs.zh").write_text("".join(f"{'' if number == 4 else line}\n" for number, line in enumerate(lines)))
    assert train("transformer", "--steps", "2") == 0
    assert "146 examples" in capsys.readouterr().err


def test_pairs_that_are_too_long_are_told_of_once_and_spoil_nothing(folder, capsys):
    long = " ".join(["one"] * 40)
    for side in ("en", "zh"):
        lines = (folder / f"pairs.{side}").read_text()
        (folder / f"dev.{side}").write_text(f"{long}\n{lines}")
        (folder / f"pairs.{side}").write_text(f"{lines}{long}\n")
    assert train("transformer", "--dev", "dev.en", "--evaluate-every", "10") == 0
    printed = capsys.readouterr().err
    assert "1 of 148 pairs are empty or longer than 32 tokens, and left out" in printed
    assert printed.count("1 of 74 pairs are empty or longer") == 1  # of the two halves of dev
    assert main(["score", "runs/transformer", "dev.en", "--beam-size", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == 147


def test_who_does_not_translate_says_so(folder, capsys):
    (folder / "notes.txt").write_text("the cat sat on the mat .\n" * 30)
    assert main(["train", "ngram", "notes.txt", "--out", "runs/ngram"]) == 0
    reason = "--beam-size means nothing to runs/ngram, a next-token run of ngram; it takes --length"
    assert reason in refused(["ask", "runs/ngram", "the cat", "--beam-size", "4"], capsys)
    assert "does not translate, so it takes one file" in refused(["score", "runs/ngram", "notes.txt", "pairs.en"], capsys)
    assert "are for models that translate" in refused(["train", "ngram", "notes.txt", "--backwards"], capsys)
