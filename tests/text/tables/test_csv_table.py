"""CSV, TSV and fastText: what is read, and what is refused with its line."""

import csv
import gzip
import io
import lzma

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.errors import BadInput, EnvironmentFault
from stairs.text.examples import LabelledText
from stairs.text.labelled import guess_task, read_examples
from stairs.text.tables import csv_table, lines
from tests.support.labelled_files import error_of, texts_and_labels


def test_a_plain_csv_is_read_with_its_lines(write):
    path = write("reviews.csv", 'text,label\ngood,pos\n"bad, very\nbad",neg\n\nfine,pos\n')
    labelled = read_examples(path, "classify")
    assert list(labelled.examples) == [
        LabelledText("good", "pos", f"{path}:2"), LabelledText("bad, very\nbad", "neg", f"{path}:3"), LabelledText("fine", "pos", f"{path}:6"),
    ]  # fmt: skip
    assert labelled.columns == "text from 'text', label from 'label' (guessed)" and labelled.notes == ()


@pytest.mark.parametrize(
    ("header", "text", "label"),
    [
        ("id,review,sentiment", "review", "sentiment"), ("Class Index,Title,Description", "Description", "Class Index"),
        ("tweet_id,airline_sentiment,tweet_text", "tweet_text", "airline_sentiment"), ("text,stars_given", "text", "stars_given"),
        ("标签,评论", "评论", "标签"), ("label,title,content", "content", "label"),
    ],
)  # fmt: skip
def test_columns_are_guessed_by_name(write, header, text, label):
    width = header.count(",") + 1
    path = write("a.csv", f"{header}\n" + "\n".join(",".join(f"a {row} {column}" for column in range(width)) for row in range(3)))
    assert read_examples(path, "classify").columns == f"text from {text!r}, label from {label!r} (guessed)"
    assert guess_task(path) == "classify"


@pytest.mark.parametrize("columns", ["text=b,label=a", "b,a", ["b", "a"], {"text": "b", "label": "a"}])
def test_columns_can_be_named(write, columns):
    labelled = read_examples(write("a.csv", "a,b,text\nx,one two,z\ny,three,z\n"), "classify", columns=columns)
    assert texts_and_labels(labelled) == [("one two", "x"), ("three", "y")] and labelled.columns == "text from 'b', label from 'a'"


def test_columns_that_are_not_there_are_answered_with_those_that_are(write):
    path = write("a.csv", "alpha,beta\n1,2\n")
    assert f"{path}:1: no column for text and label among 'alpha', 'beta'; add a header line" in error_of(path)
    assert f"{path}:1: no column 'stars' for the label; it has 'alpha', 'beta'" in error_of(path, columns="alpha,stars")
    assert "this task has the columns text, label" in error_of(path, columns={"words": "alpha"})
    assert "this task has the columns text, label" in error_of(path, columns="alpha,beta,gamma")
    path = write("a.csv", "text,text,label\na,b,c\n")
    assert f"{path}:1: 2 columns are called 'text'; choose one by its number with --text=1 or --text=2" in error_of(path)
    assert texts_and_labels(read_examples(path, "classify", columns={"text": "2"})) == [("b", "c")]
    with pytest.raises(BadInput, match=r"a\.csv:1: cannot tell the task from 'alpha', 'beta'; name it with --task"):
        guess_task(write("a.csv", "alpha,beta\n1,2\n"))


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        ("text,label\ngood,pos\nbad, very bad,neg\n", 3, "3 fields where the header has 2; quote the comma or fix the row"),
        ("text,label\ngood,pos\nbad\n", 3, "1 fields where the header has 2; fix the row"),
        ('text,label\n"a\nb",x\nbad\n', 4, "1 fields where the header has 2"),
        ('text,label\ngood,pos\n"bad,neg\nfine,pos\n', 3, "a quote is opened and never closed"),
        ('text,label\n"a\nb",x\nc,"d\n', 4, "a quote is opened and never closed"),
        ('text,label\nsay "hi" now,pos\n', 2, "a quote inside field 1"),
        ('text,label\n"say" hi,pos\n', 2, "a quote inside field 1"),
        ('text,label\ngood,"a\nb"c\n', 3, "a quote inside field 2"),
        ("text,label\ngood,pos\nb\0d,neg\n" + "fine,pos\n" * 20, 3, "a NUL character"),
    ],
)
def test_a_bad_row_is_refused_at_its_physical_line(write, content, line, sentence):
    path = write("reviews.csv", content)
    assert f"{path}:{line}: {sentence}" in error_of(path)


