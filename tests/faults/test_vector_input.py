"""Vector files that are damaged, lie, or were never any: one sentence with the line, exit 2, no run begun; and questions that have no answer."""

import gzip
import json
import pickle
import struct

import numpy as np
import pytest

GOOD = "3 2\nking 1 2\nman 3 4.5\nwoman -1 0\n"
GLOVE = GOOD.partition("\n")[2]
NUMBERS = {"king": [1.0, 2.0], "man": [3.0, 4.5], "woman": [-1.0, 0.1]}


def binary(header="3 2", numbers=NUMBERS):
    return f"{header}\n".encode() + b"".join(word.encode() + b" " + struct.pack("<2f", *row) for word, row in numbers.items())


DAMAGED = {  # the file, its line or vector, and what the sentence says
    "more announced than there are": (GOOD.replace("3 2", "4 2"), ":5:", "the 4 vectors of width 2"),
    "many more announced": (GOOD.replace("3 2", "999999999 2"), ":1:", "too small for the 999999999 vectors"),
    "fewer announced": (GOOD.replace("3 2", "2 2"), ":4:", "more than the 2 vectors"),
    "another width": (GOOD.replace("3 2", "3 3"), ":2:", "2 numbers follow 'king', but the header says 3"),
    "no width": (GOOD.replace("3 2", "3 0"), ":1:", "width 0"),
    "a huge width": (GOOD.replace("3 2", "3 9999999"), ":1:", "width 9999999"),
    "no vectors": ("0 2\n", ":1:", "0 vectors"),
    "a header alone": ("3 2\n", ":1:", "too small"),
    "nan": (GOOD.replace("4.5", "nan"), ":3:", "'nan'"),
    "infinity": (GLOVE.replace("4.5", "-inf"), ":2:", "'-inf'"),
    "beyond float32": (GOOD.replace("4.5", "1e39"), ":3:", "'1e39'"),
    "no number": (GOOD.replace("4.5", "4,5"), ":3:", "'4,5'"),
    "a word with spaces": (GLOVE.replace("man 3", "old man 3"), ":2:", "the word 'old man' holds spaces"),
    "a word with a space in front": (GOOD.replace("\nman", "\n man"), ":3:", "no word before the numbers"),
    "a word twice": (GOOD.replace("woman", "king"), ":4:", "'king' is already at"),
    "a row too short": (GLOVE.replace("3 4.5", "3"), ":2:", "1 numbers follow 'man', but the first line has 2"),
    "a row too long": (GLOVE.replace("3 4.5", "3 4 5"), ":2:", "3 numbers follow 'man'"),
    "cut short": (GOOD[:-3], ":4:", "1 numbers follow 'woman'"),
    "a blank line inside": (GOOD.replace("\nman", "\n\nman"), ":3:", "no word before"),
    "prose": ("Once upon a time\nthere was a file.\n", ":1:", "neither COUNT WIDTH nor"),
    "nothing": ("", ":1:", "neither COUNT WIDTH nor"),
    "one word and a number": ("the 1\na 2\n", ":1:", "neither COUNT WIDTH nor"),
    "a special token": (GOOD.replace("man 3", "[UNK] 3"), "", "[UNK] has the name of a special token"),
}
NOT_TEXT = {
    "long.bin": (binary("4 2"), "the file ends before the 4 vectors of width 2"),
    "short.bin": (binary("2 2"), "more than the 2 vectors"),
    "wide.bin": (binary("2 3"), "wide.bin"),
    "cut.bin": (binary()[:-2], "vector 3: the file ends within this vector"),
    "nan.bin": (binary(numbers={**NUMBERS, "man": [np.nan, 1]}), "nan.bin: vector 2: expected a number, got NaN"),
    "twice.bin": (binary(numbers=NUMBERS).replace(b"woman", b"king"), "already at twice.bin: vector 1"),
    "endless.bin": (b"3 2\n" + b"\0" * 9000, "no word ends"),
    "letters.bin": (binary().replace(b"king", b"\xff\xfe\xfd\xfc"), "is not UTF-8"),
    "letters.vec": (GOOD.encode().replace(b"man 3", b"m\xe4n 3"), "letters.vec"),
    "model.bin": (struct.pack("<2i", 793712314, 12) + b"\0" * 99, "fastText"),
    "model.kv": (pickle.dumps(NUMBERS), "pickle"),
    "array.npy": (b"\x93NUMPY\1\0", "numpy array"),
    "packed.vec": (gzip.compress(GOOD.encode()), "gzip"),
    "cut.vec.gz": (gzip.compress(GOOD.encode() * 50)[:40], "cut short"),
}


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged(refused, tmp_path, name):
    content, where, words = DAMAGED[name]
    (tmp_path / "v.txt").write_text(content)
    refused("adopt", "v.txt", "--out", "run", words=(f"v.txt{where}" if where else "", words))


