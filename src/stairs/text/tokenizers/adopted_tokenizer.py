"""A tokenizer that another tool made: BERT's word pieces or the byte-level BPE of GPT-2 and RoBERTa, with special tokens of its own names and ids.

Read from tokenizer.json, or from vocab.txt, or from vocab.json and merges.txt, with the roles of the special tokens in tokenizer_config.json and
special_tokens_map.json. As for our own, only the learnt part and a few switches are taken from a file; the rest is built here, so that a crafted file
can bring in no regular expression. It is saved as any other tool expects it.
"""

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers

from stairs.errors import BadInput, Unsupported, preview
from stairs.files import write_atomically, write_json
from stairs.text.tokenizers import spec as files
from stairs.text.tokenizers.spec import CONFIG_FILE, MAX_VOCAB_SIZE, TOKENIZER_FILE, TokenizerSpec
from stairs.text.tokenizers.tokenizer import Tokenizer

FORMAT = 1
# The token of a role: the first of these keys in tokenizer_config.json, or else the first of these tokens in the vocabulary.
ROLES = {
    "pad": (("pad_token",), ("[PAD]", "<pad>")),
    "unknown": (("unk_token",), ("[UNK]", "<unk>")),
    "begin": (("cls_token", "bos_token"), ("[CLS]", "<s>")),
    "end": (("sep_token", "eos_token"), ("[SEP]", "</s>", "<|endoftext|>")),
    "mask": (("mask_token",), ("[MASK]", "<mask>")),
}
SWITCHES = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")  # of BERT's normalizer
FILLER = "<unused {}>"  # the name of a row of the weights without a token


