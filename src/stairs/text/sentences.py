"""Text split into documents, and documents into sentences, English and Chinese, by rule.

Blank lines separate documents; a long one comes in pieces.

An end mark ends a sentence together with the marks, quotes and brackets that close it: in English if whitespace and then no lower-case letter
follows, and a full stop only if it does not belong to an abbreviation or an initial; in Chinese anywhere but inside 《》 or before a comma. A line
end always ends a sentence. Only whitespace at the edges of a sentence is dropped.
"""

import re
from collections.abc import Iterable, Iterator

from stairs.text.chinese import CJK, HAN, is_cjk

BLANK_LINES = re.compile(r"\n\s*\n")
PIECE_ENDS = ("。", "！", "？", ". ", "! ", "? ")  # where a long document is cut
MAX_SENTENCE_CHARACTERS = 10_000  # a longer one is cut, at a space if there is one

CHINESE_MARKS = "。！？"
CLOSING = "\"'”’»)]」』）】"
OPENING = "\"'“‘«([「『（【"
WESTERN = re.compile(rf"[.!?…][.!?…{re.escape(CLOSING)}]*\s*")
WESTERN_OR_CHINESE = re.compile(rf"[.!?…{CHINESE_MARKS}][.!?…{CHINESE_MARKS}{re.escape(CLOSING)}]*\s*")
HAN_THEN_MARK = re.compile(f"[{HAN}][!?…]")
DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")  # U.S, e.g, Ph.D
THROUGH_CHINESE = re.compile(f"^.*[{CJK}]")  # 在U.S: only what follows the Chinese is a word
MAX_TITLE_CHARACTERS = 100  # in 《》
WORD = re.compile(r"[^\W\d_]+(?!\.)")
CONTINUES = set("，、；：,;:》〉)）]】」』”’")
CONTINUES_AFTER_EXCLAMATION = CONTINUES | set("（(%％~～—-·/")  # after ! and ?, which many names contain
ATTACHING_PARTICLES = set("的地得等與与和及或是之")


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_LAST = word_set(
    "Mr Mrs Ms Mx Messrs Dr Drs Prof St Ste Mt Ft Gen Lt Col Sgt Capt Cpt Cpl Pvt Maj Cmdr Cdr Adm Brig Rev Revd Fr Hon Gov Sen Rep "
    "Reps Pres Supt Insp Det Sra Dra Mme Mlle vs v viz cf esp ca approx incl"
)
BEFORE_NUMBERS = word_set(
    "No Nos no nos Nr Vol Vols vol vols Fig Figs fig figs p pp Ch Chap ch chap Sec sec Art art Eq eq Op op Pt pt Bd Jan Feb Mar Apr "
    "Jun Jul Aug Sep Sept Oct Nov Dec ver Ver Ref ref Rs max min avg circa"
)
SELDOM_LAST = word_set(
    "Inc Ltd Co Cos Corp Bros Jr Sr Esq Dept Univ Assn Ave Blvd Rd Hwy Sq Bldg ed eds Ed Eds trans Trans repr rev al Jan Feb Mar Apr "
    "Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Wed Thu Fri Sat Sun Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Md Mich "
    "Minn Miss Mo Mont Neb Nev Okla Ore Pa Tenn Tex Va Vt Wash Wis Wyo Ont Que Alta Ph subsp var sp spp f cv gen"
)
STARTERS = word_set(
    "The A An This That These Those It He She They We I You His Her Their Its Our My Your In On At As For From After Before During "
    "While When Where Although Though However But And Or So Then There Here By With Since Under According Despite If Many Most Some "
    "Several One Two Three Both Each All Other Others Another Also To What Who Why How Today Following Between Because Until Once "
    "Upon Among Within Not No Such Later Currently Of Over Through Throughout Additionally Furthermore Moreover Early Only Every "
    "Nevertheless Thus Therefore Meanwhile Initially Eventually Finally Born Prior Unlike Due Like"
)


def split_documents(blocks: Iterable[str], max_characters: int) -> Iterator[str]:
    """Documents between blank lines, out of blocks cut anywhere; the documents do not depend on where."""
    tail = ""
    for block in blocks:
        *complete, tail = BLANK_LINES.split(tail + block)
        for document in complete:
            yield from cut_document(document, max_characters)
        if len(tail) > max_characters:
            *pieces, tail = cut_pieces(tail, max_characters)
            yield from drop_blank(pieces)
    yield from cut_document(tail, max_characters)


def cut_document(document: str, max_characters: int) -> Iterable[str]:
    """A document as it is, or in pieces if it is long; nothing if it is blank."""
    if len(document) <= max_characters:
        document = document.strip("\n")
        return (document,) if document and not document.isspace() else ()
    return drop_blank(cut_pieces(document, max_characters))


