"""The encoding of a text file, detected from its first bytes.

UTF-8, and UTF-16 or UTF-32 with a byte-order mark, are certain. GB18030 is accepted when it reads as Chinese. Anything else is a guess, which the
user is told and which is not acted on. NUL and other control characters in valid UTF-8 are
text.
"""

import codecs
import re

from stairs.errors import BadInput

SAMPLE = 1 << 16  # bytes that a guess is based on

BYTE_ORDER_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

DECOMPRESS = "decompress it first, or give it its usual ending (.gz, .xz or .zst)"
CONVERT = "save it as plain text first"
MAGIC = (
    (b"\x1f\x8b", "gzip", DECOMPRESS),
    (b"\xfd7zXZ\0", "xz", DECOMPRESS),
    (b"\x28\xb5\x2f\xfd", "zstd", DECOMPRESS),
    (b"BZh", "bzip2", "decompress it first"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip", "unpack it first"),
    (b"Rar!\x1a\x07", "RAR", "unpack it first"),
    (b"PK\x03\x04", "zip (or docx, epub)", "unpack it, or " + CONVERT),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document", "save a spreadsheet as .xlsx or CSV UTF-8, and prose as plain text"),
    (b"%PDF-", "PDF", CONVERT),
    (b"{\\rtf", "RTF", CONVERT),
    (b"\x89PNG\r\n\x1a\n", "PNG", "give a text file"),
    (b"\xff\xd8\xff", "JPEG", "give a text file"),
    (b"GIF8", "GIF", "give a text file"),
    (b"\x7fELF", "ELF", "give a text file"),
    (b"SQLite format 3\0", "SQLite", "export the text column as CSV first"),
    (b"PAR1", "parquet", "give it the ending .parquet"),
    (b"ARROW1", "Arrow", "convert it to parquet first"),
    (b"\x93NUMPY", "a numpy array", "give a text file"),
    (b"RIFF", "RIFF (sound or video)", "give a text file"),
)


SPREADSHEET_MARKS = (b"xl/workbook", b"opendocument.spreadsheet", b"Index/Tables/", b"Index/CalculationEngine")  # in the bytes of a zip


def grid(codec: str, leads: range, tails: range) -> str:
    """The characters of a rectangle of a two-byte code table."""
    return bytes(byte for lead in leads for tail in tails for byte in (lead, tail)).decode(codec, "ignore")


# The commonest characters of a language: their share among those beyond ASCII tells a right guess from a wrong one.
COMMON_HAN = (
    "，。、；：？！（）《》“”‘’「」『』的是一年不在有了人中大以和我上月日到本為这很个出也为地成他用国可作好时生要就行还下多家得部國其后於间之公能小来子书自分都而方第没前于"
    "房主会看比名西但同最面店道位里事高次斯天新及酒被所法外民过文後点因对入说時由理特南會学此加发定台任度北服三美與建们市然合感务政工住心二等太至代性路开电通期去如表全物者常重系正"
    "么平起海安动格当克德發利立意觉十星相现明内山员使机些學影式水只错四個站提经接实东女改並教价原區情手世想力那化程非知元受已共较与更果拉制向设直装電音品她球司车量基尔州区样金该长"
    "并回买军員再口给客首演交來进目列動真形己打布总開東完車院對或間色保始且卡包治差字着便早長收体风解士過港两近无空城身賽问史少府英經统科你這說們沒還個為嗎吗它呢吧界"
)
HANGUL = "이다는을에의가고를하지은로도기사한인있서자리아대그나해라시어정수보부것일들주전과제니만원여장으게"
KANA = "、。ー" + "".join(map(chr, range(0x3041, 0x30FB)))
CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяё"
LATIN = "ÉÀÇÖÜÄàâäáãåçéèêëíìîïñóòôöõøúùûüßæœ’‘“”–—…«»£€°·"
GUESSES = (  # codec, common characters, characters that are at least ordinary; ties go to the earlier one
    ("gb18030", COMMON_HAN, grid("gb2312", range(0xB0, 0xD8), range(0xA1, 0xFF))),
    ("big5", COMMON_HAN, grid("big5", range(0xA4, 0xC7), range(0x40, 0x7F))),
    ("utf-16-le", COMMON_HAN, ""),
    ("utf-16-be", COMMON_HAN, ""),
    ("shift_jis", KANA, ""),
    ("euc_jp", KANA, ""),
    ("euc_kr", HANGUL, "".join(map(chr, range(0xAC00, 0xD7A4)))),
    ("koi8-r", CYRILLIC, ""),
    ("cp1251", CYRILLIC, ""),
    ("cp1252", LATIN, ""),
)
MIN_SCORE = 0.4
NULS = {
    "utf-16-le": "NUL at odd bytes",
    "utf-16-be": "NUL at even bytes",
    "utf-32-le": "three NULs after most bytes",
    "utf-32-be": "three NULs before most bytes",
}
IMPLAUSIBLE = re.compile("[\0-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f]|[а-яё][А-ЯЁ─-╿]|[à-ÿ][À-Þ]")  # controls, capitals inside a word
ESCAPES = {"utf-7", "unicode_escape", "raw_unicode_escape", "unicode-escape", "raw-unicode-escape", "punycode", "idna", "undefined"}


def detect_encoding(head: bytes, name: str) -> str:
    """The codec of a file that begins with `head`; `name` is what an error calls the file."""
    for mark, codec in BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return codec
    refuse_binary(head, name)
    zeros = head.count(0)
    wide = guess_wide_encoding(head)
    if wide:
        raise BadInput(f"{name}:1: looks like {wide[:6].upper()} without a byte-order mark ({NULS[wide]}); use --encoding {wide}")
    if zeros > len(head) // 50:
        raise BadInput(f"{name}:1: looks like binary data ({zeros:,} NULs in the first {len(head):,} bytes); give a text file")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
        return "utf-8"
    except UnicodeDecodeError as error:
        sample = sample_from_line_start(head, error.start)
        if guess_encoding(sample) == "gb18030":
            return "gb18030"
        raise decoding_error(name, "utf-8", line_at(head, error.start), error.start, head[error.start], sample) from None


def refuse_binary(head: bytes, name: str) -> None:
    """Refuse a file whose first bytes say that it is not text."""
    for magic, what, advice in MAGIC:
        if head.startswith(magic):
            if magic == b"PK\x03\x04" and any(mark in head for mark in SPREADSHEET_MARKS):
                what, advice = "a spreadsheet", "give an Excel workbook the ending .xlsx; save any other as .xlsx or CSV UTF-8"
            raise BadInput(f"{name}: looks like {what}; {advice}")


def guess_wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: nearly every character of Western text leaves zeros at the same offsets."""
    pairs, quads = len(head) // 2, len(head) // 4
    zeros = [head[offset::4].count(0) for offset in range(4)]
    if quads and min(zeros[1:]) > 0.6 * quads and zeros[0] < 0.1 * quads:
        return "utf-32-le"
    if quads and min(zeros[:3]) > 0.6 * quads and zeros[3] < 0.1 * quads:
        return "utf-32-be"
    even, odd = zeros[0] + zeros[2], zeros[1] + zeros[3]
    if pairs and odd > 0.3 * pairs and even < 0.03 * pairs:
        return "utf-16-le"
    if pairs and even > 0.3 * pairs and odd < 0.03 * pairs:
        return "utf-16-be"
    likely = guess_encoding(head[:SAMPLE]) if sum(zeros) else None  # Chinese leaves zeros only at its line ends
    return likely if likely in NULS else None


def guess_encoding(sample: bytes) -> str | None:
    """The most probable encoding of bytes that are not UTF-8; "utf-8" if all but a few damaged bytes are; None if unknown."""
    loose = sample.decode("utf-8", "replace")
    bad = loose.count("\ufffd")
    if sum(not character.isascii() for character in loose) > 3 * bad:
        return "utf-8"
    best, best_score = None, MIN_SCORE
    for codec, common, ordinary in GUESSES:
        try:
            text = codecs.getincrementaldecoder(codec)().decode(sample)
        except UnicodeDecodeError:
            continue
        foreign = [character for character in text if character > "\x7f"]
        letter_count = sum(character.isascii() and character.isalpha() for character in text)
        if IMPLAUSIBLE.search(text) or (common is CYRILLIC and len(foreign) < letter_count):  # French in cp1251 has a й for each é
            continue
        first, second = set(common), set(ordinary)
        score = sum(1.0 if character in first else 0.5 * (character in second) for character in foreign) / max(len(foreign), 1)
        if score > best_score:
            best, best_score = codec, score
    return best


def sample_from_line_start(block: bytes, offset: int) -> bytes:
    """Some bytes around `offset` that start at a character, whatever the encoding."""
    start = block.rfind(b"\n", max(offset - SAMPLE, 0), offset) + 1
    return block[start - start % 2 :][:SAMPLE]


def line_at(head: bytes, offset: int) -> int:
    before = head[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def decoding_error(name: str, codec: str, line: int, offset: int, byte: int, sample: bytes | None) -> BadInput:
    """The error for a byte that cannot be decoded; another encoding is guessed from the sample, if the encoding is in doubt."""
    likely = guess_encoding(sample) if sample is not None else codec
    if likely == codec:
        advice = "the rest is, so the file is damaged there: repair or remove the byte"
    elif likely:
        advice = f"it looks like {likely}: use --encoding {likely}"
    else:
        advice = "give a text file, or name its encoding with --encoding"
    return BadInput(f"{name}:{line}: byte 0x{byte:02x} at offset {offset:,} is not {codec.upper()}; {advice}")


def text_codec(encoding: str) -> str:
    """The standard name of a text encoding; BadInput if it is unknown."""
    try:
        info = codecs.lookup(encoding)
    except (LookupError, ValueError):
        info = None
    if info is None or info.name in ESCAPES or not getattr(info, "_is_text_encoding", True):
        raise BadInput(f"--encoding {encoding!r} is not a text encoding; try utf-8, gb18030, big5, utf-16 or cp1252")
    return info.name


def refuse_lone_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate_error(error) from None
    return text


def lone_surrogate_error(error: UnicodeEncodeError) -> BadInput:
    return BadInput(f"the text holds half a surrogate pair (U+{ord(error.object[error.start]):04X}), which is not a character; remove it")
