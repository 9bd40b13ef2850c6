"""Bad input, as it comes: each one sentence that says where and what to do, the right exit code, and nothing written."""

import gzip
import json
import os
import socket

import pytest

from stairs.errors import BadInput
from stairs.text.labelled import read_examples
from tests.faults.refusals import MAX_LENGTH, assert_one_sentence, tree

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))
NO_TEXT = {
    "empty.txt": b"",
    "spaces.txt": b"  \n\t \r\n  \n",
    "mark.txt": b"\xef\xbb\xbf",
    "mark16.txt": b"\xff\xfe",
    "null.txt.gz": gzip.compress(b""),
}
NOT_TEXT = {
    "picture.txt": (PNG, ("picture.txt", "looks like PNG")),
    "paper.txt": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", ("paper.txt", "looks like PDF")),
    "packed.txt": (gzip.compress(b"some text\n" * 99), ("packed.txt", "looks like gzip", ".gz")),
    "program": (b"\x7fELF\x02\x01\x01" + bytes(99), ("program", "looks like ELF")),
    "cut.txt.gz": (gzip.compress(os.urandom(4000))[:1000], ("cut.txt.gz", "cut short")),
    "not.txt.gz": (b"this is no gzip", ("not.txt.gz", "damaged .gz")),
    "latin.txt": ("Une journée très agréable, n'est-ce pas ?\n".encode("latin-1") * 30, ("latin.txt:1", "byte 0xe9", "--encoding")),
    "later.txt": (b"fine\n" * 500_000 + b"bad \xff\xfe byte\n", ("later.txt:500001", "byte 0xff")),
    "wide.txt": ("one line and another\n".encode("utf-16-le") * 30, ("wide.txt", "UTF-16", "--encoding utf-16-le")),
    "wide-be.txt": ("one line and another\n".encode("utf-16-be") * 30, ("wide-be.txt", "UTF-16", "--encoding utf-16-be")),
}
RECORDS = {
    "column.csv": ("id,stars\n1,5\n2,4\n", ("column.csv:1", "id", "stars", "--text")),
    "ragged.csv": ("text,label\ngood film,yes\nbad, film,no\n", ("ragged.csv:3", "3 fields", "2")),
    "quote.csv": ('text,label\n"never closed,yes\nand on\n', ("quote.csv:2",)),
    "bad.jsonl": ('{"text": "fine"}\n{"text": "cut sho\n', ("bad.jsonl:2",)),
    "single.jsonl": ("{'text': 'single quotes'}\n", ("single.jsonl:1",)),
    "number.jsonl": ('{"text": "fine"}\n{"text": 5}\n', ("number.jsonl:2", "text")),
    "deep.jsonl": ('{"text": ' + "[" * 100_000 + "\n", ("deep.jsonl:1",)),
}
FLAGS = [
    (("train", "ngram", "notes.txt", "--order", "0"), ("order 0", "between 1 and 32")),
    (("train", "ngram", "notes.txt", "--order", "33"), ("order 33", "between 1 and 32")),
    (("train", "ngram", "notes.txt", "--order", "abc"), ("--order", "'abc'")),
    (("train", "ngram", "notes.txt", "--order"), ("--order needs a value",)),
    (("train", "ngram", "notes.txt", "--prune", "1", "0"), ("prune 1 0", "--prune 0 0 1")),
    (("train", "ngram", "notes.txt", "--prune", "0", "x"), ("--prune", "'x'")),
    (("train", "ngram", "notes.txt", "--seed", "-1"), ("--seed -1", "between 0 and")),
    (("train", "ngram", "notes.txt", "--seed", str(2**80)), (str(2**80), "between 0 and")),
    (("train", "ngram", "notes.txt", "--seed", "1.5"), ("--seed", "whole number", "'1.5'")),
    (("train", "ngram", "notes.txt", "--vocab-size", "3"), ("--vocab-size 3", "between 6 and")),
    (("train", "ngram", "notes.txt", "--min-count", "0"), ("--min-count 0",)),
    (("train", "ngram", "notes.txt", "--max-bytes", "-1"), ("--max-bytes -1",)),
    (("train", "ngram", "notes.txt", "--encoding", "klingon"), ("--encoding 'klingon'", "utf-8")),
    (("train", "ngram", "notes.txt", "--tokenizer", "letters"), ("--tokenizer", "'letters'", "'words'")),
    (("train", "ngram", "notes.txt", "--size", "x" * 5000), ("--size",)),
    (("train", "ngram", "notes.txt", "--ordr", "3"), ("--ordr", "did you mean --order?")),
    (("train", "ngram", "notes.txt", "--zebra"), ("--zebra", "stairs train --help")),
    (("train", "ngrm", "notes.txt"), ("'ngrm'", "did you mean ngram?")),
    (("train", "zebra", "notes.txt"), ("'zebra'", "there are ngram")),
    (("train", "cbow", "notes.txt", "--steps", "5"), ("--steps has no effect on cbow", "give --epochs or --budget")),
    (("train", "skipgram", "notes.txt", "--batch-tokens", "99"), ("--batch-tokens has no effect on skipgram", "leave it out")),
    (("train", "skipgram", "notes.txt", "--device", "cuda"), ("--device cuda", "trained on the CPU")),
    (("train", "gpt", "notes.txt", "--deterministic"), ("--deterministic", "the same --threads")),
    (("train", "cbow", "notes.txt", "--epochs", "0"), ("--epochs 0",)),
    (("train", "cbow", "notes.txt", "--min-count", "0"), ("--min-count 0",)),
    (("train", "cbow", "notes.txt", "--window", "0"), ("window 0", "between 1 and")),
    (("train", "vectors", "notes.txt"), ("'vectors'", "there are ngram")),
    (("plan", "cbow", "notes.txt", "--steps", "5"), ("--steps has no effect on cbow",)),
    (("ask", "x" * 300, "hello"), ("xxx", "not there")),
    (("climb", "notes.txt", "--labels", "x" * 300), ("xxx",)),
    (("adopt", "x" * 300, "--out", "run"), ("xxx", "no such file")),
    (("train", "ngram"), ("no corpus",)),
    (("train",), ("no model",)),
    (("trian", "ngram", "notes.txt"), ("'trian'", "did you mean train?")),
    (("zebra",), ("'zebra'", "doctor")),
    (("--zebra",), ("'--zebra'",)),
    (("plan", "ngram", "notes.txt", "--order", "0"), ("order 0",)),
    (("plan", "ngram", "missing.txt"), ("missing.txt: no such file",)),
    (("climb", "notes.txt", "--budget", "nonsense"), ("--budget 'nonsense'", "20m")),
    (("climb", "notes.txt", "--budget", "-5m"), ("--budget '-5m'",)),
    (("climb", "notes.txt", "--budget", "9" * 400), ("--budget",)),
    (("climb", "notes.txt", "--order", "0"), ("order 0",)),
    (("climb", "notes.txt", "--models", "zebra", "--quiet"), ("'zebra'", "ngram")),
    (("climb", "notes.txt", "--labels", "missing.csv"), ("missing.csv",)),
    (("doctor", "please"), ("please", "stairs doctor --help")),
    (("convert", "run"), ("stairs convert --help",)),
    (("convert", "run", "onnx", "--out", "x"), ("'onnx'", "arpa")),
    (("--completion", "tcsh"), ("tcsh", "bash")),
    (("ask",), ("stairs ask --help",)),
    (("ask", "run", "hello", "--length", "-1"), ("--length -1",)),
    (("ask", "run", "hello", "--temperature", "nan"), ("--temperature nan",)),
    (("ask", "run", "hello", "--top-p", "0"), ("--top-p 0",)),
    (("ask", "run", "hello", "--top-k", "-2"), ("--top-k -2",)),
    (("ask", "run", "hello", "--file", "notes.txt"), ("--file", "one of the two")),
    (("ask", "run", "--file", "missing.txt"), ("missing.txt", "no such file")),
]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", NO_TEXT)
def test_no_text(refused, tmp_path, name):
    (tmp_path / name).write_bytes(NO_TEXT[name])
    refused("train", "ngram", name, words=(f"no text in {name}",))


