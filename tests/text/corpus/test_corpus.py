"""Documents out of files, folders and standard input, and what is refused."""

import gzip
import io
import json
import lzma
import os
import socket
import sys
import time
import tracemalloc

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.errors import BadInput, EnvironmentFault
from stairs.text import input_files
from stairs.text.corpus.corpus import Corpus
from stairs.text.sentences import cut_pieces, split_documents
from stairs.text.tables import lines

TEXT = "One.\nStill one.\n\nTwo.\n   \n\n三。\n"
DOCUMENTS = ["One.\nStill one.", "Two.", "三。"]
COMPRESS = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.ZstdCompressor(write_checksum=True).compress}


def documents(path, **options) -> list[str]:
    return list(Corpus(path, **options).documents())


def complaint(path, **options) -> str:
    with pytest.raises(BadInput) as caught:
        documents(path, **options)
    assert "\n" not in str(caught.value) and ";" in str(caught.value)
    return str(caught.value)


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_blank_lines_separate_documents(tmp_path):
    assert documents(write(tmp_path, "a.txt", TEXT)) == DOCUMENTS
    assert documents(write(tmp_path, "b.txt", TEXT.replace("\n", "\r\n"))) == DOCUMENTS
    assert documents(write(tmp_path, "c", TEXT.replace("\n", "\r"))) == DOCUMENTS
    assert documents(write(tmp_path, "d.md", ("\ufeff" + TEXT).encode("utf-16-be"))) == DOCUMENTS
    assert documents(write(tmp_path, "e.txt", TEXT.encode("gb18030")), encoding="gb18030") == DOCUMENTS


def test_reading_twice_gives_the_same(tmp_path):
    corpus = Corpus(str(write(tmp_path, "a.txt", TEXT)))
    assert list(corpus.documents()) == list(corpus.documents()) == DOCUMENTS
    assert corpus.position == corpus.size == len(TEXT.encode())


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files_and_their_concatenation(tmp_path, ending):
    compressed = COMPRESS[ending](TEXT.encode())
    assert documents(write(tmp_path, "a.txt" + ending, compressed)) == DOCUMENTS
    assert documents(write(tmp_path, "b.txt" + ending, compressed + COMPRESS[ending](b"\nFour."))) == [*DOCUMENTS, "Four."]
    assert documents(write(tmp_path, "c.jsonl" + ending, COMPRESS[ending](b'{"text": "One."}\n'))) == ["One."]


@pytest.mark.parametrize("ending", COMPRESS)
def test_damaged_compressed_files(tmp_path, ending):
    compressed = COMPRESS[ending](os.urandom(50_000).hex().encode())
    assert "cut short" in complaint(write(tmp_path, "a.txt" + ending, compressed[:-20]))
    assert "damaged" in complaint(write(tmp_path, "b.txt" + ending, b"this is not compressed"))
    assert "damaged" in complaint(write(tmp_path, "c.txt" + ending, compressed[:9000] + bytes(100) + compressed[9100:]))


