"""stairs ask RUN [TEXT ...]: the run's own answer."""

from dataclasses import dataclass

from tyro.conf import Positional

from stairs.commands.options import Common, check_seed, parse, show, texts_from
from stairs.errors import BadInput

ABOUT = """The run's own answer to each text: its continuation, or its label. Texts come as arguments, with --file, or on stdin, one per line;
with --json one object per text and line."""


@dataclass(frozen=True)
class Ask(Common):
    run: Positional[str]  # a run folder
    text: Positional[tuple[str, ...]] = ()
    file: str | None = None  # read the texts from here, one per line
    length: int = 20  # continue by at most so many tokens
    temperature: float = 0.0  # 0 takes the likeliest; 1 samples by the chances; higher is wilder
    top_k: int = 0  # sample among the k likeliest only; 0 is all
    top_p: float = 1.0  # sample among the likeliest that make up this share
    top: int = 10  # how many next tokens to list
    seed: int = 0  # of the sampling


def main(arguments: list[str]) -> int:
    options = parse(Ask, arguments, "ask", ABOUT)
    check(options)
    texts = texts_from(options.text, options.file)
    from stairs.training.run import load

    task = load(options.run)
    generation = {
        "length": options.length,
        "temperature": options.temperature,
        "top_k": options.top_k,
        "top_p": options.top_p,
        "seed": options.seed,
        "top": options.top,
    }
    for text in texts:
        answer = task.answer(text, **(generation if task.name == "next-token" else {}))
        if options.json:
            show(answer)
        else:
            print(answer["continuation"] if "continuation" in answer else answer["label"])
    return 0


def check(options: Ask) -> None:
    if not 0 <= options.length <= 100_000:
        raise BadInput(f"--length {options.length} is not between 0 and 100000")
    if not 0 <= options.temperature <= 100:
        raise BadInput(f"--temperature {options.temperature} is not between 0 and 100; 0 takes the likeliest")
    if not 0 <= options.top_k <= 1 << 24:
        raise BadInput(f"--top-k {options.top_k} is not between 0 and {1 << 24}; 0 is all")
    if not 0 < options.top_p <= 1:
        raise BadInput(f"--top-p {options.top_p} is not above 0 and at most 1")
    if not 1 <= options.top <= 1 << 24:
        raise BadInput(f"--top {options.top} is not between 1 and {1 << 24}")
    check_seed(options.seed)
