"""What a tokenizer is asked to be, the backend it is made of (parts of the `tokenizers` library), and its files.

words       whitespace dropped, punctuation apart; a word is a token
characters  every code point is a token, spaces too
bpe         merges of characters inside words, the last one marked "</w>"         (Sennrich 2016)
byte-bpe    merges of bytes; any text comes back exactly                          (Radford 2019)
wordpiece   longest piece first, the later ones marked "##"                       (Schuster 2012, Devlin 2018)
unigram     the most probable cut under a unigram model of pieces, spaces as "▁"  (Kudo 2018)

tokenizer.json and tokenizer_config.json are written for every tool that reads them, and read back with suspicion. Only the learnt part (vocabulary,
merges, scores) is taken from a file; the rest, patterns included, is built from the settings, so that a crafted file can bring in no regular
expression. What is taken is validated first, because the library panics on some of it.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

from stairs.errors import BadInput, EnvironmentFault, preview
from stairs.progress import say
from stairs.text.chinese import segmenter_name
from stairs.text.special import SPECIAL_TOKENS, UNKNOWN

KINDS = ("words", "characters", "bpe", "byte-bpe", "wordpiece", "unigram")
SPLIT_BY_WORDS = ("words", "bpe", "wordpiece")  # the kinds that cut at spaces and punctuation first
DEFAULT_SUBWORDS = 8192
MIN_VOCAB_SIZE = {"words": 6, "characters": 6, "bpe": 16, "byte-bpe": 5 + 256, "wordpiece": 16, "unigram": 128}
MAX_VOCAB_SIZE = 1 << 24
PRE_TOKENIZERS = {
    "characters": pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated"),
    "byte-bpe": pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False),
    "unigram": pre_tokenizers.Metaspace(),
}
DECODERS = {
    "characters": decoders.Fuse(), "bpe": decoders.BPEDecoder(), "byte-bpe": decoders.ByteLevel(), "wordpiece": decoders.WordPiece(),
    "unigram": decoders.Metaspace(),
}  # fmt: skip
FORMAT = 1
TOKENIZER_FILE, CONFIG_FILE, WORDS_FILE = "tokenizer.json", "tokenizer_config.json", "words.safetensors"
SENTENCEPIECE_FILE = "sentencepiece.model"
SPECIAL_TOKEN_KEYS = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
BACKEND_MODELS = {"words": "WordLevel", "characters": "WordLevel", "bpe": "BPE", "byte-bpe": "BPE", "wordpiece": "WordPiece", "unigram": "Unigram"}
MAX_FILE_SIZE = 1 << 30


@dataclass(frozen=True)
class TokenizerSpec:
    kind: str = "words"
    vocab_size: int | None = None  # with the special tokens; if not given, all words or characters, or 8192 subwords
    min_count: int = 1  # rarer words and characters are unknown, rarer pairs are not merged
    chinese: str | None = None  # segment Chinese into "characters" or jieba's "words"; if not given, words for the kind words, else characters
    lowercase: bool = False  # lower-case all text
    split: str = "punctuation"  # split words at spaces and "punctuation", or at "spaces" alone, for text that is tokenized already

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInput(f"no --tokenizer is called {preview(self.kind)}; choose {', '.join(map(repr, KINDS))}, or a file that ends in .model")
        if self.vocab_size is None and self.kind not in ("words", "characters"):
            object.__setattr__(self, "vocab_size", DEFAULT_SUBWORDS)
        if self.chinese is None:
            object.__setattr__(self, "chinese", "words" if self.kind == "words" else "characters")
        smallest = MIN_VOCAB_SIZE[self.kind]
        if self.vocab_size is not None and not (type(self.vocab_size) is int and smallest <= self.vocab_size <= MAX_VOCAB_SIZE):
            raise BadInput(f"--vocab-size {preview(self.vocab_size)} is not between {smallest} and {MAX_VOCAB_SIZE} ({self.kind}); 8192 is usual")
        if not (type(self.min_count) is int and 1 <= self.min_count <= 1 << 31):
            raise BadInput(f"--min-count {preview(self.min_count)} is not a count; give 1 or more")
        if self.chinese not in ("characters", "words"):
            raise BadInput(f"Chinese cannot be segmented into {preview(self.chinese)}; choose characters or words")
        if self.chinese == "words" and self.kind not in SPLIT_BY_WORDS:
            raise BadInput(f"{self.kind} keeps spaces as they are and cannot mark Chinese words; use words, bpe or wordpiece")
        if self.split not in ("punctuation", "spaces") or (self.split == "spaces" and (self.kind, self.chinese) != ("words", "characters")):
            raise BadInput(f"{self.kind} cannot be split at {preview(self.split)}; only words without jieba can be split at spaces alone")
        if not isinstance(self.lowercase, bool):
            raise BadInput(f"lowercase {preview(self.lowercase)} is neither true nor false")

    @property
    def settings(self) -> dict[str, object]:
        """The settings under "stairs" in tokenizer_config.json."""
        return {"version": FORMAT, **asdict(self), **({"segmenter": segmenter_name()} if self.chinese == "words" else {})}


def build_model(kind: str, vocabulary: dict[str, int] | None = None, merges: list[tuple[str, str]] | None = None) -> models.Model:
    """The library's model of a kind; without a vocabulary, one to be trained."""
    vocabulary, merges, unknown = vocabulary or {}, merges or [], SPECIAL_TOKENS[UNKNOWN]
    if kind in ("words", "characters"):
        return models.WordLevel(vocabulary, unk_token=unknown)
    if kind == "bpe":
        return models.BPE(vocabulary, merges, unk_token=unknown, end_of_word_suffix="</w>")
    if kind == "byte-bpe":
        return models.BPE(vocabulary, merges)
    if kind == "wordpiece":
        return models.WordPiece(vocabulary, unk_token=unknown, continuing_subword_prefix="##", max_input_chars_per_word=100)
    return models.Unigram()


