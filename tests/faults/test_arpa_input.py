"""ARPA files that are damaged, or were never ARPA: one sentence with the line, exit 2, no run begun."""

import gzip
import json
import zlib

import pytest

GOOD = """\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.3
-0.5\t</s>
-0.6\ta\t-0.2
-0.7\tb\t-0.1

\\2-grams:
-0.1\t<s> a
-0.2\ta b
-0.4\tb </s>

\\end\\
"""
WIDER = GOOD.replace("ngram 2=3", "ngram 2=3\nngram 3=1").replace("\\end\\", "\\3-grams:\n-0.3\tb a b\n\n\\end\\")


def cut_after(words: str) -> str:
    return GOOD[: GOOD.index(words) + len(words)]


DAMAGED = {  # the file, its line, and what the sentence says
    "empty": ("", 1, "the end of the file"),
    "blank": ("\n\n \n", 3, "the end of the file"),
    "prose": ("Once upon a time\nthere was a file.\n", 1, "'Once upon a time'"),
    "page": ("<!DOCTYPE html>\n<html></html>\n", 1, "DOCTYPE"),
    "no \\data\\": (GOOD.removeprefix("\\data\\\n"), 1, "'ngram 1=5'"),
    "no counts": (GOOD.replace("ngram 1=5\nngram 2=3\n", ""), 3, "ngram 1=COUNT"),
    "counts out of order": (GOOD.replace("ngram 1=5\nngram 2=3", "ngram 2=3\nngram 1=5"), 2, "'ngram 2=3'"),
    "a count that is no number": (GOOD.replace("ngram 1=5", "ngram 1=five"), 2, "'ngram 1=five'"),
    "a negative count": (GOOD.replace("ngram 1=5", "ngram 1=-5"), 2, "'ngram 1=-5'"),
    "too large a count": (GOOD.replace("ngram 2=3", "ngram 2=2000000000"), 3, "fits a file of this size"),
    "a count beyond all": (GOOD.replace("ngram 2=3", f"ngram 2={'9' * 5000}"), 3, "ngram 2="),
    "one 1-gram too few": (GOOD.replace("ngram 1=5", "ngram 1=6"), 11, "1 more 1-gram"),
    "one 1-gram too many": (GOOD.replace("ngram 1=5", "ngram 1=4"), 10, "\\2-grams:"),
    "one 2-gram too few": (GOOD.replace("ngram 2=3", "ngram 2=4"), 16, "1 more 2-gram"),
    "one 2-gram too many": (GOOD.replace("ngram 2=3", "ngram 2=2"), 15, "\\end\\"),
    "an unknown word": (GOOD.replace("a b\n", "a zebra\n"), 14, "among the 1-grams"),
    "a 1-gram twice": (GOOD.replace("-0.7\tb", "-0.7\ta"), 10, "not listed yet"),
    "a 2-gram twice": (GOOD.replace("-0.2\ta b", "-0.1\t<s> a"), 14, "listed twice"),
    "two words as one": (GOOD.replace("-0.6\ta", "-0.6\ta c"), 9, "a 1-gram"),
    "one word as two": (GOOD.replace("-0.2\ta b", "-0.2\ta"), 14, "a 2-gram"),
    "three words as two": (GOOD.replace("-0.2\ta b", "-0.2\ta b a"), 14, "a 2-gram"),
    "no words": (GOOD.replace("-0.2\ta b", "-0.2"), 14, "a 2-gram"),
    "spaces for tabs": (GOOD.replace("-0.2\ta b", "-0.2 a b"), 14, "a 2-gram"),
    "too many fields": (GOOD.replace("-0.2\ta b", "-0.2\ta b\t0\t0"), 14, "a 2-gram"),
    "a probability that is no number": (GOOD.replace("-0.2\ta b", "x\ta b"), 14, "a 2-gram"),
    "a weight that is no number": (GOOD.replace("\ta\t-0.2", "\ta\tx"), 9, "a 1-gram"),
    "nan": (GOOD.replace("-0.2\ta b", "nan\ta b"), 14, "logarithm"),
    "infinity": (GOOD.replace("\ta\t-0.2", "\ta\tinf"), 9, "logarithm"),
    "more than certain": (GOOD.replace("-0.2\ta b", "0.2\ta b"), 14, "logarithm"),
    "no </s>": (GOOD.replace("-0.5\t</s>", "-0.5\tc").replace("b </s>", "b c"), 6, "</s>"),
    "no \\end\\": (GOOD.replace("\\end\\\n", ""), 16, "\\end\\"),
    "cut in the counts": (cut_after("ngram 1=5"), 2, "the end of the file"),
    "cut in the 1-grams": (cut_after("</s>"), 8, "2 more 1-grams"),
    "cut in a line": (cut_after("\n-0.2\ta"), 14, "a 2-gram"),
    "cut in the 2-grams": (cut_after("a b"), 14, "1 more 2-gram"),
    "a context that is no n-gram": (WIDER, 19, "not among the 2-grams"),
    "order 33": ("\\data\\\n" + "".join(f"ngram {n}=1\n" for n in range(1, 34)), 34, "ngram 33=1"),
}
NOT_TEXT = {
    "picture.arpa": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG"),
    "model.arpa": (b"mmap lm http://kheafield.com/code format version 5\n\0\0\0\0\0\0\0", "binary"),
    "packed.arpa": (gzip.compress(GOOD.encode()), "gzip"),
    "cut.arpa.gz": (gzip.compress(GOOD.encode() * 50)[:60], "cut short"),
    "damaged.arpa.gz": (gzip.compress(GOOD.encode())[:30] + b"\xff" * 40, "damaged .gz"),
    "plain.arpa.gz": (GOOD.encode(), "damaged .gz"),
    "bytes.arpa": (GOOD.encode().replace(b"\ta b", b"\ta\xff b"), "bytes.arpa:14"),
    "line.arpa.gz": (gzip.compress(b"\\data\\\nngram 1=" + b"1" * 30_000_000), "line.arpa.gz:2"),
}


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged(refused, tmp_path, name):
    content, line, words = DAMAGED[name]
    (tmp_path / "m.arpa").write_text(content)
    refused("adopt", "m.arpa", "--out", "run", words=(f"m.arpa:{line}: ", words))