@pytest.mark.parametrize("name", NOT_TEXT)
def test_not_text(refused, tmp_path, name):
    content, words = NOT_TEXT[name]
    (tmp_path / name).write_bytes(content)
    refused("adopt", name, "--out", "run", words=(words,))


def test_every_cut_is_noticed(tmp_path):
    """However many bytes came; a text that ends within its last number can not be told from a whole one."""
    from stairs.errors import BadInput
    from stairs.formats import word_vectors

    for name, content in (("v.bin", binary()), ("v.txt", GOOD.encode()[:-3]), ("v.gz", gzip.compress(GOOD.encode()))):
        for length in range(len(content)):
            (tmp_path / name).write_bytes(content[:length])
            with pytest.raises(BadInput, match=name):
                word_vectors.read(name)


def test_no_file_and_no_package(refused):
    refused("adopt", "missing.vec", words=("missing.vec: no such file", "package"))
    refused("adopt", "/dev/zero", words=("/dev/zero",))
    refused("adopt", "numpy", words=("in the package numpy, got",))


@pytest.fixture
def run(command, tmp_path):
    random = np.random.default_rng(0)
    words = ["king", "queen", "man", "woman", "apple", "国王", "男人", "女人", "女王", "well-known", "Paris"]
    vectors = {word: random.normal(size=8) for word in words}
    for royal, person in (("king", "man"), ("queen", "woman"), ("国王", "男人"), ("女王", "女人")):
        vectors[royal] = vectors[person] + vectors["apple"] * 0.5 + random.normal(size=8) * 0.01
    lines = [" ".join([word, *map(str, row)]) for word, row in vectors.items()]
    (tmp_path / "v.txt").write_text("\n".join(lines) + "\n")
    assert command("adopt", "v.txt", "--out", "run").out == "run: 11 vectors of width 8\n"
    return tmp_path / "run"


def near(result):
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_near_answers_words_sums_and_texts(command, run):
    answers = near(command("near", run, "king", "king - man + woman", "--top", "3", "--json"))
    assert [answer["query"] for answer in answers] == ["king", "king - man + woman"]
    assert all(len(answer["near"]) == 3 and "king" not in [entry["word"] for entry in answer["near"]] for answer in answers)
    assert answers[1]["near"][0]["word"] == "queen" and answers[1]["near"][0]["cosine"] > 0.9
    assert near(command("near", run, "--analogy", "man", "king", "woman", "--top", "3", "--json"))[0] == answers[1]
    for same in ("国王 - 男人 + 女人", "国王－男人＋女人", "+ 国王 - 男人 + 女人", "国王-男人+女人"):
        assert near(command("near", run, same, "--json"))[0]["near"][0]["word"] == "女王"
    assert near(command("near", run, "well-known", "--json"))[0]["query"] == "well-known"
    assert command("near", run, "king - man + woman", "--top", "1").out.split()[1] == "queen"
    text = near(command("near", run, "king apple", "--json"))[0]["near"]
    assert not {"king", "apple"} & {entry["word"] for entry in text}