@pytest.mark.parametrize("name", NOT_TEXT)
def test_not_text(refused, tmp_path, name):
    content, words = NOT_TEXT[name]
    (tmp_path / name).write_bytes(content)
    if name == "later.txt":  # what the shards need is said before the whole file has been read
        refused("train", "ngram", name, "--quiet", words=words)
    else:
        refused("train", "ngram", name, words=words)


@pytest.mark.parametrize("name", RECORDS)
def test_records(refused, tmp_path, name):
    content, words = RECORDS[name]
    (tmp_path / name).write_text(content)
    refused("train", "ngram", name, words=words)


def test_one_sentence_is_too_little(refused, tmp_path):
    (tmp_path / "one.txt").write_text("hello there")
    refused("train", "ngram", "one.txt", "--quiet", words=("1 sentence cannot be split",))


def test_the_named_column_is_not_there(refused, tmp_path):
    (tmp_path / "t.csv").write_text("review,stars\nfine,5\n")
    refused("train", "ngram", "t.csv", "--text", "body", words=("t.csv:1", "'body'", "review"))


@pytest.mark.parametrize(("arguments", "words"), FLAGS, ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None)
def test_flags(refused, corpus, arguments, words):
    refused(*arguments, words=words)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("ragged.csv", "text,label\ngood,yes\nbad, film,no\n", ("ragged.csv:3", "3 fields")),
        ("missing.csv", "a,b,c\n1,2,3\n", ("missing.csv:1",)),
        ("empty.csv", "", ("empty.csv",)),
        ("header.csv", "text,label\n", ("header.csv",)),
        ("label.csv", "text,label\ngood,\nbad,\n", ("label.csv", "has a label")),
        ("bad.jsonl", '{"text": "a", "label": "b"}\n{"text": "a",}\n', ("bad.jsonl:2",)),
        ("picture.csv", PNG, ("picture.csv", "PNG")),
        ("tags.conll", "EU B-ORG\nrejects O\nGerman I-MISC\n", ("tags.conll",)),
    ],
)
def test_labels(refused, corpus, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    refused("climb", corpus.name, "--labels", name, "--quiet", words=words)


def parsed(*heads):
    """Two sentences of CoNLL-U, the second with these heads from line 5 on."""
    words = (("1", "0"), ("2", "1"), ("3", "2"), (), *((str(number), head) for number, head in enumerate(heads, 1)))
    return "".join("\t".join([row[0], "word", "_", "NOUN", "_", "_", row[1], "_", "_", "_"]) + "\n" if row else "\n" for row in words)


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        (("0", "_", "2"), ("trees.conllu:6: the word 'word' has no head", "leave --structural-positions out")),
        (("0", "1", "second"), ("trees.conllu:7: the head 'second' is not a number",)),
        (("0", "1", "-1"), ("trees.conllu:7: the head '-1' is not a number",)),
        (("0", "4", "2"), ("trees.conllu:6: the head 4 is no word of the sentence, which ends with 3",)),
        (("0", "1", "0"), ("trees.conllu:7: word 3 has the head 0, and so has word 1", "one root")),
        (("2", "3", "1"), ("trees.conllu:5: no word of the sentence has the head 0",)),
        (("0", "3", "2"), ("trees.conllu:6: the heads go round in a circle, 2 > 3 > 2",)),
        (("0", "2", "2"), ("trees.conllu:6: the heads go round in a circle, 2 > 2",)),
    ],
)
def test_trees(refused, tmp_path, heads, words):
    (tmp_path / "trees.conllu").write_text(parsed(*heads))
    refused("tune", "run", "trees.conllu", "--task", "tag", "--structural-positions", "--quiet", words=words)
    assert len(read_examples("trees.conllu", "tag").examples) == 2  # heads are not looked at where nobody asks for them


