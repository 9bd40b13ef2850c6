"""Excel workbooks: what their cells become, and what an enemy may put into one."""

import datetime
import zipfile

import pytest

from stairs import progress
from stairs.errors import BadInput
from stairs.text.corpus.corpus import Corpus
from stairs.text.examples import LabelledText, TaggedSentence
from stairs.text.labelled import guess_task, read_examples
from stairs.text.tables import open_table, xlsx_package
from stairs.text.tables.xlsx_cells import date_kind
from tests.support.labelled_files import error_of
from tests.support.workbooks import MAIN, sheet_xml, write_workbook

REVIEWS = [["text", "label"]]
REVIEWS += [[f"a {word} film, number {number}", label] for number in range(4) for word, label in (("good", "pos"), ("bad", "neg"))]


@pytest.fixture
def messages(monkeypatch):
    sentences: list[str] = []
    monkeypatch.setattr(progress, "messages_enabled", True)
    monkeypatch.setattr(progress, "listener", sentences.append)
    return sentences


def all_rows(path):
    table = open_table(path, None)
    return table.columns, list(table.select_columns(table.columns))


def test_a_workbook_is_read_as_a_csv_file_is(tmp_path):
    path = write_workbook(tmp_path / "reviews.xlsx", {"Sheet1": sheet_xml(REVIEWS)})
    assert guess_task(path) == "classify"
    labelled = read_examples(path)
    assert labelled.columns == "text from 'text', label from 'label' (guessed)"
    assert labelled.examples[1] == LabelledText("a bad film, number 0", "neg", f"{path}:3")
    assert list(Corpus(path).documents())[:2] == ["a good film, number 0", "a bad film, number 0"]


def test_numbers_dates_booleans_and_ids_are_what_they_look_like(tmp_path):
    rows = [
        ["id", "n", "day", "moment", "time", "own", "hours", "not a date", "truth", "formula", "stamp"],
        ["00123", "<|<v>5.0</v>", '<s="1"|<v>46344</v>', '<s="2"|<v>46344.395833333336</v>', '<s="3"|<v>0.5</v>', '<s="4"|<v>1</v>',
         '<s="5"|<v>1.5</v>', '<s="6"|<v>0.10000000000000001</v>', '<t="b"|<v>1</v>', '<t="str"|<f>A1&amp;"x"</f><v>good</v>',
         '<t="d"|<v>2026-11-18T00:00:00</v>'],
        ["=1+1", "<|<v>1.2345678901234568E+20</v>", '<s="1"|<v>61</v>', '<s="2"|<v>-1E9</v>', None, None, None, None, '<t="b"|<v>0</v>', "", ""],
    ]  # fmt: skip
    _, (first, second) = all_rows(write_workbook(tmp_path / "a.xlsx", {"s": sheet_xml(rows)}))
    assert first[1][:5] == ["00123", "5", "2026-11-18", "2026-11-18 09:30:00", "12:00:00"]
    assert first[1][5:] == ["1900-01-01", "36:00:00", "0.1", "TRUE", "good", "2026-11-18"]
    assert second[1][:4] == ["=1+1", "1.2345678901234568e+20", "1900-03-01", "-1000000000"] and second[1][8:] == ["FALSE", "", ""]


@pytest.mark.parametrize(
    ("code", "kind"),
    [("General", None), ("0.00", None), ('0 "days"', None), ("[Red]0", None), ("yyyy\\-mm\\-dd", "date"), ("mmm", "date"), ("h:mm", "time"),
     ("mm:ss.0", "time"), ("[hh]:mm:ss", "elapsed"), ("[$-804]yyyy年m月d日", "date"), ("# ?/?", None), ("_-* #,##0_-", None)],
)  # fmt: skip
def test_formats_of_dates_are_told_from_those_of_numbers(code, kind):
    assert date_kind(code) == kind


