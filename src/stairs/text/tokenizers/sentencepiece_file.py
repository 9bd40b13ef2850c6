"""SentencePiece's `.model` files, read and written: a protobuf message with the pieces and how text is normalized before it is cut into them.

Kudo & Richardson 2018, "SentencePiece: A simple and language independent subword tokenizer and detokenizer for Neural Text Processing".

    ModelProto      1 pieces (repeated)   2 trainer_spec   3 normalizer_spec   5 denormalizer_spec
    SentencePiece   1 piece   2 score (float)   3 type (NORMAL if not given)
    TrainerSpec     3 model_type   4 vocab_size   24 treat_whitespace_as_suffix   35 byte_fallback
                    40 to 43 ids of unknown, begin, end and padding   45 to 48 their names
    NormalizerSpec  1 name   2 precompiled_charsmap   3 add_dummy_prefix   4 remove_extra_whitespaces   5 escape_whitespaces

A message is a row of fields, each a tag (number << 3 | wire type) and a value: a varint, 4 or 8 bytes, or a length and so many bytes. Fields that
decide no id (how the pieces were trained) are read over.
"""

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from stairs.errors import BadInput, EnvironmentFault, Unsupported, preview
from stairs.text.tokenizers.spec import MAX_FILE_SIZE, MAX_VOCAB_SIZE, check_encodable

NORMAL, UNKNOWN_TYPE, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # types of pieces
KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5  # wire types
ROLE_NAMES = {"unknown": 45, "begin": 46, "end": 47, "pad": 48}  # fields of the trainer_spec
DEFAULT_NAMES = {"unknown": "<unk>", "begin": "<s>", "end": "</s>", "pad": "<pad>"}
BYTE_NAME = re.compile("<0x[0-9A-F]{2}>")
Value = int | bytes
Fields = dict[int, list[Value]]


class Piece(NamedTuple):
    text: str
    score: float
    type: int


@dataclass(frozen=True)
class SentencePieceModel:
    """What decides the ids of a text. `roles` are the names of the special pieces; a name that no piece has is not used."""

    pieces: tuple[Piece, ...]
    kind: str = "unigram"
    charsmap: bytes = b""  # the normalization table; empty: none
    normalization: str = "identity"
    adds_dummy_prefix: bool = True
    removes_extra_spaces: bool = True
    byte_fallback: bool = False
    role_names: tuple[tuple[str, str], ...] = tuple(DEFAULT_NAMES.items())

    @classmethod
    def read(cls, path: str | Path) -> "SentencePieceModel":
        try:
            if Path(path).stat().st_size > MAX_FILE_SIZE:
                raise refusal(path, f"it is larger than {MAX_FILE_SIZE} bytes")
            raw = Path(path).read_bytes()
        except FileNotFoundError:
            raise BadInput(f"{path} does not exist; give a .model file that SentencePiece wrote") from None
        except OSError as error:
            raise EnvironmentFault(f"{path} cannot be read: {error.strerror}; check its permissions") from None
        try:
            return cls.from_bytes(raw, path)
        except (BadInput, Unsupported):
            raise
        except (ValueError, struct.error) as error:  # UnicodeDecodeError is a ValueError
            raise refusal(path, str(error)) from None

    @classmethod
    def from_bytes(cls, raw: bytes, path: str | Path = "the file") -> "SentencePieceModel":
        model = read_fields(raw)
        trainer, normalizer, back = (read_fields(last_bytes(model, number)) for number in (2, 3, 5))
        pieces = tuple(read_piece(read_fields(as_bytes(value))) for value in model.get(1, []))
        kind = KINDS.get(last_int(trainer, 3, 1), "unknown")
        if not pieces or 2 not in model:
            raise ValueError("it holds no pieces and no trainer_spec")
        if kind not in ("unigram", "bpe"):
            raise Unsupported(f"{path} is a SentencePiece model of the type {kind}; only unigram and bpe can be read, so train it as one of them")
        if last_int(trainer, 24, 0) or not last_int(normalizer, 5, 1) or last_bytes(back, 2):
            raise Unsupported(f"{path} marks words at their end, keeps spaces, or denormalizes text; train it with SentencePiece's usual settings")
        names = tuple((role, last_bytes(trainer, number).decode() or DEFAULT_NAMES[role]) for role, number in ROLE_NAMES.items())
        check_pieces(pieces, path)
        return cls(
            pieces, kind, last_bytes(normalizer, 2), last_bytes(normalizer, 1).decode(), bool(last_int(normalizer, 3, 1)),
            bool(last_int(normalizer, 4, 1)), bool(last_int(trainer, 35, 0)), names,
        )  # fmt: skip

    def to_bytes(self) -> bytes:
        """The file; SentencePiece reads the same pieces, types and normalization from it."""
        pieces = b"".join(field(1, field(1, text.encode()) + field(2, score) + field(3, kind)) for text, score, kind in self.pieces)
        ids = {text: number for number, (text, _, _) in enumerate(self.pieces)}
        role_ids = [ids.get(name, -1) for _, name in self.role_names]
        trainer = field(3, 1 + ["unigram", "bpe"].index(self.kind)) + field(4, len(self.pieces)) + field(35, int(self.byte_fallback))
        trainer += b"".join(field(number, identity & (1 << 64) - 1) for number, identity in zip(range(40, 44), role_ids, strict=True))
        trainer += b"".join(field(ROLE_NAMES[role], name.encode()) for role, name in self.role_names)
        normalizer = field(1, self.normalization.encode()) + field(2, self.charsmap)
        normalizer += field(3, int(self.adds_dummy_prefix)) + field(4, int(self.removes_extra_spaces)) + field(5, 1)
        return pieces + field(2, trainer) + field(3, normalizer)


