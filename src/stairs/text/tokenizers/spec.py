"""What a tokenizer is asked to be, and the parts of the `tokenizers` library each kind is made of.

words       whitespace dropped, punctuation apart; a word is a token
characters  every code point is a token, spaces too
bpe         merges of characters inside words, the last one marked "</w>"         (Sennrich 2016)
byte-bpe    merges of bytes; any text comes back exactly                          (Radford 2019)
wordpiece   longest piece first, the later ones marked "##"                       (Schuster 2012, Devlin 2018)
unigram     the most probable cut under a unigram model of pieces, spaces as "▁"  (Kudo 2018)
"""

from dataclasses import dataclass
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from stairs.errors import BadInput, preview

KINDS = ("words", "characters", "bpe", "byte-bpe", "wordpiece", "unigram")
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNKNOWN, BEGIN, END, MASK = range(5)
SPLIT_BY_WORDS = ("words", "bpe", "wordpiece")  # the kinds that cut at spaces and punctuation first
DEFAULT_SUBWORDS = 8192
MIN_VOCAB_SIZE = {"words": 6, "characters": 6, "bpe": 16, "byte-bpe": 5 + 256, "wordpiece": 16, "unigram": 128}
MAX_VOCAB_SIZE = 1 << 24


@dataclass(frozen=True)
class TokenizerSpec:
    kind: str = "words"
    vocab_size: int | None = None  # the special tokens counted; None: all words or characters, or 8192 subwords
    min_count: int = 1  # words and characters seen less often are unknown; so are pairs not merged
    chinese: str | None = None  # Chinese by "characters" or by jieba's "words"; None: words for kind words, else characters
    lowercase: bool = False
    split: str = "punctuation"  # words apart from punctuation, or at "spaces" alone, for text that another tool has cut

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInput(f"no tokenizer is called {preview(self.kind)}; choose {', '.join(KINDS)}")
        if self.vocab_size is None and self.kind not in ("words", "characters"):
            object.__setattr__(self, "vocab_size", DEFAULT_SUBWORDS)
        if self.chinese is None:
            object.__setattr__(self, "chinese", "words" if self.kind == "words" else "characters")
        smallest = MIN_VOCAB_SIZE[self.kind]
        if self.vocab_size is not None and not (is_integer(self.vocab_size) and smallest <= self.vocab_size <= MAX_VOCAB_SIZE):
            raise BadInput(f"a vocabulary of {preview(self.vocab_size)} does not fit {self.kind}; give {smallest} to {MAX_VOCAB_SIZE}")
        if not (is_integer(self.min_count) and 1 <= self.min_count <= 1 << 31):
            raise BadInput(f"min_count {preview(self.min_count)} is not a count; give 1 or more")
        if self.chinese not in ("characters", "words"):
            raise BadInput(f"Chinese by {preview(self.chinese)} is unknown; choose characters or words")
        if self.chinese == "words" and self.kind not in SPLIT_BY_WORDS:
            raise BadInput(f"{self.kind} keeps spaces as they are and can not mark Chinese words; use words, bpe or wordpiece")
        if self.split not in ("punctuation", "spaces") or (self.split == "spaces" and (self.kind, self.chinese) != ("words", "characters")):
            raise BadInput(f"{self.kind} split at {preview(self.split)} is unknown; only words without jieba can be split at spaces alone")
        if not isinstance(self.lowercase, bool):
            raise BadInput(f"lowercase {preview(self.lowercase)} is neither true nor false")


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def empty_model(kind: str) -> Any:
    """The library's model of a kind, without a vocabulary."""
    if kind in ("words", "characters"):
        return models.WordLevel({}, unk_token=SPECIAL_TOKENS[UNKNOWN])
    if kind == "bpe":
        return models.BPE(unk_token=SPECIAL_TOKENS[UNKNOWN], end_of_word_suffix="</w>")
    if kind == "byte-bpe":
        return models.BPE()
    if kind == "wordpiece":
        return models.WordPiece({}, unk_token=SPECIAL_TOKENS[UNKNOWN], continuing_subword_prefix="##", max_input_chars_per_word=100)
    return models.Unigram()


def assemble_backend(spec: TokenizerSpec, model: Any) -> Tokenizer:
    """A library tokenizer of this kind around a model; special tokens written in a text are ordinary text to it."""
    library = Tokenizer(model)
    if spec.split == "spaces":
        library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    elif spec.kind in SPLIT_BY_WORDS:
        library.normalizer = normalizers.BertNormalizer(
            clean_text=False, handle_chinese_chars=spec.chinese == "characters", strip_accents=False, lowercase=spec.lowercase
        )
        library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        if spec.lowercase:
            library.normalizer = normalizers.Lowercase()
        library.pre_tokenizer = {
            "characters": lambda: pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated"),
            "byte-bpe": lambda: pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False),
            "unigram": lambda: pre_tokenizers.Metaspace(),
        }[spec.kind]()
    decoder = {
        "characters": decoders.Fuse,
        "bpe": decoders.BPEDecoder,
        "byte-bpe": decoders.ByteLevel,
        "wordpiece": decoders.WordPiece,
        "unigram": decoders.Metaspace,
    }.get(spec.kind)
    if decoder is not None:
        library.decoder = decoder()
    if library.get_vocab_size(with_added_tokens=False) >= len(SPECIAL_TOKENS):
        library.add_special_tokens(list(SPECIAL_TOKENS))
    library.encode_special_tokens = True
    return library
