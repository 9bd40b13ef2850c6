"""The words that a tagger tags: those it is given, or a text segmented the way its training words were.

A text with white space has its words already. Punctuation at the ends of a word is split off if it was in training, and so are 's and n't; in a text
where a full stop or a comma already stands alone, words are taken as they are. A full stop stays with an abbreviation: it is split off at the end of
the text, and between a word of more than three letters without another stop and a capital. Chinese without white space is segmented into characters
if the training words were characters, else into jieba's words.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stairs.text.chinese import HAN, HAN_RUN, chinese_word_spans, has_han

MAX_WORD_CHARACTERS = 8  # Han characters; a longer run between spaces is a sentence
SENTENCE_MARK = re.compile(r"[，。！？；：、]")
OPENING = re.compile(r"""[("'\[{<“‘«「『（《【]+(?=.)""")
CLOSING = re.compile(r"""(?<=.)(?:\.\.\.|[)"\]}>,;:!?”’»」』）》】，。！？；：、…]|(?<=\w)'(?!\w))$""")
CLITIC = re.compile(r"(?<=\w)(?:n['’]t|['’](?:s|m|d|re|ve|ll))$", re.IGNORECASE)
ALREADY_SEGMENTED = re.compile(r"[.,。，]|n['’]t|['’]s")  # stands alone only in a tokenized text; a dash does so in any, "!" in French
PIECE = re.compile(rf"[{HAN}]|[^\W{HAN}_]+|\S")  # of a text without spaces: a Han character, letters and digits, or punctuation


class SegmentedText(NamedTuple):
    """The words of a text, their spans in it, and how they were found."""

    words: list[str]
    spans: list[tuple[int, int]]
    source: str  # given, punctuation split, characters or dictionary


@dataclass(frozen=True)
class Segmentation:
    """How the words of the training data were segmented; the defaults are for unknown data."""

    chinese: str = "characters"  # or words
    splits_characters: bool = False  # every letter and digit is a word, as in Chinese data by characters
    splits_punctuation: bool = True  # a full stop is a word
    splits_clitics: bool = False  # so is 's

    @classmethod
    def from_sentences(cls, sentences: Iterable[Sequence[str]]) -> "Segmentation":
        """Learnt from the words of sentences; where they do not tell, the defaults hold."""
        han = [0, 0]  # words of one Han character, and of more
        latin = [0, 0]
        marks = [0, 0]  # punctuation at the end of a word, and by itself
        clitics = [0, 0]
        for words in sentences:
            for word in words:
                if HAN_RUN.fullmatch(word):
                    han[len(word) > 1] += 1
                elif word.isalnum():
                    latin[len(word) > 1] += 1
                elif not any(map(str.isalnum, word)):
                    marks[1] += 1
                elif re.fullmatch(r"n?['’](?:t|s|m|d|re|ve|ll)", word, re.IGNORECASE):
                    clitics[1] += 1
                else:
                    clitics[0] += CLITIC.search(word) is not None
                    marks[0] += re.search(r"[,;:!?，。！？；：]$", word) is not None
        return cls(
            chinese="words" if han[1] > 0.05 * sum(han) else "characters",
            splits_characters=latin[0] > 0 and latin[1] == 0 and sum(han) > 0,
            splits_punctuation=marks[1] >= marks[0],
            splits_clitics=clitics[1] > clitics[0],
        )

    def segment(self, text: str) -> SegmentedText:
        """The words of a text and their spans."""
        chunks = [(chunk.start(), chunk.end()) for chunk in re.finditer(r"\S+", text)]
        if not chunks:
            return SegmentedText([], [], "given")
        if is_unsegmented(text, chunks):
            spans = [span for chunk in chunks for span in self.without_spaces(text, *chunk)]
            return segmented_text(text, spans, self.chinese if self.chinese == "characters" else "dictionary")
        if not self.splits_punctuation or any(ALREADY_SEGMENTED.fullmatch(text, start, stop) for start, stop in chunks):
            return segmented_text(text, chunks, "given")
        spans = [span for number, chunk in enumerate(chunks) for span in self.split_marks(text, chunk, chunks[number + 1 :])]
        return segmented_text(text, spans, "given" if spans == chunks else "punctuation split")

    def without_spaces(self, text: str, start: int, stop: int) -> list[tuple[int, int]]:
        """The spans of the words of a chunk of Chinese text, segmented as the training words were."""
        chunk = text[start:stop]
        pieces = [(piece.start(), piece.end()) for piece in PIECE.finditer(chunk)]
        if self.splits_characters:
            pieces = [(position, position + 1) for a, b in pieces for position in range(a, b)]
        if self.chinese == "words":
            pieces = sorted([*(piece for piece in pieces if not HAN_RUN.fullmatch(chunk[slice(*piece)])), *chinese_word_spans(chunk)])
        return [(start + a, start + b) for a, b in pieces]

    def split_marks(self, text: str, chunk: tuple[int, int], after: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """The spans of a word and of the punctuation at its ends."""
        start, stop = chunk
        before: list[tuple[int, int]] = []
        behind: list[tuple[int, int]] = []
        if opening := OPENING.match(text[start:stop]):
            before = [(position, position + 1) for position in range(start, start + opening.end())]
            start += opening.end()
        next_word = text[slice(*after[0])] if after else ""
        while (closing := CLOSING.search(text[start:stop])) or is_full_stop(text[start:stop], "" if behind else next_word):
            length = len(closing[0]) if closing else 1
            behind.append((stop - length, stop))
            stop -= length
        if self.splits_clitics and (clitic := CLITIC.search(text[start:stop])):
            behind.append((start + clitic.start(), stop))
            stop = start + clitic.start()
        return [*before, (start, stop), *reversed(behind)]


def segmented_text(text: str, spans: list[tuple[int, int]], source: str) -> SegmentedText:
    return SegmentedText([text[start:stop] for start, stop in spans], spans, source)


def is_unsegmented(text: str, chunks: Sequence[tuple[int, int]]) -> bool:
    """Whether the text holds Chinese without spaces between words: one chunk, runs longer than a word, or sentences."""
    runs = [len(run) for start, stop in chunks for run in HAN_RUN.findall(text[start:stop])]
    if not runs:
        return False
    return len(chunks) == 1 or max(runs) > MAX_WORD_CHARACTERS or (SENTENCE_MARK.search(text) is not None and sum(runs) > 3 * len(runs))


def is_full_stop(word: str, after: str) -> bool:
    """Whether the stop at the end of a word ends a sentence; `after` is the next word, empty if a quote or the text ends there."""
    if not word.endswith(".") or len(word) < 2 or has_han(word):
        return False
    if not after:
        return "." not in word[:-1]
    return after.lstrip("\"'(“‘")[:1].isupper() and word[:-1].isalpha() and len(word) > 4
