"""JSONL, JSON lists and parquet: strict reading, each error with its line; and more examples than fit in memory."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stairs.errors import EnvironmentFault
from stairs.text import examples
from stairs.text.examples import LabelledText, TaggedSentence, TextPair, TranslationPair
from stairs.text.labelled import guess_task, read_examples, spool
from stairs.text.tables import json_table, spooled_strings
from stairs.text.tables.json_table import JsonCursor
from tests.support.labelled_files import error_of

GOOD = '{"text": "a fine film", "label": "pos"}'


def write_file(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_jsonl_is_read_with_its_lines(tmp_path):
    path = write_file(tmp_path, "a.jsonl", f'{GOOD}\n\n{{"label": 0, "text": "\\u597d \\ud83d\\ude00"}}\r\n{{"text": "x y", "label": true}}')
    values_found = list(read_examples(path, "classify").examples)
    assert values_found == [LabelledText("a fine film", "pos", f"{path}:1"), LabelledText("好 😀", "0", f"{path}:3"), LabelledText("x y", "true",
        f"{path}:4")]
    assert guess_task(path) == "classify"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"text": "a", "label": "b",}', "a comma before '}'; remove it"),
        ("{'text': 'a', 'label': 'b'}", "single quotes are not JSON"),
        ('{"text": "a", "label": NaN}', "NaN is not JSON"),
        ('{"text": "a", "label": -Infinity}', "-Infinity is not JSON"),
        ('{"text": "a", "text": "c", "label": "b"}', "the field 'text' occurs twice"),
        ('[{"text": "a", "label": "b"}]', "a list where a record should be"),
        ('"text"', "a string where a record should be"),
        ('{"text": "a", "lab', "the JSON ends too early"),
        ('{"text": "a", "label": ', "the JSON ends too early"),
        ('{"text": ' + "[" * 100_000 + "]" * 100_000 + ', "label": "b"}', "nested too deeply"),
        ('{"text": "a", "label": ' + "7" * 4301 + "}", "a number with thousands of digits"),
        ('{"text": "a \\ud800 b", "label": "b"}', "\\ud800 is half a surrogate pair"),
        ('{"text": "a", "label": "b"} {"text": "c"}', "after the end of the record"),
        ('{"text": "a\tb", "label": "c"}', "not JSON at"),
        ("text: a", "not JSON at 'text: a'"),
        ('{"text": 7, "label": "b"}', "the field 'text' is a number, not text"),
        ('{"text": ["a"], "label": "b"}', "the field 'text' is a list, not text"),
        ('{"text": "a", "label": {}}', "the label 'label' is an object"),
    ],
)
def test_a_bad_record_is_refused_at_its_line(tmp_path, line, sentence):
    path = write_file(tmp_path, "a.jsonl", f"{GOOD}\n{line}\n")
    assert f"{path}:2: " in error_of(path) and sentence in error_of(path)
    first = write_file(tmp_path, "b.jsonl", f"{line}\n{GOOD}\n")
    assert f"{first}:1: " in error_of(first)


def test_a_json_file_may_be_one_list(tmp_path):
    path = write_file(tmp_path, "a.json", f'[\n {GOOD},\n {{"text": "b c",\n "label": 1}}\n]\n')
    assert list(read_examples(path, "classify").examples) == [LabelledText("a fine film", "pos", f"{path}:2"), LabelledText("b c", "1", f"{path}:3")]
    assert guess_task(path) == "classify"
    for content, line, sentence in [
        (f"[\n{GOOD},\n]", 3, "a comma before ']'"),
        (f"[\n{GOOD}\n", 3, "the end of the file where a comma should be"),
        (f"[\n{GOOD}\n] x", 3, "'x' after the end"),
        (f'[\n{GOOD},\n\n{{"text": "a", "lab', 4, "the JSON ends too early"),
        (f"[\n{GOOD},\n7]", 3, "a number where a record should be"),
    ]:
        path = write_file(tmp_path, "b.json", content)
        assert f"{path}:{line}: " in (message := error_of(path)) and sentence in message


def test_pairs_and_translations_in_records(tmp_path):
    records = '{"sentence1": "a b", "sentence2": "c d", "label": 3.5}\n{"sentence1": "a", "sentence2": "c", "label": 2}\n'
    path = write_file(tmp_path, "a.jsonl", records)
    assert read_examples(path, "compare").examples[0] == TextPair("a b", "c d", None, 3.5, f"{path}:1") and guess_task(path) == "compare"
    path = write_file(tmp_path, "b.jsonl", '{"translation": {"en": "Hi.", "fr": "Salut."}}\n')
    assert list(read_examples(path, "translate").examples) == [TranslationPair("Hi.", "Salut.", f"{path}:1")] and guess_task(path) == "translate"


strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
    max_leaves=12,
)


@settings(derandomize=True, max_examples=60, deadline=None)
@example(values_found=[0.25, 1e22], size=3)
@example(values_found=[1e22, 0.25], size=2)
@given(values_found=st.lists(values, max_size=6), size=st.integers(1, 9))
def test_the_streaming_reader_agrees_with_json_however_the_text_is_cut(values_found, size, tmp_path_factory):
    text = json.dumps({"skip": values_found, "data": values_found}, indent=1)
    cursor = JsonCursor.__new__(JsonCursor)
    JsonCursor.__init__(cursor, tmp_path_factory.getbasetemp() / "not-opened")
    cursor.blocks = iter([text[start : start + size] for start in range(0, len(text), size)])
    read_back, lines = [], []
    for _, key in cursor.members():
        if key == "skip":
            assert cursor.value() == values_found
        else:
            for line in cursor.elements():
                lines.append(line)
                read_back.append(cursor.value())
    cursor.expect_end()
    assert read_back == values_found
    begins = [number for number, line in enumerate(text.split("\n"), 1) if line.startswith("  ") and line[2] not in " ]}"]
    assert lines == begins[len(values_found) :]


def test_parquet(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"id": [1, 2], "text": ["one two", "three"], "label": [0, 1]}), path)
    assert list(read_examples(path, "classify").examples) == [LabelledText("one two", "0", f"{path}:1"), LabelledText("three", "1", f"{path}:2")]
    assert guess_task(path) == "classify"
    parquet.write_table(pyarrow.table({"text": ["one", None], "label": [0, 1]}), path)
    assert list(read_examples(path, "classify").examples) == [LabelledText("one", "0", f"{path}:1")]
    parquet.write_table(pyarrow.table({"text": ["one", "two", "three"], "label": [0.5, float("nan"), None]}), path)
    assert [example.label for example in read_examples(path, "classify").examples] == ["0.5"]
    assert "a.parquet: not a parquet file" in error_of(write_file(tmp_path, "a.parquet", "text,label\n"))
    assert "no such file" in error_of(tmp_path / "none.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert "a.parquet: parquet needs pyarrow; install it with: pip install 'stairs[parquet]'" in error_of(path)


def test_many_examples_live_on_disk_and_read_the_same(tmp_path, monkeypatch):
    path = write_file(tmp_path, "a.jsonl", "\n".join(json.dumps({"text": f"文 {number}", "label": number % 3}) for number in range(500)))
    in_memory = read_examples(path, "classify").examples
    monkeypatch.setattr(spool, "MAX_MEMORY_BYTES", 10_000)
    spooled = read_examples(path, "classify").examples
    assert isinstance(spooled, spool.SpooledExamples) and len(spooled) == 500
    assert list(spooled) == in_memory and spooled[-1] == in_memory[-1] and spooled[3:5] == in_memory[3:5]
    with pytest.raises(IndexError):
        spooled[500]


@pytest.mark.parametrize("example", [
    TaggedSentence(("a", "b"), ("O", "B-X"), "f:1"), examples.Question("q", "p a", ((2, "a"),), "i", "f:1"), TextPair("a", "b", None, 0.5, "f:1"),
    examples.ParsedSentence(("a", "b"), ("O", "B-X"), "f:1", "d", (2, 0)),
])  # fmt: skip
def test_every_kind_comes_back_from_disk_as_it_was(example, monkeypatch):
    monkeypatch.setattr(spool, "MAX_MEMORY_BYTES", 0)
    assert list(spool.spool_examples([example, example])) == [example, example]
    assert isinstance(spool.spool_examples([example]), spool.SpooledExamples)


def test_a_full_disk_is_the_environments_fault(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "MAX_MEMORY_BYTES", 0)
    monkeypatch.setattr(spooled_strings.tempfile, "TemporaryFile", full)
    with pytest.raises(EnvironmentFault, match="no space left on device"):
        spool.spool_examples([LabelledText("a", "b")])


def test_a_broken_file_is_not_read_to_its_end_before_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_table, "LINE_LIMIT", 2_000_000)
    path = write_file(tmp_path, "a.json", f'[\n{GOOD},\n{{"text": "never closed, "label": 1}},\n' + " " * 6_000_000)
    assert f"{path}:3: " in error_of(path)