def test_fields_may_be_long_up_to_the_limit(write, monkeypatch):
    long = "x " * 100_000
    assert texts_and_labels(read_examples(write("a.csv", f'text,label\n"{long}",y\n{long},z\n'), "classify")) == [(long, "y"), (long, "z")]
    monkeypatch.setattr(csv_table, "FIELD_LIMIT", 1000)
    path = write("b.csv", f"text,label\nshort,y\n{long},z\n")
    assert f"{path}:3: field 1 has 200,000 characters and the limit is 1,000" in error_of(path)
    path = write("c.csv", f'text,label\nshort,y\n"{long}",z\n')
    assert f"{path}:3: field 1 has 200,000 characters" in error_of(path)
    path = write("d.csv", 'text,label\nshort,y\n"open,z\n' + "more,y\n" * 1000)
    assert f"{path}:3: a quote is opened and not closed within 1,000 characters" in error_of(path)
    monkeypatch.setattr(lines, "LINE_LIMIT", 1_000_000)  # it keeps memory bounded, so it is looked at a block at a time
    path = write("e.csv", "text,label\nshort,y\n" + "x" * 3_000_000)
    assert f"{path}:3: a line of more than 1,000,000 characters" in error_of(path)


@pytest.mark.parametrize("mark", ["text;label", "text\tlabel", "text|label", "sep=;\ntext;label"])
def test_other_delimiters_are_noticed(write, mark):
    content = f"{mark}\na, b{mark[-6]}x\nc{mark[-6]}y\n"
    assert texts_and_labels(read_examples(write("a.csv", content), "classify")) == [("a, b", "x"), ("c", "y")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "gb18030", "utf-16"])
def test_excel_exports_are_read(write, encoding):
    rows = "这家酒店的服务很好，我们下次还会再来的。,好评\r\n房间太小了，而且价格也不便宜。,差评\r\n"
    labelled = read_examples(write("导出.csv", f"评论,标签\r\n{rows}".encode(encoding)), "classify")
    assert texts_and_labels(labelled) == [("这家酒店的服务很好，我们下次还会再来的。", "好评"), ("房间太小了，而且价格也不便宜。", "差评")]


def test_a_wrong_encoding_is_refused_with_its_line_and_can_be_named(write):
    path = write("a.csv", "text,label\nune année à la française très réussie,été\nencore une à côté,hiver\n".encode("latin-1"))
    assert f"{path}:2: byte 0xe9" in error_of(path)
    assert texts_and_labels(read_examples(path, "classify", encoding="latin-1"))[1] == ("encore une à côté", "hiver")


def test_quotes_in_tsv_are_text_unless_they_must_not_be(write):
    path = write("a.tsv", 'text\tlabel\n"What time?""Half past."\ta\n5" screen\tb\n"one\ttwo"\tc\n"over\ntwo lines"\td\n')
    texts = ['"What time?""Half past."', '5" screen', "one\ttwo", "over\ntwo lines"]
    assert texts_and_labels(read_examples(path, "classify")) == list(zip(texts, "abcd", strict=True))
    quoted = write("b.tsv", '"text"\t"label"\n"say ""hi"""\t"a"\nb\tc\n')
    assert texts_and_labels(read_examples(quoted, "classify")) == [('say "hi"', "a"), ("b", "c")]
    path = write("c.tsv", 'text\tlabel\n"one\ta\tb\n')
    assert f"{path}:2: a quote is opened and never closed" in error_of(path)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), min_size=1),
                               st.sampled_from("abc")).filter(lambda row: row[0].strip()), min_size=1, max_size=8))  # fmt: skip