def drop_blank(pieces: Iterable[str]) -> Iterator[str]:
    return (stripped for piece in pieces if (stripped := piece.strip("\n")) and not stripped.isspace())


def cut_pieces(text: str, max_characters: int) -> list[str]:
    """Pieces of at most `max_characters` characters, cut after a line, else after a sentence, else after a space, else anywhere."""
    pieces, start = [], 0
    while len(text) - start > max_characters:
        stop = start + max_characters
        line = text.rfind("\n", start, stop + 1)
        sentence = -1 if line >= start else max(text.rfind(end, start, stop) for end in PIECE_ENDS)
        end = next((at + 1 for at in (line, sentence) if at >= start), 0) or text.rfind(" ", start, stop) + 1 or stop
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    return pieces


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order: `split_sentences("Dr. Li left. 她走了。") == ["Dr. Li left.", "她走了。"]`."""
    sentences: list[str] = []
    pattern = WESTERN_OR_CHINESE if has_chinese_marks(text) else WESTERN
    for line in text.split("\n"):
        begin, length = 0, len(line)
        for match in pattern.finditer(line):
            start, stop = match.span()
            if stop == length:
                break
            is_plain = line[start] == "." and line[start + 1] == " " and line[stop].isupper() and line[start - 7 : start].isalpha()
            if is_plain or ends_sentence(line, begin, start, stop):  # `is_plain` only saves time: no abbreviation is that long
                sentences.append(line[begin:stop].strip())
                begin = stop
        last = line[begin:].strip()
        if last:
            sentences.append(last)
    if len(text) > MAX_SENTENCE_CHARACTERS and max(map(len, sentences), default=0) > MAX_SENTENCE_CHARACTERS:
        sentences = [piece for sentence in sentences for piece in cut_long_sentence(sentence)]
    return sentences


def has_chinese_marks(text: str) -> bool:
    if text.isascii():
        return False
    if any(mark in text for mark in CHINESE_MARKS):
        return True
    return any(mark in text for mark in "!?…") and HAN_THEN_MARK.search(text) is not None


def ends_sentence(line: str, begin: int, start: int, stop: int) -> bool:
    """Whether the marks at line[start:stop], with the whitespace after them, end the sentence that began at `begin`."""
    follower = line[stop]
    if not line[stop - 1].isspace():
        return line[start] != "." and ends_chinese_sentence(line, start, stop)
    if follower in OPENING and stop + 1 < len(line):
        follower = line[stop + 1]
    if follower.islower():
        return False
    if line[start] in CHINESE_MARKS:
        return ends_chinese_sentence(line, start, stop)
    if line[start] != "." or line[start + 1] in ".!?…":
        return not in_title(line, start)
    word = line[line.rfind(" ", begin, start) + 1 or begin : start].lstrip(OPENING)
    if not word.isascii():
        word = THROUGH_CHINESE.sub("", word[-12:])
    if len(word) > 6 and "." not in word:  # no abbreviation is that long
        return True
    if word in NEVER_LAST:
        return False
    if follower.isdigit():
        return not (word in BEFORE_NUMBERS or (word.isdigit() and line[begin:start].strip() == word) or (len(word) == 1 and word.isalpha()))
    if word in SELDOM_LAST or (len(word) == 1 and word.isalpha()) or ("." in word and DOTTED.fullmatch(word)):
        next_word = WORD.match(line, stop)
        return next_word is not None and next_word.group() in STARTERS
    return not (word.isdigit() and line[begin:start].strip() == word)  # "1. First" is an item of a list


def ends_chinese_sentence(line: str, start: int, stop: int) -> bool:
    """The same for marks that need no space after them; ASCII marks only between Chinese characters."""
    follower = line[stop]
    if follower in (CONTINUES if line[start] == "。" else CONTINUES_AFTER_EXCLAMATION):
        return False
    if line[start] in "!?…" and not (is_cjk(follower) and start and is_cjk(line[start - 1])):
        return False
    if line[stop - 1] in CLOSING and follower in ATTACHING_PARTICLES:
        return False
    return not in_title(line, start)


def in_title(line: str, start: int) -> bool:
    near = max(start - MAX_TITLE_CHARACTERS, 0)
    return line.rfind("《", near, start) > line.rfind("》", near, start)


def cut_long_sentence(sentence: str) -> list[str]:
    """Pieces of at most LONGEST characters."""
    pieces = []
    start = 0
    while len(sentence) - start > MAX_SENTENCE_CHARACTERS:
        end = sentence.rfind(" ", start + 1, start + MAX_SENTENCE_CHARACTERS) + 1 or start + MAX_SENTENCE_CHARACTERS
        pieces.append(sentence[start:end].strip())
        start = end
    pieces.append(sentence[start:].strip())
    return [piece for piece in pieces if piece]