def test_near_draws(command, refused, run, tmp_path):
    result = command("near", run, "--analogy", "man", "king", "woman", "--map", "map.svg", "--strips", "strips.svg")
    assert result.code == 0, result.err
    image = {name: (tmp_path / name).read_text() for name in ("map.svg", "strips.svg")}
    assert all(content.startswith("<svg") and "queen" in content and "king - man + woman" in content for content in image.values())
    assert command("near", run, "king", "国王", "--tsne", "--map", "map.html").code == 0
    assert "国王" in (tmp_path / "map.html").read_text() or "\\u56fd" in (tmp_path / "map.html").read_text()
    refused("near", run, "king", "--among", run, "--map", "map.svg", words=("leave out --among",))
    refused("near", run, "king", "--top", "1", "--tsne", "--map", "new.svg", words=("t-SNE needs at least 4",))


def test_near_refuses(refused, run, tmp_path):
    refused("near", run, "kinng", words=("'kinng' is not in the vocabulary", "did you mean king"))
    refused("near", run, "paris", words=("did you mean Paris",))
    refused("near", run, "queen - mann", words=("'mann'", "man"))
    refused("near", run, "king -", words=("a word is missing beside a sign",))
    refused("near", run, words=("no word given",))
    refused("near", run, "king", "--top", "0", words=("--top 0",))
    refused("near", run, "king", "--map", "map.pdf", words=("map.pdf", ".svg"))
    refused("near", run, "", words=("no word given",))


def test_runs_of_different_width_and_kind(command, refused, run, trained, tmp_path):
    (tmp_path / "w.txt").write_text(GOOD)
    assert command("adopt", "w.txt", "--out", "narrow").code == 0
    refused("near", run, "--analogy", "man", "king", "woman", "--among", "narrow", words=("width 8 and 2",))
    refused("near", trained, "king", words=("ngram has no word vectors",))
    refused("convert", trained, "word2vec", "--out", "v.vec", words=("only word vectors can be written as word2vec",))
    refused("convert", run, "arpa", "--out", "v.arpa", words=("only n-gram language models",))
    refused("train", "vectors", "w.txt", words=("there is no model 'vectors'",))


@pytest.mark.parametrize("kind", ["word2vec", "word2vec-binary", "glove"])
def test_convert_and_adopt_again(command, run, tmp_path, kind):
    printed = "again: 11 vectors of width 8; read back from the file, vectors differ by at most 0\n"
    assert command("convert", run, kind, "--out", "again").out == printed
    assert near(command("adopt", "again", "--out", "second", "--json")) == {"run": "second", "words": 11, "width": 8, "format": kind}
    assert command("near", "second", "king", "--json").out == command("near", run, "king", "--json").out


def test_questions_of_score(command, refused, run, tmp_path):
    (tmp_path / "q.txt").write_text(": royal\nman king woman queen\nman KING woman Queen\nman king boy prince\n: 王\n男人 国王 女人 女王\n")
    answers = near(command("score", run, "q.txt", "--json"))
    assert (answers["accuracy"]["value"], answers["covered"], answers["total"]) == (1, 3, 4)
    assert answers["sections"]["royal"]["covered"] == 2 and answers["sections"]["王"]["accuracy"]["low"] > 0
    assert "2 of 3 covered" in command("score", run, "q.txt").out
    (tmp_path / "s.tsv").write_text("# people say\nking\tman\t9\nqueen\twoman\t8\nking\tapple\t1\nking\tzebra\t3\n")
    answers = near(command("score", run, "s.tsv", "--json"))
    assert answers["covered"] == 3 and answers["total"] == 4 and 0 < answers["spearman"]["value"] <= 1
    (tmp_path / "q.txt").write_text(": a\nman king woman\n")
    refused("score", run, "q.txt", words=("q.txt:2: the line has 3 words and not four",))
    (tmp_path / "q.txt").write_text(": a\none two three four\n")
    refused("score", run, "q.txt", words=("none of the 1 analogies",))
    (tmp_path / "s.tsv").write_text("king\tman\t9\nqueen\tzebra\t8\nfive\tsix\t1\n")
    refused("score", run, "s.tsv", "--quiet", words=("1 of 3 pairs",))
    (tmp_path / "t.txt").write_text("the king and the queen\n")
    refused("score", run, "t.txt", words=("score them on analogies",))


def test_a_damaged_table_of_words(refused, run):
    path = run / "model" / "words.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 255
    path.write_bytes(content)
    refused("near", run, "king", words=("words.safetensors is damaged",))