def test_what_the_csv_module_writes_is_read_back(rows, tmp_path_factory):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("text", "label"), *rows])
    path = tmp_path_factory.mktemp("round") / "a.csv"
    path.write_bytes(out.getvalue().encode())
    assert texts_and_labels(read_examples(path, "classify", encoding="utf-8")) == rows


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("xz", lzma.compress), ("zst", zstandard.compress)])
def test_compressed_files_are_unpacked_and_damage_is_reported(write, suffix, pack):
    packed = pack(b"text,label\ngood,pos\nbad,neg\n")
    assert texts_and_labels(read_examples(write(f"a.csv.{suffix}", packed), "classify")) == [("good", "pos"), ("bad", "neg")]
    assert f"damaged .{suffix} data" in error_of(write(f"b.csv.{suffix}", b"text,label\ngood,pos\n"))
    assert f"ends in the middle of its .{suffix} data" in error_of(write(f"c.csv.{suffix}", packed[:-6]))


def test_a_decompression_bomb_is_stopped(write, monkeypatch):
    monkeypatch.setattr("stairs.text.input_files.BOMB_BYTES", 100_000)
    assert "decompression bomb" in error_of(write("a.csv.gz", gzip.compress(b"text,label\n" + b"a,b\n" * 500_000)))


def test_what_is_no_file_is_refused_without_waiting(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    assert "no such file" in error_of(tmp_path / "none.csv")
    assert "is a folder" in error_of(tmp_path)
    assert "is not a regular file" in error_of(tmp_path / "pipe.csv")
    assert "is not a regular file" in error_of("/dev/zero")
    assert "cannot be read from stdin" in error_of("-")
    assert "no task 'sing'; choose" in error_of("a.csv", "sing")
    assert "2 files for classify; give one" in error_of(["a", "b"])


def test_an_unreadable_file_is_the_environments_fault(write, monkeypatch):
    path = write("a.csv", "text,label\na,b\n")

    def locked(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", locked)
    with pytest.raises(EnvironmentFault, match=r"a\.csv: cannot be opened"):
        read_examples(path, "classify")


def test_a_failing_disk_is_the_environments_fault(write, monkeypatch):
    def failing(self, size):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(lines.LabelledStream, "read_inflated", failing)
    with pytest.raises(EnvironmentFault, match=r"a\.csv\.gz: cannot be read \(input/output error\)"):
        read_examples(write("a.csv.gz", gzip.compress(b"text,label\na,b\n")), "classify")


def test_a_name_with_a_newline_stays_on_one_line(write):
    assert "\\nb.csv:2: 1 fields where" in error_of(write("a\nb.csv", "text,label\nx\n"))


def test_files_without_examples_are_refused(write):
    assert "no text in" in error_of(write("a.csv", ""))
    assert "no text in" in error_of(write("a.csv", " \n\n"))
    assert "no examples in" in error_of(write("a.csv", "text,label\n"))
    assert "looks like PDF" in error_of(write("a.csv", b"%PDF-1.4 ..."))


def test_what_spreadsheets_add_is_no_row_and_no_column(write):
    path = write("a.csv", "\ufeff,,,\r\ntext,label,,\r\na good film,pos,,\r\na bad film,neg,,,,\r\nfine,pos\r\n,,,\r\n,,,\r\n")
    assert texts_and_labels(read_examples(path, "classify")) == [("a good film", "pos"), ("a bad film", "neg"), ("fine", "pos")]


@pytest.mark.parametrize("title", ["Export of 2026,", "Export of 2026\n"])
def test_a_title_above_the_header_is_named(write, title):
    path = write("a.csv", title + "\ntext,label\n" + "a good film,pos\na bad film,neg\n" * 4)
    assert "Export of 2026" in error_of(path, None) and "delete what stands above the header" in error_of(path, None)


def test_rows_that_do_not_fit_are_counted(write):
    path = write("a.csv", "text,label\na,b\nc,d,e\nf,g,h\ni\n")
    assert f"{path}:3: 3 fields where the header has 2, and 2 more rows do not fit; quote the comma" in error_of(path)