def assemble_backend(spec: TokenizerSpec, model: models.Model) -> tokenizers.Tokenizer:
    """A tokenizer of the library around a model; special tokens written in a text are ordinary text to it."""
    backend = tokenizers.Tokenizer(model)
    if spec.split == "spaces":
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    elif spec.kind in SPLIT_BY_WORDS:
        backend.normalizer = normalizers.BertNormalizer(
            clean_text=False, handle_chinese_chars=spec.chinese == "characters", strip_accents=False, lowercase=spec.lowercase
        )
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        if spec.lowercase:
            backend.normalizer = normalizers.Lowercase()
        backend.pre_tokenizer = PRE_TOKENIZERS[spec.kind]
    if spec.kind in DECODERS:
        backend.decoder = DECODERS[spec.kind]
    if backend.get_vocab_size(with_added_tokens=False) >= len(SPECIAL_TOKENS):
        backend.add_special_tokens(list(SPECIAL_TOKENS))
    backend.encode_special_tokens = True
    return backend


def read_backend(path: Path, spec: TokenizerSpec) -> tokenizers.Tokenizer:
    model = read_json(path).get("model")
    if not isinstance(model, dict) or model.get("type") != BACKEND_MODELS[spec.kind]:
        kind = preview(model.get("type") if isinstance(model, dict) else model)
        raise damage_error(path, f"its model is {kind} where {spec.kind} needs {BACKEND_MODELS[spec.kind]}")
    try:
        backend = assemble_backend(spec, rebuild_model(spec, model, path))
    except BadInput:
        raise
    except BaseException as error:  # the library's panics are not Exceptions
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise damage_error(path, preview(str(error), 80)) from None
    if [backend.token_to_id(token) for token in SPECIAL_TOKENS] != list(range(len(SPECIAL_TOKENS))):
        raise damage_error(path, f"the special tokens {' '.join(SPECIAL_TOKENS)} do not have the ids 0 to 4")
    return backend


def damage_error(path: Path, what: str) -> BadInput:
    return BadInput(f"{path} is not a usable tokenizer: {what}; train it again or restore the file")