def test_no_trees(refused, tmp_path):
    (tmp_path / "tags.conll").write_text("EU B-ORG\nrejects O\n")
    refused("tune", "run", "tags.conll", "--task", "tag", "--structural-positions", words=("tags.conll: no dependency trees", "give a CoNLL-U file"))
    (tmp_path / "texts.csv").write_text("text,label\ngood film,yes\nbad film,no\n")
    words = ("--structural-positions is for tag", "texts.csv holds examples for classify")
    refused("tune", "run", "texts.csv", "--structural-positions", "--quiet", words=words)


def test_an_inside_tag_after_an_outside_one():
    with open("mixed.conll", "w") as file:
        file.write("EU B-ORG\nand O\nGerman I-MISC\ncall E-MISC\n\nPeter B-PER\nBlackburn I-PER\n")
    with pytest.raises(BadInput, match=r"mixed\.conll:3"):
        read_examples("mixed.conll", "tag")


def test_an_answer_that_is_not_in_its_text(tmp_path):
    answer = {"text": "Berlin", "answer_start": 4}
    paragraph = {"context": "It was in Paris.", "qas": [{"id": "1", "question": "Where?", "answers": [answer]}]}
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [paragraph]}]}))
    with pytest.raises(BadInput, match=r"squad\.json:\d+.*Berlin"):
        read_examples(path, "span")


