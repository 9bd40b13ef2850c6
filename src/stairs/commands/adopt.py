"""stairs adopt FILE: another tool's model as a run."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from stairs.commands.options import Common, parse, show
from stairs.training.folder import check_run

ABOUT = """Turn another tool's file into a run. An ARPA file, plain or .gz, becomes an ngram run that cuts text at spaces, as the tool that made
it did."""


@dataclass(frozen=True)
class Adopt(Common):
    file: Positional[str]  # an ARPA file
    out: str | None = None  # run folder; runs/FILE if not given


def main(arguments: list[str]) -> int:
    options = parse(Adopt, arguments, "adopt", ABOUT)
    out = Path(options.out) if options.out else Path("runs") / (Path(options.file).name.split(".")[0] or "adopted")
    check_run(out)
    from stairs.formats import arpa
    from stairs.models.kneser_ney import NEVER
    from stairs.tasks import NextToken
    from stairs.training.run import FORMAT, Run, versions

    model, tokenizer = arpa.read(options.file)
    task = NextToken(model, tokenizer)
    run = Run(out)
    with run.writing(
        {
            "format": FORMAT,
            **task.describe(),
            "seed": 0,
            "data": {"adopted": Path(options.file).name, "tokenizer": tokenizer.hash},
            "versions": versions(),
        }
    ):
        run.keep(task)
    words = int((model.log10s[: tokenizer.vocab_size] > NEVER).sum()) + 1  # the begin of a sentence is one that is never predicted
    sizes = [words, *model.sizes.tolist()[1:]]
    if options.json:
        show({"run": str(out), "ngrams": sizes})
    else:
        print(f"{out}: {sum(sizes)} n-grams of orders 1 to {len(sizes)}")
    return 0
