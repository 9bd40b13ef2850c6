"""stairs embed RUN [TEXT ...]: vectors."""

from dataclasses import dataclass

from tyro.conf import Positional

from stairs.commands.options import Common, parse, show, texts_from

ABOUT = """Vectors of texts, or with --tokens of each of their tokens, from a run whose step encodes. Texts come as arguments, with --file, or on
stdin, one per line. Without --json the numbers of a vector stand on a line."""


@dataclass(frozen=True)
class Embed(Common):
    run: Positional[str]  # a run folder
    text: Positional[tuple[str, ...]] = ()
    file: str | None = None  # read the texts from here, one per line
    tokens: bool = False  # a vector for each token
    layer: int | None = None  # of this block, counted from 0; -1 is the last; the model's own output if not given


def main(arguments: list[str]) -> int:
    options = parse(Embed, arguments, "embed", ABOUT)
    texts = texts_from(options.text, options.file)
    from stairs.inspection.vectors import of_layer
    from stairs.training.run import load

    task = load(options.run)
    encode = None if options.layer is None else of_layer(task.model, options.layer)
    found = list(task.token_vectors(texts, encode))
    if options.tokens:
        rows = [{"text": text, "tokens": tokens, "vectors": vectors.tolist()} for text, (tokens, vectors) in zip(texts, found, strict=True)]
    else:
        rows = [{"text": text, "vector": vectors.mean(0).tolist()} for text, (_, vectors) in zip(texts, found, strict=True)]
    if options.json:
        show(rows)
        return 0
    for row in rows:
        for numbers in row.get("vectors") or [row["vector"]]:
            print(" ".join(f"{number:.6g}" for number in numbers))
    return 0