def test_workbooks_of_the_mac_count_their_days_from_1904(tmp_path):
    sheet = sheet_xml([["text", "day"], ["a", '<s="1"|<v>0</v>']])
    assert all_rows(write_workbook(tmp_path / "a.xlsx", {"s": sheet}, properties='<workbookPr date1904="1"/>'))[1] == [(2, ["a", "1904-01-01"])]


def test_shared_and_rich_strings_come_without_their_pronunciation(tmp_path):
    rich = "<si><r><t>two </t></r><r><t>parts</t></r><rPh sb='0' eb='1'><t>ふりがな</t></rPh></si>"
    strings = f"<si><t>text</t></si>{rich}<si><t>a_x000D_\nb_x005F_x0041_</t></si>"
    sheet = sheet_xml([['<t="s"|<v>0</v>'], ['<t="s"|<v>1</v>'], ['<t="s"|<v>2</v>']])
    assert all_rows(write_workbook(tmp_path / "a.xlsx", {"s": sheet}, strings=strings)) == (["text"], [(2, ["two parts"]), (3, ["a\nb_x0041_"])])


def test_empty_rows_and_cells_and_merged_cells(tmp_path):
    rows = [[], ["text", "label"], ["a", "pos"], ["b"], [None, None], ["c"], ["d", "neg", None, "a remark"], [" "]]
    merged = '<mergeCells><mergeCell ref="B3:B6"/><mergeCell ref="A1:B1"/></mergeCells>'
    path = write_workbook(tmp_path / "a.xlsx", {"s": sheet_xml(rows, merged)})
    assert all_rows(path) == (["text", "label"], [(3, ["a", "pos"]), (4, ["b", "pos"]), (6, ["c", "pos"]), (7, ["d", "neg"])])


def test_a_sheet_with_a_row_for_each_word_holds_tags(tmp_path):
    words = [["sentence_id", "word", "tag"]] + [[number, word, tag] for number in range(5) for word, tag in (("John", "B-PER"), ("ran", "O"))]
    labelled = read_examples(write_workbook(tmp_path / "a.xlsx", {"s": sheet_xml(words)}))
    assert labelled.task == "tag" and labelled.examples[0] == TaggedSentence(("John", "ran"), ("B-PER", "O"), f"{labelled.source}:2")


def test_the_first_visible_sheet_with_rows_is_read_and_the_others_are_named(tmp_path, messages):
    sheets = {"secret": sheet_xml(REVIEWS), "empty": sheet_xml([]), "Reviews": sheet_xml(REVIEWS), "Notes": sheet_xml([["a"]])}
    path = write_workbook(tmp_path / "a.xlsx", sheets, hidden=["secret"])
    assert len(all_rows(path)[1]) == 8
    assert messages == [f"{path}: the sheet 'Reviews' is read, and not 'Notes'; move another to the front to read that one"]


def test_errors_and_formulas_without_values_are_empty_and_counted(tmp_path, messages):
    rows = [["text", "label"], ["a", '<t="e"|<v>#N/A</v>'], ["b", "<|<f>A1</f>"], ["c", "<|<f>A2</f>"]]
    path = write_workbook(tmp_path / "a.xlsx", {"s": sheet_xml(rows)})
    assert all_rows(path)[1] == [(2, ["a", ""]), (3, ["b", ""]), (4, ["c", ""])]
    assert messages[0] == f"{path}: 1 cells hold an error such as #N/A and are read as empty"
    assert messages[1].startswith(f"{path}:3: 2 formulas have no value stored and are read as empty; open the file")


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    path = write_workbook(tmp_path / "a.xlsx", {"s": sheet_xml(REVIEWS)})
    assert len(all_rows(path)[1]) == 8
    write_workbook(path, {"s": sheet_xml(REVIEWS[:3])})
    assert len(all_rows(path)[1]) == 2


