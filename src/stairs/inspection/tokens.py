"""A text as a run reads it: its tokens, where each of them stands in the text, and the row of ids that the model sees."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch

from stairs.errors import BadInput, Unsupported, preview
from stairs.tasks.parts.rows import InputFormat
from stairs.text.batch import Batch
from stairs.text.tokenizers.bulk_encoding import BYTE_CHARACTERS

MAX_GROUPS = 64  # tokens that a picture tells apart; of a longer text some stand together
BYTE_OF_CHARACTER = {letter: byte for byte, letter in BYTE_CHARACTERS.items()}
Data = dict[str, Any]


class TokenizedText(NamedTuple):
    tokens: list[str]  # as people read them
    batch: Batch  # of one row
    cut: str | None  # what was left out


def encode(task: Any, text: str) -> list[int]:
    ids = task.tokenizer.encode(text)
    if not ids:
        raise BadInput(f"there are no tokens in {preview(text)}; give a text with words")
    return ids


def tokenize(task: Any, text: str, second: str | None = None) -> TokenizedText:
    """[CLS] text, and [SEP] behind it for whoever does not go on writing; with `second`, both texts in one row."""
    tokenizer, form = task.tokenizer, InputFormat(task.tokenizer, max_tokens(task), "head")
    if second is None:
        row = form.encode_one(encode(task, text))
        ids = row.ids[:-1] if task.name == "next-token" else row.ids
    else:
        if not task.model.takes_pairs or task.name == "next-token":
            raise Unsupported(f"a {task.name} run of {task.model_name} does not read two texts at once; leave --second out")
        row = form.encode_pair(encode(task, text), encode(task, second))
        ids = row.ids
    batch = Batch(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool), segments=torch.tensor([row.segments[: len(ids)]]))
    cut = f"{task.model_name} reads {form.max_tokens} tokens at once; those behind were left out" if form.truncated_texts else None
    return TokenizedText([readable_token(tokenizer, i) for i in ids], batch, cut)


def readable_token(tokenizer: Any, number: int) -> str:
    """A token as people read it; of a part of a character, its bytes."""
    shown = tokenizer.display_token(number)
    if "\ufffd" not in shown:
        return shown
    return "".join(f"<{BYTE_OF_CHARACTER[letter]:02X}>" if letter in BYTE_OF_CHARACTER else letter for letter in tokenizer.token(number))


def max_tokens(task: Any) -> int | None:
    """Tokens of a row; None for any number."""
    limits = (task.model.reads_at_most, getattr(task, "max_length", None), getattr(getattr(task, "transfer", None), "max_length", None))
    return min(filter(None, limits), default=None)


def with_note(data: Data, cut: str | None) -> Data:
    """With what was left out, if anything was."""
    return data if cut is None else {**data, "truncation": cut}


def tokens(task: Any, text: str) -> Data:
    """How the run cuts a text; `candidate_folder` puts what several runs make of it below one another."""
    tokenizer, ids = task.tokenizer, encode(task, text)
    found = [
        {"token": readable_token(tokenizer, i), "start": start, "end": end, "unknown": i == tokenizer.unknown}
        for i, (start, end) in zip(ids, token_offsets(tokenizer, text, ids), strict=True)
    ]
    return {"text": text, "tokenizations": [{"name": f"{task.model_name}, {tokenizer.spec.kind}", "tokens": found}]}


def side_by_side(found: Mapping[str, Data]) -> Data:
    """The `tokens` of several runs, by their names, in one; those that cut alike share a cut."""
    shared: list[tuple[str, list[Data], list[str]]] = []  # the kind of tokenizer, the tokens, and whose they are
    for run, own in found.items():
        for cut in own["tokenizations"]:
            kind = cut["name"].rpartition(", ")[2]
            runs = next((runs for other, tokens, runs in shared if (other, tokens) == (kind, cut["tokens"])), None)
            if runs is None:
                shared.append((kind, cut["tokens"], [run]))
            else:
                runs.append(run)
    cuts = [{"name": f"{kind}, by {', '.join(runs)}", "tokens": tokens} for kind, tokens, runs in shared]
    return {"text": next(iter(found.values()))["text"], "tokenizations": cuts}


def token_offsets(tokenizer: Any, text: str, ids: list[int]) -> list[tuple[int | None, int | None]]:
    """Where each token stands in the text; None where nobody knows."""
    try:
        offsets = tokenizer.encode_with_offsets(text).offsets
    except Unsupported:
        return [(None, None)] * len(ids)
    origin, at = [], 0  # of each letter of the prepared text, which has more spaces
    for letter in tokenizer.preprocess(text):
        origin.append(at)
        at += at < len(text) and text[at] == letter
    origin.append(at)
    return [(origin[start], origin[end - 1] + 1 if end > start else origin[end]) for start, end in offsets]


def group_bounds(length: int, limit: int = MAX_GROUPS) -> list[tuple[int, int]]:
    """`length` neighbours in at most `most` groups of about the same size: where each starts and stops."""
    count = min(length, limit)
    borders = [length * number // count for number in range(count + 1)] if count else [0]
    return list(pairwise(borders))


def group_names(tokens: list[str], groups: list[tuple[int, int]]) -> list[str]:
    """The first token of each group, with dots for those that stand with it."""
    return [tokens[start] + "…" * (stop - start > 1) for start, stop in groups]


def find_tokens(forms: Sequence[list[str]], tokens: list[str]) -> range | None:
    """Where a word stands first, with all its pieces, in any of the forms it is cut into."""
    spans = (range(at, at + len(form)) for form in forms for at in range(len(tokens)) if form and tokens[at : at + len(form)] == form)
    return next(spans, None)
