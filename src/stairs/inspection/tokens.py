"""A text as a run reads it: its tokens, their offsets in the text, and the row of ids that the model sees."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypedDict

import torch

from stairs.errors import Unsupported, no_tokens
from stairs.inspection.views import any_task, view
from stairs.tasks import Encode, NextToken, Task
from stairs.tasks.parts.encoder_features import InputFormat
from stairs.tasks.parts.supervised import Supervised
from stairs.text.batch import Batch
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.tokenizers.word_pieces import BYTE_CHARACTERS

MAX_GROUPS = 64  # tokens that a picture shows one by one; those of a longer text are grouped
BYTE_OF_CHARACTER = {character: byte for byte, character in BYTE_CHARACTERS.items()}


class TokenSpan(TypedDict):
    token: str
    start: int | None  # offsets in the text; None where the tokenizer does not know them
    end: int | None
    unknown: bool


class Tokenization(TypedDict):
    name: str
    tokens: list[TokenSpan]


class TokensData(TypedDict):
    text: str
    tokenizations: list[Tokenization]


class Truncatable(TypedDict):
    truncation: str | None  # a sentence on the part of the text that is not shown, if there is one


class TokenizedText(NamedTuple):
    tokens: list[str]  # readable
    batch: Batch  # of one row
    truncation: str | None


@view(any_task)
def tokens(task: Task, text: str) -> TokensData:
    """The tokens of a text."""
    tokenizer, ids = task.tokenizer, encode(task, text)
    spans: list[TokenSpan] = [
        {"token": readable_token(tokenizer, number), "start": start, "end": end, "unknown": number == tokenizer.unknown}
        for number, (start, end) in zip(ids, token_offsets(tokenizer, text, ids), strict=True)
    ]
    return {"text": text, "tokenizations": [{"name": f"{task.model_name}, {tokenizer.kind}", "tokens": spans}]}


def side_by_side(of_runs: Mapping[str, TokensData]) -> TokensData:
    """The `tokens` of several runs, by their names, in one view; runs with the same tokens share a line."""
    shared: list[tuple[str, list[TokenSpan], list[str]]] = []  # the kind of tokenizer, the tokens, and the runs
    for run, data in of_runs.items():
        for tokenization in data["tokenizations"]:
            kind = tokenization["name"].rpartition(", ")[2]
            runs = next((runs for other, spans, runs in shared if (other, spans) == (kind, tokenization["tokens"])), None)
            if runs is None:
                shared.append((kind, tokenization["tokens"], [run]))
            else:
                runs.append(run)
    tokenizations: list[Tokenization] = [{"name": f"{kind}, by {', '.join(runs)}", "tokens": spans} for kind, spans, runs in shared]
    return {"text": next(iter(of_runs.values()))["text"], "tokenizations": tokenizations}


def encode(task: Task, text: str) -> list[int]:
    ids = task.tokenizer.encode(text)
    if not ids:
        raise no_tokens(text)
    return ids


def tokenize(task: Task, text: str, second: str | None = None) -> TokenizedText:
    """[CLS] text [SEP]; without [SEP] for a task that continues the text. With `second`, both texts in one row."""
    ids, limit = encode(task, text), max_tokens(task)
    if second is not None:
        return tokenize_pair(task, ids, encode(task, second), limit)
    fitting = ids if limit is None else ids[: limit - 2]
    row = [task.tokenizer.begin, *fitting, *([] if continues_text(task) else [task.tokenizer.end])]
    return one_row(task, row, [0] * len(row), limit if len(fitting) < len(ids) else None)


def tokenize_pair(task: Task, first: list[int], second: list[int], limit: int | None) -> TokenizedText:
    if not task.model.takes_pairs or continues_text(task):
        raise Unsupported(f"a {task.name} run of {task.model_name} does not read two texts at once; leave --second out")
    input_format = InputFormat(task.tokenizer, limit, "head")
    row = input_format.encode_pair(first, second)
    return one_row(task, row.ids, row.segments, limit if input_format.truncated_texts else None)


def one_row(task: Task, ids: list[int], segments: list[int], limit: int | None) -> TokenizedText:
    """A batch of one row; `limit` is given if the text was truncated to it."""
    batch = Batch(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool), segments=torch.tensor([segments]))
    tokens = [readable_token(task.tokenizer, number) for number in ids]
    return TokenizedText(tokens, task.add_characters(batch), None if limit is None else truncated_to(task, limit))


def continues_text(task: Task) -> bool:
    return type(task) is NextToken


def truncated_to(task: Task, limit: int) -> str:
    return f"{task.model_name} reads at most {limit} tokens; the rest of the text is not shown"


def max_tokens(task: Task) -> int | None:
    """How many tokens the task reads at once, special tokens included; None for any number."""
    own = task.max_length if isinstance(task, Encode) else task.transfer.max_length if isinstance(task, Supervised) else None
    return task.model.row_limit(own)


def readable_token(tokenizer: Tokenizer, number: int) -> str:
    """A token as people read it; a token that holds part of a character is shown as its bytes."""
    token = tokenizer.display_token(number)
    if "\ufffd" not in token:
        return token
    characters = tokenizer.token(number)
    return "".join(f"<{BYTE_OF_CHARACTER[character]:02X}>" if character in BYTE_OF_CHARACTER else character for character in characters)


def token_offsets(tokenizer: Tokenizer, text: str, ids: list[int]) -> list[tuple[int | None, int | None]]:
    """Start and end of each token in the text; None where the tokenizer does not know them."""
    try:
        offsets = tokenizer.encode_with_offsets(text).offsets
    except Unsupported:
        return [(None, None)] * len(ids)
    origins, origin = [], 0  # of each character of the preprocessed text, which has more spaces
    for character in tokenizer.preprocess(text):
        origins.append(origin)
        origin += origin < len(text) and text[origin] == character
    origins.append(origin)
    return [(origins[start], origins[end - 1] + 1 if end > start else origins[end]) for start, end in offsets]


def group_bounds(length: int, limit: int = MAX_GROUPS) -> list[tuple[int, int]]:
    """Start and end of at most `limit` groups of neighbours, of about equal size."""
    count = min(length, limit)
    borders = [length * number // count for number in range(count + 1)] if count else [0]
    return list(pairwise(borders))


def group_names(tokens: list[str], groups: list[tuple[int, int]]) -> list[str]:
    """The first token of each group, with dots for the others."""
    return [tokens[start] + "…" * (stop - start > 1) for start, stop in groups]


def find_tokens(forms: Sequence[list[str]], tokens: list[str]) -> range | None:
    """The first occurrence of a word, given as the pieces of each of its forms."""
    spans = (range(at, at + len(form)) for form in forms for at in range(len(tokens)) if form and tokens[at : at + len(form)] == form)
    return next(spans, None)