@pytest.mark.parametrize("ending", COMPRESS)
def test_bombs_are_refused_while_streaming(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(input_files, "BOMB_BYTES", 1 << 20)
    bomb = write(tmp_path, "bomb.txt" + ending, COMPRESS[ending](b"a b. " * 4_000_000))
    tracemalloc.start()
    message = complaint(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message.startswith(str(bomb)) and "bytes became" in message and "200 times" in message
    assert peak < 200 << 20


def test_no_more_than_max_bytes(tmp_path):
    path = write(tmp_path, "a.txt.gz", gzip.compress(b"word " * 1000))
    assert "more than 4,999 bytes" in complaint(path, max_bytes=4999)
    assert len("".join(documents(path, max_bytes=5000))) == 5000
    two = [write(tmp_path, f"{n}.txt", "word " * 10) for n in range(2)]
    assert "--max-bytes" in complaint(two, max_bytes=99)


def test_a_folder_is_walked_in_order(tmp_path):
    for name in ("b.txt", "a.txt", "c/d.txt", "c/.hidden.txt", ".git/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path, name, name)
    assert documents(tmp_path) == ["a.txt", "b.txt", "c/d.txt"]
    assert documents([tmp_path / "b.txt", tmp_path / "c"]) == ["b.txt", "c/d.txt"]


def test_standard_input_can_be_read_again(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    corpus = Corpus("-")
    assert list(corpus.documents()) == list(corpus.documents()) == DOCUMENTS
    assert (corpus.name, corpus.size) == ("stdin", len(TEXT.encode()))
    assert len(corpus.content_hash) == 64


def test_records(tmp_path):
    rows = ["One, with a comma.\nTwo lines.", "二。", " "]
    lines = [json.dumps({"id": n, "Text": row}) for n, row in enumerate(rows)]
    assert documents(write(tmp_path, "a.jsonl", "\n\n".join(lines))) == rows[:2]
    assert documents(write(tmp_path, "s.jsonl", '"One."\n"Two."')) == ["One.", "Two."]
    assert documents(write(tmp_path, "a.csv", 'id,review\n1,"One, with a comma.\nTwo lines."\n2,二。\n3, \n')) == rows[:2]
    assert documents(write(tmp_path, "b.csv", "\n编号;内容\n1;二。\n".encode("gb18030"))) == ["二。"]
    assert documents(write(tmp_path, "c.csv", '\ufefftext\n"say ""hi"""\n')) == ['say "hi"']
    assert documents(write(tmp_path, "a.tsv", 'label\tsentence\n1\t"unbalanced\n0\tplain\n')) == ['"unbalanced', "plain"]
    assert documents(tmp_path / "a.csv", column="id") == ["1", "2", "3"]
    assert documents(write(tmp_path, "d.csv", "text\n" + "long " * 60_000))[0].startswith("long long")


def test_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"id": [1, 2], "text": ["One.\r\nMore.", "二。"]}), path)
    corpus = Corpus(path)
    assert list(corpus.documents()) == ["One.\nMore.", "二。"] and corpus.position == corpus.size
    assert documents(write(tmp_path, "b.parquet.gz", gzip.compress(path.read_bytes()))) == ["One.\nMore.", "二。"]
    assert complaint(path, column="id").startswith(f"{path}:1: column 'id' is a number")
    assert "not a parquet file" in complaint(write(tmp_path, "c.parquet", b"PAR1 nonsense PAR1"))
    assert "no column 'body', only 'id', 'text'" in complaint(path, column="body")


@pytest.mark.parametrize(
    ("name", "content", "line", "what"),
    [
        ("a.csv", "id,text\n1,a\n2,b,c\n", 3, "3 fields where the header has 2"),
        ("a.csv", 'id,text\n1,"a\nb"\n2,"open\n3,c\n', 4, "a quote is opened and never closed"),
        ("a.csv", 'id,text\n1,"a"b\n', 2, "put quotes around the whole field"),
        ("a.csv", "id,name\n1,a\n", 1, "no text column among 'id', 'name'"),
        ("a.jsonl", '{"text": "a"}\n\n{"text": "b",}\n', 3, "a comma before"),
        ("a.jsonl", '{"text": "a"}\n{"text": nul', 2, "not JSON"),
        ("a.jsonl", '{"text": "a"}\n{"text": null}\n', 2, "field 'text' is null"),
        ("a.jsonl", '{"text": 3}\n', 1, "field 'text' is a number"),
        ("a.jsonl", '{"text": "a"}\n{"id": 4}\n', 2, "no text column among 'id'"),
        ("a.jsonl", "[" * 100_000, 1, "nested too deeply"),
        ("a.jsonl", '{"text": "a", "n": ' + "1" * 5000 + "}", 1, "thousands of digits"),
        ("a.jsonl", '{"text": "\\ud800"}', 1, "surrogate"),
        ("a.jsonl", '["a"]', 1, "the record is a list"),
        ("a.txt", b"fine\nbad \xff byte\n" + b"\xfe\xfd", 2, "byte 0xff at offset 9"),
    ],
)
def test_faults_have_a_file_and_a_line(tmp_path, name, content, line, what):
    path = write(tmp_path, name, content)
    message = complaint(path)
    assert message.startswith(f"{path}:{line}: ") and what in message


@pytest.mark.parametrize("content", ["", "  \n\t\n \u3000\n", "\ufeff", "\r\n\r\n"])
def test_no_text(tmp_path, content):
    path = write(tmp_path, "empty.txt", content)
    assert complaint(path).startswith(f"no text in {path}; ")
    assert "no text in" in complaint(write(tmp_path, "empty.jsonl", content.lstrip("\ufeff")))


def test_what_is_not_a_file(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "fifo")
    assert "is a FIFO" in complaint(tmp_path / "fifo")
    assert "is a device" in complaint("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # a socket has a short path
        server.bind("socket")
        assert "is a socket" in complaint("socket")
    assert "no such file" in complaint(tmp_path / "missing.txt")
    (tmp_path / "nothing").mkdir()
    assert "no file in this folder" in complaint(tmp_path / "nothing")
    assert "no corpus given" in complaint([])
    assert "is not a text encoding" in complaint(write(tmp_path, "a.txt", "a"), encoding="klingon")
    assert "check the path" in complaint("nul\0byte")


def test_an_unreadable_file_stops_unless_it_is_to_be_skipped(tmp_path, monkeypatch):
    for name in ("a.txt", "b.txt", "c.txt"):
        write(tmp_path, name, name)
    opened = input_files.open_file

    def refuse(source):
        if source.path.name == "b.txt":
            raise input_files.unreadable_error(source, PermissionError(13, "Permission denied"))
        return opened(source)

    monkeypatch.setattr("stairs.text.corpus.corpus.open_file", refuse)
    message = complaint(tmp_path)
    assert message.startswith(f"{tmp_path / 'b.txt'}: cannot be read (permission denied)") and "--skip-unreadable" in message
    corpus = Corpus(tmp_path, skip_unreadable=True)
    assert list(corpus.documents()) == ["a.txt", "c.txt"] and len(corpus.skipped_files) == 1
    assert corpus.content_hash == Corpus([tmp_path / "a.txt", tmp_path / "c.txt"]).content_hash


def test_a_broken_link_and_a_picture_in_a_folder(tmp_path):
    write(tmp_path, "a.txt", "text")
    (tmp_path / "b.txt").symlink_to(tmp_path / "gone")
    assert "b.txt: cannot be read" in complaint(tmp_path)
    write(tmp_path, "c.png", b"\x89PNG\r\n\x1a\n")
    corpus = Corpus(tmp_path, skip_unreadable=True)
    assert list(corpus.documents()) == ["text"] and len(corpus.skipped_files) == 2


def test_a_read_that_fails_is_one_sentence(tmp_path, monkeypatch):
    class Failing(io.BytesIO):
        def read(self, size=-1):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("stairs.text.corpus.corpus.open_file", lambda source: Failing())
    path = write(tmp_path, "a.txt", "text")
    assert "input/output error" in complaint(path)
    with pytest.raises(BadInput, match="input/output error"):
        _ = Corpus(path).content_hash


def test_a_full_temporary_folder_is_the_environments_fault(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, block):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(input_files.tempfile, "TemporaryFile", Full)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    with pytest.raises(EnvironmentFault, match=r"^stdin: .*no space left on device.*; free some space or set TMPDIR$"):
        Corpus("-")
    compressed = write(tmp_path, "a.parquet.gz", gzip.compress(b"PAR1"))
    with pytest.raises(EnvironmentFault, match=r"a\.parquet\.gz: .*no space left on device"):
        documents(compressed)


def test_a_record_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LINE_LIMIT", 100)
    path = write(tmp_path, "a.jsonl", '{"text": "a"}\n"' + "b" * 200)
    monkeypatch.setattr(input_files, "BLOCK", 8)
    assert complaint(path).startswith(f"{path}:2: a line of more than 100 characters")


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'stairs[parquet]'" in complaint(write(tmp_path, "a.parquet", b"PAR1"))


def test_standard_input_has_a_limit_too(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"word " * 10)))
    assert "--max-bytes" in complaint("-", max_bytes=49)


