"""stairs embed RUN [TEXT ...]: vectors."""

from dataclasses import dataclass
from typing import Any, Literal

from tyro.conf import Positional

from stairs import api
from stairs.commands.flags import CommonFlags, parse, show, texts_from
from stairs.text.windows import LongTextRule

ABOUT = """Vectors of texts, or with --tokens of each of their tokens, from a run whose model encodes. Texts are arguments, or lines of --file or of
stdin. Without --json each vector is a line of numbers."""


@dataclass(frozen=True)
class Embed(CommonFlags):
    run: Positional[str]  # a run folder
    text: Positional[tuple[str, ...]] = ()  # texts to encode; - is stdin
    file: str | None = None  # file with one text per line; stdin if neither texts nor a file are given
    tokens: bool = False  # a vector for each token instead of each text
    layer: int | None = None  # layer, counted from 0 (elmo: 0 is the word alone), -1 for the last; the model's output if not given
    long_text: LongTextRule | None = None  # bert: what to read of a text that is too long; if not given, its head, or with --tokens all
    precision: Literal["fp32", "bf16", "int8"] | None = None  # arithmetic; int8, or bf16 in hardware, is faster; fp32 if not given


def main(arguments: list[str]) -> int:
    options = parse(Embed, arguments, "embed", ABOUT)
    texts = texts_from(options.text, options.file)
    how: dict[str, Any] = {"layer": options.layer, "long_text": options.long_text, "precision": options.precision}
    task = api.load(options.run)
    if options.tokens:
        found = api.embed_tokens(task, texts, **how)
        rows = [{"text": text, "tokens": tokens, "vectors": vectors.tolist()} for text, (tokens, vectors) in zip(texts, found, strict=True)]
    else:
        rows = [{"text": text, "vector": vector.tolist()} for text, vector in zip(texts, api.embed(task, texts, **how), strict=True)]
    if options.json:
        show(rows)
        return 0
    for row in rows:
        for numbers in row.get("vectors") or [row["vector"]]:
            print(" ".join(f"{number:.6g}" for number in numbers))
    return 0