class AdoptedTokenizer(Tokenizer):
    """Text to ids and back as the other tool does it. A role without a token takes the end token, as in GPT-2."""

    def __init__(self, spec: TokenizerSpec, backend: tokenizers.Tokenizer, role_ids: dict[str, int], adds_begin: bool = True) -> None:
        super().__init__(spec, backend)
        self.adds_begin = adds_begin
        self.special_ids = frozenset(number for number, token in backend.get_added_tokens_decoder().items() if token.special)
        self.pad, self.unknown, self.begin, self.end, self.mask = (role_ids[name] for name in ROLES)

    @classmethod
    def read(cls, folder: str | Path) -> "AdoptedTokenizer":
        """The tokenizer of a folder, whatever tool wrote it."""
        folder = Path(folder)
        path, content = read_content(folder)
        try:
            spec, backend = build(content, path)
            return cls(spec, backend, find_role_ids(folder, backend, path), spec.kind == "wordpiece" or adds_begin_token(folder, content))
        except BadInput:
            raise
        except BaseException as error:  # the library's panics are not Exceptions
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            raise files.damage_error(path, preview(str(error), 80)) from None

    def save(self, folder: str | Path) -> None:
        """Write tokenizer.json and tokenizer_config.json."""
        write_atomically(Path(folder) / TOKENIZER_FILE, self.backend.to_str().encode())
        names = {keys[0]: self.token(getattr(self, role)) for role, (keys, _) in ROLES.items()}
        ours = {"stairs": {"adopted": FORMAT, "adds_begin": self.adds_begin}}
        write_json(Path(folder) / CONFIG_FILE, {**names, **ours})

    def pad_vocabulary(self, size: int) -> "AdoptedTokenizer":
        """The tokenizer with a name for every row of weights that have more rows than it has tokens."""
        missing = range(self.vocab_size, size)
        self.backend.add_special_tokens([FILLER.format(number) for number in missing])
        return AdoptedTokenizer(self.spec, self.backend, {role: getattr(self, role) for role in ROLES}, self.adds_begin)

    @functools.cached_property
    def hash(self) -> str:
        content = {**json.loads(self.backend.to_str()), "roles": [getattr(self, role) for role in ROLES]}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_content(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The file of the vocabulary, and its content in the form of tokenizer.json."""
    path = folder / TOKENIZER_FILE
    if path.is_file():
        return path, files.read_json(path)
    settings = files.read_json(folder / CONFIG_FILE) if (folder / CONFIG_FILE).is_file() else {}
    if (folder / "vocab.txt").is_file():
        lowercase = settings.get("do_lower_case", True)
        switches = (True, settings.get("tokenize_chinese_chars", True), settings.get("strip_accents"), lowercase)
        normalizer = {"type": "BertNormalizer", **dict(zip(SWITCHES, switches, strict=True))}
        model = {"type": "WordPiece", "vocab": read_vocabulary_lines(folder / "vocab.txt")}
        return folder / "vocab.txt", {"model": model, "normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"}}
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        merges = [line for line in read_text(folder / "merges.txt").splitlines() if line and not line.startswith("#version")]
        model = {"type": "BPE", "vocab": files.read_json(folder / "vocab.json"), "merges": merges}
        prefix = settings.get("add_prefix_space", False)
        return folder / "vocab.json", {"model": model, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": prefix}}
    for name in ("spiece.model", "sentencepiece.bpe.model"):
        if (folder / name).is_file():
            advice = "give a folder with word pieces or byte-level BPE, or train on its pieces with --tokenizer FILE.model"
            raise Unsupported(f"{folder / name} is a SentencePiece tokenizer, whose model cannot be adopted; {advice}")
    raise BadInput(f"{folder} has no {TOKENIZER_FILE}, vocab.txt, or vocab.json and merges.txt; give a folder with its tokenizer")


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise files.damage_error(path, f"byte {error.start} is not UTF-8") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}; check its permissions") from None


def read_vocabulary_lines(path: Path) -> dict[str, int]:
    """A vocabulary with a token on each line."""
    vocabulary: dict[str, int] = {}
    for number, line in enumerate(read_text(path).removesuffix("\n").split("\n")):
        token = line.removesuffix("\r")
        if not token or "\0" in token or token in vocabulary:
            fault = "empty" if not token else f"{preview(token)}, which holds a NUL" if "\0" in token else f"{preview(token)} for the second time"
            raise BadInput(f"{path}:{number + 1}: the line is {fault} where a token should be; restore the file")
        vocabulary[token] = number
    return vocabulary


def build(content: dict[str, Any], path: Path) -> tuple[TokenizerSpec, tokenizers.Tokenizer]:
    """The settings and the backend."""
    model, before = content.get("model"), content.get("pre_tokenizer")
    if not isinstance(model, dict):
        raise files.damage_error(path, "it has no model")
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict) or not 0 < len(vocabulary) <= MAX_VOCAB_SIZE:
        raise files.damage_error(path, "it has no vocabulary")
    files.check_encodable(vocabulary, path)
    kind = "wordpiece" if model.get("type") == "WordPiece" else "byte-bpe"
    before_type = before.get("type") if isinstance(before, dict) else before
    if (model.get("type"), before_type) not in (("WordPiece", "BertPreTokenizer"), ("BPE", "ByteLevel")):
        raise Unsupported(
            f"{path} splits text with {preview(before_type)} and {preview(model.get('type'))}; only BertPreTokenizer with WordPiece, as in BERT, "
            "and ByteLevel with BPE, as in GPT-2, can be adopted"
        )
    if kind == "wordpiece":
        backend, lowercase = build_wordpiece(model, vocabulary, content.get("normalizer"), path)
    else:
        backend, lowercase = build_byte_bpe(model, vocabulary, before or {}, content.get("normalizer"), path), False
    backend.encode_special_tokens = True
    add_tokens(backend, content.get("added_tokens") or [], path)
    if sorted(backend.get_vocab(with_added_tokens=True).values()) != list(range(backend.get_vocab_size(with_added_tokens=True))):
        raise files.damage_error(path, "the ids are not 0, 1, 2 and so on")
    return TokenizerSpec(kind, vocab_size=None, chinese="characters", lowercase=lowercase), backend


def build_wordpiece(model: dict[str, Any], vocabulary: dict[str, int], normalizer: object, path: Path) -> tuple[tokenizers.Tokenizer, bool]:
    prefix, unknown = model.get("continuing_subword_prefix", "##"), model.get("unk_token", "[UNK]")
    if prefix != "##" or unknown not in vocabulary:
        raise files.damage_error(path, f"its continuation prefix is {preview(prefix)}, not ##, or its unknown token {preview(unknown)} is missing")
    limit = model.get("max_input_chars_per_word", 100)
    backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=unknown, continuing_subword_prefix=prefix, max_input_chars_per_word=limit))
    if normalizer is not None and (not isinstance(normalizer, dict) or normalizer.get("type") != "BertNormalizer"):
        kind = preview(normalizer.get("type") if isinstance(normalizer, dict) else normalizer)
        raise Unsupported(f"{path} normalizes text with {kind}; only BERT's own normalizer can be adopted with word pieces")
    switches = {name: normalizer.get(name) for name in SWITCHES} if normalizer else {}
    if any(value not in (True, False, None) for value in switches.values()):
        raise files.damage_error(path, f"its normalizer has {preview(switches, 120)}")
    if normalizer:
        strip = switches.pop("strip_accents")
        backend.normalizer = normalizers.BertNormalizer(strip_accents=strip, **{name: bool(value) for name, value in switches.items()})
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return backend, bool(switches.get("lowercase"))


def build_byte_bpe(model: dict[str, Any], vocabulary: dict[str, int], before: dict[str, Any], normalizer: object, path: Path) -> tokenizers.Tokenizer:
    if normalizer is not None or not before.get("use_regex", True) or model.get("ignore_merges"):
        raise Unsupported(f"{path} is not a tokenizer like GPT-2's: it normalizes text or splits it in another way, and cannot be adopted")
    backend = tokenizers.Tokenizer(models.BPE(vocabulary, files.validate_merges(model.get("merges"), vocabulary, path)))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=bool(before.get("add_prefix_space")), trim_offsets=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def add_tokens(backend: tokenizers.Tokenizer, added: object, path: Path) -> None:
    """Tokens beside the learnt ones; the library numbers them itself, which must give the ids of the file."""
    if not isinstance(added, list) or not all(isinstance(entry, dict) and isinstance(entry.get("content"), str) for entry in added):
        raise files.damage_error(path, "its added tokens are not a list of tokens")
    for entry in sorted(added, key=lambda entry: entry.get("id", 0)):
        flags = {name: bool(entry.get(name, False)) for name in ("single_word", "lstrip", "rstrip", "normalized")}
        token = AddedToken(entry["content"], special=bool(entry.get("special")), **flags)
        (backend.add_special_tokens if entry.get("special") else backend.add_tokens)([token])
        if backend.token_to_id(entry["content"]) != entry.get("id"):
            raise files.damage_error(path, f"the added token {preview(entry['content'])} cannot have the id {preview(entry.get('id'))}")


def adds_begin_token(folder: Path, content: dict[str, Any]) -> bool:
    """Whether the other tool puts a special token before a text; RoBERTa's does, GPT-2's does not."""
    settings = files.read_json(folder / CONFIG_FILE) if (folder / CONFIG_FILE).is_file() else {}
    ours = settings.get("stairs")
    known = ours.get("adds_begin") if isinstance(ours, dict) else settings.get("add_bos_token")
    if isinstance(known, bool):
        return known
    processor = content.get("post_processor") or {}
    model = files.read_json(folder / "config.json") if (folder / "config.json").is_file() else {}
    if any(str(kind).lower().startswith("roberta") for kind in (processor.get("type"), settings.get("tokenizer_class"), model.get("model_type"))):
        return True
    single = processor.get("single")
    return isinstance(single, list) and bool(single) and isinstance(single[0], dict) and "SpecialToken" in single[0]


def find_role_ids(folder: Path, backend: tokenizers.Tokenizer, path: Path) -> dict[str, int]:
    """The id of each role: which begins a text, which ends it, and so on."""
    settings: dict[str, Any] = {}
    for name in ("special_tokens_map.json", CONFIG_FILE):
        if (folder / name).is_file():
            settings |= files.read_json(folder / name)
    ids: dict[str, int | None] = {}
    for role, (keys, defaults) in ROLES.items():
        names = [token.get("content") if isinstance(token, dict) else token for token in map(settings.get, keys)]
        known = [backend.token_to_id(name) for name in (*names, *defaults) if isinstance(name, str)]
        ids[role] = next((number for number in known if number is not None), None)
    end = ids["end"] if ids["end"] is not None else ids["begin"]
    if end is None:
        raise files.damage_error(path, "no token ends a text: there is neither [SEP] nor </s> nor <|endoftext|>")
    role_ids = {role: end if number is None else number for role, number in ids.items()}
    backend.add_special_tokens([backend.id_to_token(number) for number in set(role_ids.values())])  # so that no text is ever encoded as one
    return role_ids