def test_what_is_no_file_is_refused_without_hanging(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name, words in [
            ("missing.txt", "no such file"), ("folder", "no file in this folder"), ("/dev/zero", "device"), ("notes.txt/x", "no such file"),
            ("pipe", "FIFO"), ("socket", "socket"), ("x" * 300, "name too long"),
        ]:  # fmt: skip
            refused("train", "ngram", name, words=(name[:40], words))
    for reader in (("ask", "run", "--file"), ("adopt",), ("climb", "--labels")):
        refused(*reader, "pipe", words=("pipe",))
        refused(*reader, "/dev/zero", words=("/dev/zero",))


def test_no_text_to_ask(refused):
    refused("ask", "run", words=("no text given",))
    refused("ask", "run", "-", stdin=b" \n\n", words=("no text given",))
    refused("ask", "run", stdin=b"caf\xe9 au lait, tr\xe8s bien\n", words=("stdin:1", "byte 0xe9"))
    refused("ask", "run", stdin=PNG, words=("stdin", "PNG"))


def test_the_whole_way_out(stairs, command, tmp_path):
    """In a process of its own: the exit code, one line on stderr and none on stdout. Only --debug lets the error itself through."""
    (tmp_path / "empty.txt").touch()
    result = stairs("train", "ngram", "empty.txt")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("stairs: error: no text in empty.txt") and result.stderr.count("\n") == 1 and len(result.stderr) < MAX_LENGTH
    with pytest.raises(BadInput, match=r"no text in empty\.txt"):
        command("train", "ngram", "empty.txt", "--debug")
    assert list(tmp_path.iterdir()) == [tmp_path / "empty.txt"]


def test_a_climb_is_not_taken_for_one_on_other_labels(command, corpus, tmp_path):
    (tmp_path / "films.csv").write_text("text,label\n" + "".join(f"good film {i},yes\nbad film {i},no\n" for i in range(20)))
    (tmp_path / "things.csv").write_text("text,label\n" + "".join(f"apple {i},fruit\na car {i},thing\n" for i in range(20)))
    climb = ("climb", "notes.txt", "--quiet", "--json", "--out", "climb", "--models", "tfidf", "--labels")
    first = json.loads(command(*climb, "films.csv").out)["rows"][0]
    again = json.loads(command(*climb, "films.csv").out)["rows"][0]
    assert again["accuracy"] == first["accuracy"] and again["seconds"] == first["seconds"]
    before = tree(tmp_path)
    assert_one_sentence(command(*climb, "things.csv"), 2)
    assert tree(tmp_path) == before