def check_pieces(pieces: tuple[Piece, ...], path: str | Path) -> None:
    texts = [piece.text for piece in pieces]
    if len(set(texts)) < len(texts) or "" in texts or len(texts) > MAX_VOCAB_SIZE:
        raise ValueError("a piece is empty or listed twice, or there are too many")
    if not all(math.isfinite(piece.score) for piece in pieces) or [piece.type for piece in pieces].count(UNKNOWN_TYPE) != 1:
        raise ValueError("a score is no number, or there is not exactly one unknown piece")
    check_encodable(texts, Path(path))
    if not all(BYTE_NAME.fullmatch(piece.text) for piece in pieces if piece.type == BYTE):
        raise ValueError("a piece of the type BYTE is not named like <0x0A>")
    in_text = {piece.text for piece in pieces if piece.type in (NORMAL, USER_DEFINED)}
    crossing = next((text for text in in_text if "▁" in text[1:]), None)
    if crossing is not None:
        raise Unsupported(f"{path} has the piece {preview(crossing)}, which crosses a space; train it with split_by_whitespace")


def read_piece(fields: Fields) -> Piece:
    score = last_bytes(fields, 2) or b"\0\0\0\0"
    kind = last_int(fields, 3, NORMAL)
    if not NORMAL <= kind <= BYTE:
        raise ValueError(f"a piece has the type {kind}, which is unknown")
    return Piece(last_bytes(fields, 1).decode(), struct.unpack("<f", score)[0], kind)


def read_fields(raw: bytes) -> Fields:
    """The values of each field, by its number."""
    fields: Fields = {}
    for number, value in walk_fields(raw):
        fields.setdefault(number, []).append(value)
    return fields


def walk_fields(raw: bytes) -> Iterator[tuple[int, Value]]:
    at = 0
    while at < len(raw):
        tag, at = read_varint(raw, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = read_varint(raw, at)
            yield number, value
            continue
        size = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(wire)
        if wire == LENGTH:
            size, at = read_varint(raw, at)
        if size is None or number == 0:
            raise ValueError(f"byte {at} begins no field of a protobuf message")
        if at + size > len(raw):
            raise ValueError(f"it ends in the middle of a field that begins at byte {at}")
        yield number, raw[at : at + size]
        at += size


def read_varint(raw: bytes, at: int) -> tuple[int, int]:
    """The number that starts at a byte, seven bits in each byte, lowest first; and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(raw):
            raise ValueError("it ends in the middle of a number")
        number |= (raw[at] & 127) << shift
        at += 1
        if raw[at - 1] < 128:
            return number, at
    raise ValueError(f"byte {at} is in the middle of a number that is too long")


def last_int(fields: Fields, number: int, default: int) -> int:
    value = fields.get(number, [default])[-1]
    if not isinstance(value, int):
        raise ValueError(f"field {number} should be a number")
    return value


def last_bytes(fields: Fields, number: int) -> bytes:
    return as_bytes(fields.get(number, [b""])[-1])


def as_bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number stands where text should be")
    return value


def field(number: int, value: int | float | bytes) -> bytes:
    """A field with its tag."""
    if isinstance(value, bytes):
        return varint(number << 3 | LENGTH) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | FOUR_BYTES) + struct.pack("<f", value)
    return varint(number << 3 | VARINT) + varint(value)


def varint(number: int) -> bytes:
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def refusal(path: str | Path, fault: str) -> BadInput:
    return BadInput(f"{path} is not a SentencePiece model: {fault[:100]}; give a .model file that SentencePiece wrote")
