"""stairs convert RUN FORMAT: a run in another tool's format."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from stairs.commands.options import Common, parse, show
from stairs.errors import BadInput, Unsupported

ABOUT = (
    "Write a run in another tool's format. arpa: n-gram runs, for KenLM, SRILM and others; a path that ends in .gz is packed; - is stdout."
)
FORMATS = ("arpa",)


@dataclass(frozen=True)
class Convert(Common):
    run: Positional[str]  # a run folder
    format: Positional[str]  # arpa
    out: str  # the file to write


def main(arguments: list[str]) -> int:
    options = parse(Convert, arguments, "convert", ABOUT)
    if options.format not in FORMATS:
        raise BadInput(f"there is no format {options.format!r}; there is {', '.join(FORMATS)}")
    if Path(options.out).resolve().is_relative_to(Path(options.run).resolve()):
        raise BadInput(f"--out {options.out} lies inside the run {options.run}; choose a file elsewhere")
    from stairs.formats import arpa
    from stairs.models.ngram import NGram
    from stairs.training.run import load

    task = load(options.run)
    model = getattr(task, "model", None)
    if not isinstance(model, NGram):
        raise Unsupported(
            f"{options.run} holds a {task.step} run with the task {task.name}; only n-gram language models can be written as arpa"
        )
    written = arpa.write(model, task.tokenizer, options.out)
    if options.out == "-":
        return 0
    if options.json:
        show({"out": options.out, "ngrams": written})
    else:
        print(f"{options.out}: {sum(written)} n-grams of orders 1 to {len(written)}")
    return 0