@pytest.mark.parametrize("name", NOT_TEXT)
def test_not_text(refused, tmp_path, name):
    content, words = NOT_TEXT[name]
    (tmp_path / name).write_bytes(content)
    refused("adopt", name, "--out", "run", words=(name, words))


def test_no_file(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    refused("adopt", "missing.arpa", words=("missing.arpa: no such file",))
    refused("adopt", "folder", words=("folder",))
    refused("adopt", "/dev/zero", words=("/dev/zero",))


@pytest.mark.parametrize("how", ["plain", "gz", "carriage returns", "byte-order mark", "utf-16", "no last newline"])
def test_a_sound_file_in_other_clothes(command, tmp_path, how):
    content = {
        "plain": GOOD.encode(),
        "gz": gzip.compress(GOOD.encode()),
        "carriage returns": GOOD.replace("\n", "\r\n").encode(),
        "byte-order mark": GOOD.encode("utf-8-sig"),
        "utf-16": GOOD.encode("utf-16"),
        "no last newline": GOOD.rstrip().encode(),
    }[how]
    name = "m.arpa.gz" if how == "gz" else "m.arpa"
    (tmp_path / name).write_bytes(content)
    result = command("adopt", name, "--out", "run", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["ngrams"][1] == 3
    assert command("ask", "run", "a", "--length", "1").out == "a b\n"


def test_every_cut_is_noticed(tmp_path):
    """However many bytes of it came, packed or not."""
    from stairs.errors import BadInput
    from stairs.formats import arpa

    packed = gzip.compress(GOOD.encode())
    for name, content in (("m.arpa", GOOD.rstrip().encode()), ("m.arpa.gz", packed)):
        for length in range(len(content)):
            (tmp_path / name).write_bytes(content[:length])
            with pytest.raises(BadInput, match=name):
                arpa.read(name)
    assert zlib.decompress(packed, 31).decode() == GOOD


def test_what_convert_can_not_write(command, refused, tmp_path):
    (tmp_path / "m.arpa").write_text(GOOD)
    (tmp_path / "folder").mkdir()
    assert command("adopt", "m.arpa", "--out", "run").code == 0
    refused("convert", "run", "arpa", "--out", "folder", words=("folder is a folder",))
    refused("convert", "run", "arpa", "--out", "/dev/null", words=("/dev/null is a device",))
    refused("convert", "run", "arpa", "--out", "run/model/model.safetensors", words=("lies inside the run",))
    refused("convert", "run", "arpa", "--out", "/proc/x.arpa", code=3, words=("cannot write /proc/x.arpa",))
    refused("convert", "run", "arpa", "--out", "m.arpa/x", code=3, words=("cannot write m.arpa/x",))


def test_the_same_file_adopted_again(command, refused, tmp_path):
    (tmp_path / "m.arpa").write_text(GOOD)
    for _ in range(2):
        assert command("adopt", "m.arpa", "--out", "run").code == 0
    (tmp_path / "m.arpa").write_text(GOOD.replace("-0.7\tb", "-0.7\tc").replace("a b", "a c").replace("b </s>", "c </s>"))
    refused("adopt", "m.arpa", "--out", "run", words=("data.tokenizer",))
