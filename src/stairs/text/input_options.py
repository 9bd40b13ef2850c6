"""How text is opened and tokenized, as options: the flags of the commands and the keywords of `stairs.train` are these fields, and their help the
comments behind them. It imports nothing heavy, so that `--help` answers at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stairs.data import CorpusLike
from stairs.errors import BadInput

if TYPE_CHECKING:
    from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

Column = str | int  # a name, or a number from 1
TokenizerKind = Literal["words", "characters", "bpe", "byte-bpe", "wordpiece", "unigram"]
UNPACKED_BYTES = 3.5  # bytes of text in a byte of a compressed file
EMBEDDED = ("python",)  # the name of the corpus that every machine has: the prose of its Python installation


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    encoding: str | None = None  # encoding of the text files; detected if not given
    text: str | None = None  # column that holds the text, in jsonl, csv, tsv, xlsx and parquet, by name or number; guessed if not given
    max_bytes: int | None = None  # refuse a compressed file that unpacks to more; no limit if not given
    skip_unreadable: bool = False  # skip files of a folder that cannot be read, instead of stopping


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    text: str | None = None  # column of the text, or of the first text, by name or number; guessed if not given
    label: str | None = None  # column of the label, the tag or the score; guessed if not given
    second_column: str | None = None  # column of the second text of a pair, of the translation, or of the choices; guessed if not given
    id: str | None = None  # column that is neither text nor label; of tagged words, the number of the sentence; guessed if not given

    def columns(self) -> dict[str, str] | None:
        """Those that are named, as `text.labelled` takes them."""
        return columns_of(text=self.text, label=self.label, second_column=self.second_column, id=self.id)


def as_name(column: Column | None) -> str | None:
    return None if column is None else str(column)


def columns_of(**named: Column | None) -> dict[str, str] | None:
    """The columns that are named, by the names that verbs and flags have for them; None if there are none."""
    return {name: str(column) for name, column in named.items() if column is not None} or None


@dataclass(frozen=True, kw_only=True)
class TokenizerOptions:
    tokenizer: TokenizerKind | str | None = None  # kind of tokens, or a SentencePiece file that ends in .model; if not given, the model's own
    vocab_size: int | None = None  # maximum vocabulary size; if not given, all words, or 8192 subwords
    min_count: int | None = None  # rarer words are unknown; if not given, 5 for word vectors and 1 for other models
    chinese: Literal["characters", "words"] | None = None  # split Chinese into characters or into jieba's words; if not given, words for words only
    lowercase: bool = False  # lowercase the text first

    @property
    def file(self) -> str | None:
        """The SentencePiece model that was given."""
        return self.tokenizer if self.tokenizer is not None and self.tokenizer.endswith(".model") else None

    def read_file(self) -> "Tokenizer | None":
        """The tokenizer of that file."""
        if self.file is None:
            return None
        from stairs.text.tokenizers.sentencepiece_tokenizer import SentencePieceTokenizer

        return SentencePieceTokenizer.read(self.file)

    def spec(self, kind: str, min_count: int = 1) -> "TokenizerSpec":
        """The tokenizer to train; `kind` and `min_count` are the model's own."""
        from stairs.text.tokenizers.tokenizer import TokenizerSpec

        if self.file is not None:
            if self != TokenizerOptions(tokenizer=self.tokenizer):
                raise BadInput(f"{self.file} is trained already; leave out --vocab-size, --min-count, --chinese and --lowercase")
            return TokenizerSpec("unigram")  # how it marks spaces
        count = min_count if self.min_count is None else self.min_count
        return TokenizerSpec(self.tokenizer or kind, self.vocab_size, count, self.chinese, self.lowercase)

    def spec_for_pairs(self, kind: str, *, are_number_names: bool, have_chinese: bool) -> "TokenizerSpec":
        """The tokenizer of both languages of a translation: subwords, of whole characters if one of the languages is Chinese, which bytes would cut;
        number names have few words, and are words and Chinese characters."""
        found = self.spec(kind)
        if self.tokenizer is not None:
            return found
        if are_number_names:
            return replace(found, kind="words", vocab_size=self.vocab_size, chinese="characters")
        return replace(found, kind="bpe") if have_chinese and kind == "byte-bpe" else found


def is_embedded(paths: Sequence[str]) -> bool:
    """Whether the prose of the Python installation is meant, and not a file of that name."""
    return tuple(paths) == EMBEDDED and not Path(EMBEDDED[0]).exists()


def text_bytes(corpus: CorpusLike) -> float:
    """Bytes of text, about: a compressed file holds several times its size."""
    sources = getattr(corpus, "sources", None)
    return corpus.size if sources is None else sum(source.size * (UNPACKED_BYTES if source.compression else 1) for source in sources)
