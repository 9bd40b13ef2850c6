"""stairs embed RUN [TEXT ...]: vectors."""

from dataclasses import dataclass
from typing import Literal

from tyro.conf import Positional

from stairs.commands.flags import Common, parse, show, texts_from
from stairs.errors import Unsupported
from stairs.text.windows import LongTextRule

ABOUT = """Vectors of texts, or with --tokens of each of their tokens, from a run whose step encodes. Texts come as arguments, with --file, or on
stdin, one per line. Without --json the numbers of a vector stand on a line."""


@dataclass(frozen=True)
class Embed(Common):
    run: Positional[str]  # a run folder
    text: Positional[tuple[str, ...]] = ()
    file: str | None = None  # read the texts from here, one per line
    tokens: bool = False  # a vector for each token
    layer: int | None = None  # of this layer, counted from 0 (elmo: 0 is the word alone); -1 is the last; the model's own output if not given
    long_text: LongTextRule | None = None  # bert: what is read of a text that is too long; its head, or with --tokens all of it, in windows
    precision: Literal["fp32", "bf16", "int8"] | None = None  # int8, or bf16 where the processor has it, is faster; the vectors are nearly the same


def main(arguments: list[str]) -> int:
    options = parse(Embed, arguments, "embed", ABOUT)
    texts = texts_from(options.text, options.file)
    from stairs.inspection.layers import layer_encoder
    from stairs.training.run import load

    task = load(options.run)
    if options.long_text is not None:
        if not hasattr(task, "long_text"):
            raise Unsupported(f"--long-text is for bert runs, and {options.run} is one of {task.model_name}")
        task.long_text = task.vector_part = options.long_text
    if options.precision is not None:
        task = task.for_inference(options.precision)
    encode = None if options.layer is None else layer_encoder(task.model, options.layer)
    if options.tokens:
        found = task.token_vectors(texts, encode)
        rows = [{"text": text, "tokens": tokens, "vectors": vectors.tolist()} for text, (tokens, vectors) in zip(texts, found, strict=True)]
    else:
        rows = [{"text": text, "vector": vector.tolist()} for text, vector in zip(texts, task.vectors(texts, encode), strict=True)]
    if options.json:
        show(rows)
        return 0
    for row in rows:
        for numbers in row.get("vectors") or [row["vector"]]:
            print(" ".join(f"{number:.6g}" for number in numbers))
    return 0
