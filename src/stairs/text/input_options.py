"""How text is opened and tokenized, as options: the flags of the commands and the keywords of `stairs.train` are these fields, and their help the
comments behind them. It imports nothing heavy, so that `--help` answers at once."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stairs.data import CorpusLike
from stairs.errors import BadInput

if TYPE_CHECKING:
    from stairs.text.tokenizers.tokenizer import TokenizerSpec

TokenizerKind = Literal["words", "characters", "bpe", "byte-bpe", "wordpiece", "unigram"]
UNPACKED_BYTES = 3.5  # bytes of text in a byte of a compressed file
MAX_VOCABULARY = 1 << 24
EMBEDDED = ("python",)  # the name of the corpus that every machine has: the prose of its Python installation


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    encoding: str | None = None  # encoding of the text files; detected if not given
    column: str | None = None  # column that holds the text, in jsonl, csv, tsv and parquet; guessed if not given
    max_bytes: int | None = None  # refuse a compressed file that unpacks to more; no limit if not given
    skip_unreadable: bool = False  # skip files of a folder that cannot be read, instead of stopping

    def open(self, paths: Sequence[str]) -> CorpusLike:
        """The corpus of these files and folders."""
        if self.max_bytes is not None and self.max_bytes < 1:
            raise BadInput(f"--max-bytes {self.max_bytes} is below 1")
        if is_embedded(paths):
            from stairs.text.embedded.python_prose import PythonProse

            return PythonProse()
        from stairs.text.corpus.corpus import Corpus

        return Corpus(list(paths), encoding=self.encoding, column=self.column, max_bytes=self.max_bytes, skip_unreadable=self.skip_unreadable)


@dataclass(frozen=True, kw_only=True)
class TokenizerOptions:
    tokenizer: TokenizerKind | None = None  # kind of tokens; if not given, the model's own, such as words for ngram and wordpiece for bert
    vocab_size: int | None = None  # maximum vocabulary size; if not given, all words, or 8192 subwords
    min_count: int | None = None  # rarer words are unknown; if not given, 5 for word vectors and 1 for other models
    chinese: Literal["characters", "words"] | None = None  # split Chinese into characters or into jieba's words; if not given, words for words only
    lowercase: bool = False  # lowercase the text first

    def spec(self, kind: str, min_count: int = 1) -> "TokenizerSpec":
        """The tokenizer to train; `kind` and `min_count` are the model's own."""
        from stairs.text.tokenizers.tokenizer import TokenizerSpec

        if self.vocab_size is not None and not 6 <= self.vocab_size <= MAX_VOCABULARY:
            raise BadInput(f"--vocab-size {self.vocab_size} is not between 6 and {MAX_VOCABULARY}; 8192 to 32768 are usual")
        if self.min_count is not None and self.min_count < 1:
            raise BadInput(f"--min-count {self.min_count} is below 1; 1 keeps every word")
        found = TokenizerSpec(
            kind=self.tokenizer or kind, vocab_size=self.vocab_size, min_count=self.min_count or min_count, lowercase=self.lowercase
        )
        return found if self.chinese is None else replace(found, chinese=self.chinese)

    def spec_for_pairs(self, kind: str, are_number_names: bool) -> "TokenizerSpec":
        """The tokenizer of both languages of a translation: subwords, but number names, which have few words, as words and Chinese characters."""
        found = self.spec(kind)
        is_small = are_number_names and self.tokenizer is None
        return replace(found, kind="words", vocab_size=self.vocab_size, chinese="characters") if is_small else found


def is_embedded(paths: Sequence[str]) -> bool:
    """Whether the prose of the Python installation is meant, and not a file of that name."""
    return tuple(paths) == EMBEDDED and not Path(EMBEDDED[0]).exists()


def text_bytes(corpus: CorpusLike) -> float:
    """Bytes of text, about: a compressed file holds several times its size."""
    sources = getattr(corpus, "sources", None)
    return corpus.size if sources is None else sum(source.size * (UNPACKED_BYTES if source.compression else 1) for source in sources)


def refuse_inside(out: Path, corpus: Sequence[str]) -> None:
    """An output within its own input would be read the next time."""
    for path in filter(os.path.exists, corpus):
        if os.path.isdir(path) and out.resolve().is_relative_to(Path(path).resolve()):
            raise BadInput(f"--out {out} lies inside the corpus {path}; choose a folder elsewhere")
        if out.resolve() == Path(path).resolve():
            raise BadInput(f"--out {out} is the corpus itself; choose another folder")
