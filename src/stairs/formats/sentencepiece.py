"""The tokenizer of a run as a SentencePiece `.model` file, for the `sentencepiece` package and tools that read its files, with the ids of the run.

    unigram          the pieces and their scores; [PAD], [CLS], [SEP] and [MASK] are control symbols, [UNK] the unknown piece
    SentencePiece    the pieces in the order of the run's ids, with the normalization they came with

Other kinds are refused: they cut words at punctuation, or spell bytes, which SentencePiece does not.

Departures: a text that begins with a space gets a second "▁" there, and two cuts whose scores are equal to seven digits may be chosen differently,
because SentencePiece adds in single precision.
"""

import json
from pathlib import Path

from stairs.errors import BadInput, Unsupported, preview
from stairs.formats.huggingface.round_trip import test_texts
from stairs.formats.output import open_output
from stairs.text.special import BEGIN, END, PAD, SPECIAL_TOKENS, UNKNOWN
from stairs.text.tokenizers.sentencepiece_file import CONTROL, NORMAL, UNKNOWN_TYPE, Piece, SentencePieceModel
from stairs.text.tokenizers.sentencepiece_tokenizer import SentencePieceTokenizer, renumber
from stairs.text.tokenizers.tokenizer import Tokenizer

ROLES = {"unknown": UNKNOWN, "begin": BEGIN, "end": END, "pad": PAD}


def write(tokenizer: Tokenizer, path: str) -> int:
    """Write the file; returns the number of pieces."""
    model = renumber(tokenizer) if isinstance(tokenizer, SentencePieceTokenizer) else from_unigram(tokenizer)
    with open_output(path) as file:
        file.write(model.to_bytes())
    return len(model.pieces)


def from_unigram(tokenizer: Tokenizer) -> SentencePieceModel:
    if tokenizer.kind != "unigram":
        raise Unsupported(f"a {tokenizer.kind} tokenizer cannot be written as a SentencePiece model; train the run with --tokenizer unigram")
    if tokenizer.spec.lowercase:
        raise Unsupported("this tokenizer lower-cases text, which the SentencePiece file has no table for; train it without --lowercase")
    learnt = [(str(text), float(score)) for text, score in json.loads(tokenizer.backend.to_str())["model"]["vocab"]]
    alone = {text for text, _ in learnt if len(text) == 1}
    missing = next((character for text, _ in learnt[len(SPECIAL_TOKENS) :] for character in text if character not in alone), None)
    if missing is not None:  # SentencePiece weighs an unknown character differently, which only matters inside a piece
        raise Unsupported(f"the character {preview(missing)} is in a piece and is none itself, so SentencePiece would cut it differently")
    types = [UNKNOWN_TYPE if i == UNKNOWN else CONTROL if i < len(SPECIAL_TOKENS) else NORMAL for i in range(len(learnt))]
    pieces = [Piece(text, score if kind == NORMAL else 0.0, kind) for (text, score), kind in zip(learnt, types, strict=True)]
    names = tuple((role, SPECIAL_TOKENS[i]) for role, i in ROLES.items())
    return SentencePieceModel(tuple(pieces), removes_extra_spaces=False, role_names=names)


def compare(tokenizer: Tokenizer, path: str) -> dict[str, float]:
    """Read the file back: texts must get the ids of the run."""
    written = SentencePieceTokenizer.read(Path(path))
    texts = [text for text in test_texts(tokenizer, None)[0] if not text.startswith(" ")]
    for text in texts:
        if written.piece_ids(text) != tokenizer.encode(text):
            raise BadInput(f"the file was deleted because it cuts {preview(text)} differently; keep the run's own tokenizer")
    return {"texts": len(texts), "tokenizations": len(texts)}