def read_json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_FILE_SIZE:
            raise damage_error(path, f"it is larger than {MAX_FILE_SIZE} bytes")
        content = json.loads(path.read_bytes())
    except BadInput:
        raise
    except FileNotFoundError:
        raise BadInput(f"{path} does not exist; give a folder that holds {TOKENIZER_FILE} and {CONFIG_FILE}") from None
    except (ValueError, RecursionError) as error:
        raise damage_error(path, f"not valid JSON ({preview(str(error), 80)})") from None
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be read: {error.strerror}; check its permissions") from None
    if not isinstance(content, dict):
        raise damage_error(path, "not a JSON object")
    return content


def read_settings(path: Path) -> dict[str, Any]:
    """What is under "stairs" in tokenizer_config.json."""
    settings = read_json(path).get("stairs")
    if not isinstance(settings, dict):
        raise damage_error(path, 'it has no "stairs" settings')
    return settings


def spec_from(stored: dict[str, Any], path: Path) -> TokenizerSpec:
    version = stored.get("version")
    if not isinstance(version, int) or version > FORMAT:
        raise BadInput(f"{path} has format {preview(version)}, and this version reads {FORMAT}; upgrade stairs")
    names = {field.name for field in fields(TokenizerSpec)}
    if stored.get("chinese") == "words" and stored.get("segmenter") != segmenter_name():
        say(f"{path}: Chinese was segmented by {preview(stored.get('segmenter'))}, and here by {segmenter_name()}; a few words may differ")
    try:
        return TokenizerSpec(**{name: value for name, value in stored.items() if name in names})
    except (BadInput, TypeError) as error:
        raise damage_error(path, str(error)) from None


def rebuild_model(spec: TokenizerSpec, model: dict[str, Any], path: Path) -> models.Model:
    """The library's model with the learnt part of the file."""
    if spec.kind == "unigram":
        return models.Unigram(validate_pieces(model.get("vocab"), path), unk_id=UNKNOWN)
    vocabulary = validate_vocabulary(model.get("vocab"), path)
    return build_model(spec.kind, vocabulary, validate_merges(model.get("merges"), vocabulary, path) if "bpe" in spec.kind else [])


def validate_vocabulary(vocabulary: object, path: Path) -> dict[str, int]:
    if not isinstance(vocabulary, dict) or not len(SPECIAL_TOKENS) <= len(vocabulary) <= MAX_VOCAB_SIZE:
        raise damage_error(path, "it has no vocabulary")
    numbers = list(vocabulary.values())
    if not all(type(number) is int for number in numbers) or sorted(numbers) != list(range(len(numbers))):
        raise damage_error(path, "the ids are not 0, 1, 2 and so on")
    check_encodable(vocabulary, path)
    return vocabulary


def validate_pieces(pieces: object, path: Path) -> list[tuple[str, float]]:
    if not isinstance(pieces, list) or not len(SPECIAL_TOKENS) <= len(pieces) <= MAX_VOCAB_SIZE:
        raise damage_error(path, "it has no vocabulary")
    for pair in pieces:
        fits = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], int | float)
        if not fits or not math.isfinite(pair[1]):
            raise damage_error(path, f"{preview(pair)} is not a piece and its score")
    check_encodable([piece for piece, _ in pieces], path)
    if len({piece for piece, _ in pieces}) < len(pieces) or any(not piece for piece, _ in pieces):
        raise damage_error(path, "a piece is empty or listed twice")
    return [(piece, float(score)) for piece, score in pieces]


def validate_merges(merges: object, vocabulary: dict[str, int], path: Path) -> list[tuple[str, str]]:
    if not isinstance(merges, list):
        raise damage_error(path, "it has no merges")
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
            raise damage_error(path, f"{preview(pair)} is not a merge of two tokens")
        if not all(token in vocabulary for token in (*pair, "".join(pair))) or "".join(pair) in SPECIAL_TOKENS:
            raise damage_error(path, f"the merge {preview(pair)} has tokens that are not in the vocabulary")
    return [(first, second) for first, second in pairs]


def check_encodable(tokens: Iterable[str], path: Path) -> None:
    try:
        "".join(tokens).encode()
    except UnicodeEncodeError:
        raise damage_error(path, "a token holds half a surrogate pair") from None