def test_names_are_safe_to_print_and_to_use(tmp_path):
    assert Corpus(write(tmp_path, "wiki_en.txt.xz", lzma.compress(b"a"))).name == "wiki_en"
    assert Corpus(write(tmp_path, "我的 书.txt", "a")).name == "我的-书"
    assert Corpus([tmp_path / "wiki_en.txt.xz", tmp_path / "我的 书.txt"]).name == "wiki_en-and-1-more"
    evil = write(tmp_path, "\x1b[31m.txt", b"")
    assert "\x1b" not in complaint(evil)


def test_the_hash_follows_the_content_alone(tmp_path):
    first = write(tmp_path, "a.txt", TEXT)
    before = Corpus(first).content_hash
    os.utime(first, (1, 1))
    renamed = first.rename(tmp_path / "b.txt")
    assert Corpus(renamed).content_hash == before == Corpus(write(tmp_path, "c.md", TEXT)).content_hash
    assert Corpus(write(tmp_path, "d.txt", TEXT + " ")).content_hash != before
    halves = [write(tmp_path, "e.txt", TEXT[:7]), write(tmp_path, "f.txt", TEXT[7:])]
    assert Corpus(halves).content_hash != before != Corpus(halves[::-1]).content_hash
    table = write(tmp_path, "g.csv", "text,body\na,b\n")
    assert Corpus(table).content_hash != Corpus(table, column="body").content_hash


