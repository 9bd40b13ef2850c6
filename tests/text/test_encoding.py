"""Which encoding a file is in, and its text in blocks."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.errors import BadInput
from stairs.text import input_files
from stairs.text.encoding import detect_encoding
from stairs.text.input_files import decode_stream

ENGLISH = "The cat sat on the mat.\nIt was warm.\n"
FRENCH = "Le café est très bon à côté de l'hôtel déjà fermé.\n"
SIMPLIFIED = "这是一个测试文件，我们在这里写一些中文。今天天气很好！\n第二行也是中文的内容。\n"
TRADITIONAL = "這是一個測試文件，我們在這裡寫一些中文。今天天氣很好！\n"
JAPANESE = "これはテストです。日本語の文章を書きます。\n"
KOREAN = "이것은 시험 문서입니다. 한국어로 글을 씁니다.\n"
RUSSIAN = "Это проверка русского текста. Сегодня хорошая погода.\n"


def decode(data: bytes, codec: str | None = None) -> str:
    return "".join(decode_stream(io.BytesIO(data), codec, "notes.txt"))


@pytest.mark.parametrize("head", [b"", b"plain", "中文".encode(), "中文".encode()[:-1], b"\xef\xbb\xbfmark", "中文".encode("gb18030"), b"a\0b"])
def test_the_quick_check_for_utf8_agrees_with_detection(head):
    if input_files.is_utf8(head, "notes.txt"):
        assert detect_encoding(head, "notes.txt").startswith("utf-8")
    else:
        assert head in ("中文".encode("gb18030"), b"a\0b")


def complaint(data: bytes, codec: str | None = None) -> str:
    with pytest.raises(BadInput) as caught:
        decode(data, codec)
    return str(caught.value)


@pytest.mark.parametrize("text", [ENGLISH, FRENCH, SIMPLIFIED, TRADITIONAL, JAPANESE, RUSSIAN])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_with_a_mark_or_as_utf8_is_decoded(text, codec):
    assert decode(text.encode(codec)) == text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_both_byte_orders_with_a_mark(codec):
    assert decode(("\ufeff" + SIMPLIFIED).encode(codec)) == SIMPLIFIED


@pytest.mark.parametrize("text", [SIMPLIFIED, TRADITIONAL, "name,label\n张伟,正面\n", "name\n李娜\n", "你好", ENGLISH * 100 + SIMPLIFIED])
def test_chinese_in_gb18030_is_decoded(text):
    assert detect_encoding(text.encode("gb18030"), "notes.txt") == "gb18030"
    assert decode(text.encode("gb18030")) == text


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (TRADITIONAL, "big5"), (JAPANESE, "shift_jis"), (JAPANESE, "euc_jp"), (KOREAN, "euc_kr"),
        (RUSSIAN, "koi8-r"), (RUSSIAN, "cp1251"), (FRENCH, "cp1252"),
    ],
)  # fmt: skip
def test_other_encodings_are_guessed_and_read_when_named(text, codec):
    data = ENGLISH.encode() + text.encode(codec)
    message = complaint(data)
    bad = next(place for place, byte in enumerate(data) if byte > 127)
    assert message.startswith("notes.txt:3: byte 0x") and "is not UTF-8" in message
    assert int(message.split("offset ")[1].split(" ")[0]) >= bad
    assert message.endswith(f"it looks like {codec}: use --encoding {codec}")
    assert decode(data, codec) == ENGLISH + text


@pytest.mark.parametrize(("codec", "nul"), [("utf-16-le", "NUL at odd bytes"), ("utf-16-be", "NUL at even bytes")])
@pytest.mark.parametrize("text", [ENGLISH, SIMPLIFIED, FRENCH])
def test_utf16_without_a_mark_is_named(text, codec, nul):
    message = complaint(text.encode(codec))
    assert message == f"notes.txt:1: looks like UTF-16 without a byte-order mark ({nul}); use --encoding {codec}"
    assert decode(text.encode(codec), codec) == text


def test_utf32_without_a_mark_is_named():
    assert complaint(ENGLISH.encode("utf-32-le")).endswith("use --encoding utf-32-le")
    assert complaint(ENGLISH.encode("utf-32-be")).endswith("use --encoding utf-32-be")


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"\x1f\x8b\x08\0", "gzip"), (b"\x89PNG\r\n\x1a\n\0", "PNG"), (b"%PDF-1.7\n", "PDF"), (b"\x7fELF\x02", "ELF"),
        (b"SQLite format 3\0", "SQLite"), (b"PK\x03\x04\x14\0", "docx"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"PAR1", "parquet"),
    ],
)  # fmt: skip
def test_binary_is_known_by_its_first_bytes(head, what):
    for codec in (None, "latin-1"):
        message = complaint(head + b"rest", codec)
        assert message.startswith("notes.txt: looks like ") and what in message and ";" in message


def test_binary_without_magic_is_refused():
    assert "binary data" in complaint(bytes(1000))
    assert "--encoding" in complaint(bytes(range(256)) * 4)


def test_a_byte_order_mark_inside_the_text_stays():
    assert decode("\ufeffone\ufefftwo".encode()) == "one\ufefftwo"
    assert decode("\ufeff\ufeffone".encode("utf-16-le"), "utf-16") == "\ufeffone"
    assert decode("\ufeffone".encode(), "utf-8") == "one"
    assert decode(b"\xef\xbb\xbf") == ""


def test_line_ends_become_lf_and_other_separators_stay():
    assert decode(b"a\r\nb\rc\nd\n\r\ne") == "a\nb\nc\nd\n\ne"
    assert decode("a\u2028b\u2029c\x85d\x0be\x0cf".encode()) == "a\u2028b\u2029c\x85d\x0be\x0cf"


def test_controls_and_a_few_nuls_are_text():
    text = "red \x1b[31m bell \x07 nul \0 " + "plain " * 50
    assert decode(text.encode()) == text


def test_a_bad_byte_in_mid_file_is_found_by_line_and_offset():
    good = SIMPLIFIED.encode() * 20_000
    message = complaint(good + b"\xff" + good)
    assert message.startswith(f"notes.txt:40001: byte 0xff at offset {len(good):,} is not UTF-8; ") and "damaged" in message
    wide = SIMPLIFIED.encode("gb18030") * 30_000
    assert complaint(wide + b"\xff\xff").startswith(f"notes.txt:60001: byte 0xff at offset {len(wide):,} is not GB18030; ")
    late = b"abc\r\n" * 400_000 + b"\xe9 rien"
    assert complaint(late) == "notes.txt:400001: byte 0xe9 at offset 2,000,000 is not UTF-8; it looks like cp1252: use --encoding cp1252"


def test_a_file_that_ends_inside_a_character():
    assert complaint(SIMPLIFIED.encode()[:-3]).startswith("notes.txt:2: ends in the middle of a UTF-8 character at offset ")
    assert complaint(SIMPLIFIED.encode("utf-16")[:-1]).startswith("notes.txt:2: ends in the middle of a UTF-16 character")


@pytest.mark.parametrize("codec", ["klingon", "rot13", "base64", "utf-7", "unicode_escape", "", "\0", "idna"])
def test_an_encoding_that_is_none(codec):
    if codec:
        assert "is not a text encoding; try utf-8" in complaint(b"abc", codec)
    else:
        assert decode(b"abc", codec) == "abc"


class Drip(io.BytesIO):
    """A pipe that hands over a few bytes at a time."""

    def read(self, size=-1):
        return super().read(min(size, 3))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["utf-8", "utf-16", "utf-32", "gb18030"]), st.integers(1, 7))
def test_blocks_of_any_size_give_the_same_text(text, codec, size):
    if text.startswith("\ufeff"):
        text = text[1:]
    data = text.encode(codec)
    expected = io.TextIOWrapper(io.BytesIO(data), codec, newline=None).read()
    before = input_files.BLOCK
    input_files.BLOCK = size
    try:
        assert "".join(decode_stream(Drip(data), codec, "notes.txt")) == expected
    finally:
        input_files.BLOCK = before


def test_empty_input_is_empty_text():
    assert list(decode_stream(io.BytesIO(b""), None, "notes.txt")) == []