def test_what_openpyxl_writes_is_read_as_openpyxl_reads_it(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [("text", "day", "n"), ("你好\nworld", datetime.date(2024, 2, 29), 5), ("=not a formula", datetime.datetime(2024, 2, 29, 9, 30), 0.25)]
    for row in rows:
        book.active.append(row)
    book.active["A3"].data_type = "s"
    book.save(tmp_path / "a.xlsx")
    assert all_rows(tmp_path / "a.xlsx")[1] == [(2, ["你好\nworld", "2024-02-29", "5"]), (3, ["=not a formula", "2024-02-29 09:30:00", "0.25"])]


# An enemy's


@pytest.mark.parametrize(
    ("sheet", "sentence"),
    [
        (f'<!DOCTYPE a [<!ENTITY b "bbbb">]><worksheet xmlns="{MAIN}"><sheetData><row><c t="str"><v>&b;</v></c></row></sheetData></worksheet>',
         "declares a document type"),
        (f'<!DOCTYPE a SYSTEM "file:///etc/passwd"><worksheet xmlns="{MAIN}"/>', "declares a document type"),
        (f'<worksheet xmlns="{MAIN}"><sheetData><row r="99999999999"/></sheetData></worksheet>', "row 99,999,999,999 after row 0"),
        (f'<worksheet xmlns="{MAIN}"><sheetData><row r="2"/><row r="1"/></sheetData></worksheet>', "row 1 after row 2"),
        (f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="XFD1"><v>1</v></c></row></sheetData></worksheet>', "a cell in column 16,384"),
        (f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="A1" t="s"><v>7</v></c></row></sheetData></worksheet>', "text number 7 of 0"),
        (f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="A1" t="s"><v>x</v></c></row></sheetData></worksheet>', "damaged one"),
        (f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="1A"><v>x</v></c></row></sheetData></worksheet>', "'1A' names no cell"),
        (f'<worksheet xmlns="{MAIN}"><sheetData>', "damaged one"),
        ("", "damaged one"),
        (f'<worksheet xmlns="{MAIN}"><sheetData/></worksheet>', "no text in"),
    ],
)  # fmt: skip
def test_a_sheet_that_no_program_writes_is_refused_in_a_sentence(tmp_path, sheet, sentence):
    path = write_workbook(tmp_path / "a.xlsx", {"s": sheet})
    message = error_of(path)
    assert sentence in message and "\n" not in message and str(path) in message


def test_a_bomb_is_refused_before_it_fills_anything(tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx_package, "BOMB_BYTES", 1 << 20)
    path = write_workbook(tmp_path / "a.xlsx", {"s": sheet_xml([["text"], ["a" * (1 << 23)]])})
    assert "decompression bomb" in error_of(path)
    path = write_workbook(tmp_path / "b.xlsx", {"s": sheet_xml([["text"]])}, strings=f"<si><t>{'a' * (1 << 23)}</t></si>")
    assert "decompression bomb" in error_of(path)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is an old .xls workbook, or one with a password; open it in Excel"),
        ("a.xlsx", b"text,label\n", "is no Excel workbook, or a damaged one; save it as CSV UTF-8, or again as .xlsx"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "looks like an old Office document; save a spreadsheet as .xlsx or CSV UTF-8"),
    ],
)
def test_what_is_no_workbook_is_refused(write, name, content, sentence):
    assert sentence in error_of(write(name, content))


@pytest.mark.parametrize(("member", "what"), [("content.xml", "OpenDocument"), ("Index/Document.iwa", "a Numbers file"), ("a.txt", "damaged")])
def test_other_spreadsheets_in_a_zip_are_refused_by_name(tmp_path, member, what):
    for name in ("a.xlsx", "a.ods"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            archive.writestr(member, "x")
    assert what in error_of(tmp_path / "a.xlsx")
    assert "looks like a spreadsheet" in error_of(tmp_path / "a.ods")


def test_a_workbook_that_is_cut_short_is_refused_wherever_it_is_cut(tmp_path):
    content = write_workbook(tmp_path / "a.xlsx", {"s": sheet_xml(REVIEWS)}).read_bytes()
    for end in range(1, len(content), 97):
        path = tmp_path / f"{end}.xlsx"
        path.write_bytes(content[:end])
        with pytest.raises(BadInput):
            open_table(path, None)