def test_odd_characters_are_kept_and_counted(tmp_path):
    corpus = Corpus(write(tmp_path, "a.txt", "\ufeffone \ufeff two \0 " + "three " * 30))
    assert next(iter(corpus.documents())).startswith("one \ufeff two \0 three")
    assert corpus.odd_characters == {"NUL": 1, "byte-order mark": 1}


def test_a_long_document_comes_in_parts(tmp_path):
    path = write(tmp_path, "a.txt", "A line of text.\n" * 200 + "\nnext")
    corpus = Corpus(path)
    parts = list(corpus.documents())
    assert corpus.max_characters == 1024 and parts[-1] == "next"
    assert all(len(part) <= 1024 and part.endswith("text.") and part.startswith("A line") for part in parts[:-1])
    assert "\n".join(parts[:-1]) + "\n" == "A line of text.\n" * 200
    record = write(tmp_path, "a.jsonl", json.dumps({"text": "A sentence. " * 1000}))
    assert all(len(part) <= 1024 and part.rstrip().endswith(".") for part in documents(record))


def test_one_endless_line_takes_linear_time_and_little_memory(tmp_path):
    def seconds(megabytes):
        path = tmp_path / f"{megabytes}.txt"
        started = time.process_time()
        assert sum(map(len, Corpus(path).documents())) == megabytes * 1_000_000
        return time.process_time() - started

    for megabytes in (2, 20):
        write(tmp_path, f"{megabytes}.txt", b"word " * (megabytes * 200_000))
    small = seconds(2)
    tracemalloc.start()
    large = seconds(20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20
    assert large < 60 * max(small, 0.01)  # tracing memory slows the large one; quadratic would be far beyond


def test_a_million_tiny_lines(tmp_path):
    assert sum(map(len, documents(write(tmp_path, "a.txt", "a\n" * 1_000_000)))) > 1_900_000


@settings(derandomize=True, max_examples=80, deadline=None)
@given(st.text(alphabet="ab。. \n", max_size=80), st.integers(1, 9), st.integers(2, 30))
def test_where_blocks_end_does_not_matter(text, size, part):
    blocks = [text[start : start + size] for start in range(0, len(text), size)]
    pieces = list(split_documents(blocks, part))
    assert pieces == list(split_documents([text], part))
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece.strip() and len(piece) <= part for piece in pieces)
    assert "".join(cut_pieces(text, part)) == text


def test_the_block_size_does_not_matter(tmp_path, monkeypatch):
    path = write(tmp_path, "a.csv", 'id,text\n1,"a\n\nb"\n2,文字。\n' + "3,word\n" * 50)
    expected = documents(path)
    monkeypatch.setattr(input_files, "BLOCK", 5)
    assert documents(path) == expected == ["a\n\nb", "文字。", *["word"] * 50]


def test_the_chinese_wikipedia_sample(data):
    corpus = Corpus(data / "corpora" / "wiki_zh.txt.xz")
    count = sum(1 for _ in corpus.documents())
    assert count > 10_000 and corpus.position == corpus.size and corpus.name == "wiki_zh"
