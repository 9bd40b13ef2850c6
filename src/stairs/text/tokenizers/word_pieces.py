"""The pieces of words: which word each token belongs to, and how a pre-token is spelt in the alphabet of its kind."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tokenizers import pre_tokenizers

from stairs.text.chinese import HAN_RUN, chinese_word_spans

if TYPE_CHECKING:
    from stairs.text.tokenizers.spec import TokenizerSpec

# GPT-2's characters for the 256 bytes: the printable ones stand for themselves
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTE_CHARACTERS = {byte: chr(byte) for byte in PRINTABLE} | {
    byte: chr(256 + at) for at, byte in enumerate(byte for byte in range(256) if byte not in set(PRINTABLE))
}


class Encoding(Protocol):
    """The ids of a text, and (start, end) of each in the preprocessed text."""

    @property
    def ids(self) -> list[int]: ...

    @property
    def offsets(self) -> list[tuple[int, int]]: ...


def group_by_word(text: str, offsets: Sequence[tuple[int, int]], spec: "TokenizerSpec") -> list[int]:
    """The number of the word each token belongs to."""
    word_at = [-1] * len(text)
    chinese = [run.span() for run in HAN_RUN.finditer(text)] if spec.chinese == "words" else chinese_word_spans(text)
    spans = [span for _, span in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
    for number, (start, end) in enumerate(spans + chinese):
        word_at[start:end] = [number] * (end - start)
    spaces_belong = spec.kind in ("byte-bpe", "unigram")  # to the word that follows
    groups: list[int] = []
    group, reached, after_space = -1, -1, False
    for start, end in offsets:
        word = next((word_at[at] for at in range(start, end) if word_at[at] >= 0), -1)
        if not after_space and (word < 0 or word != reached):
            group += 1
        after_space = word < 0 and spaces_belong
        reached = word_at[end - 1] if end > start else word
        groups.append(group)
    return groups


def piece_text(text: str, offsets: tuple[int, int]) -> str:
    start, end = offsets  # in bytes
    return text.encode()[start:end].decode()


def bytes_as_characters(spelling: str) -> str:
    return spelling.encode().decode("latin-1").translate(BYTE_CHARACTERS)


def spaces_as_metaspaces(spelling: str) -> str:
    form = spelling.replace(" ", "▁")
    return form if form.startswith("▁") else "▁" + form


PRETOKEN_FORMS = {"byte-bpe": bytes_as_characters, "unigram": spaces_as_metaspaces}  # a pre-token as the library's model reads it
