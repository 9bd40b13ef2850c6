"""stairs score RUN FILE: how good is it on this file?"""

from dataclasses import dataclass

from tyro.conf import Positional

from stairs.commands.options import Common, Reading, corpus_from, parse, show

ABOUT = """Judge a run on a file: bits per character and perplexity of a text, or accuracy and macro-F1 of a labelled file, each with a 95 %
interval."""


@dataclass(frozen=True)
class Score(Reading, Common):
    run: Positional[str]  # a run folder
    file: Positional[str]  # text, or labelled examples; - for stdin


def main(arguments: list[str]) -> int:
    options = parse(Score, arguments, "score", ABOUT)
    from stairs.training.run import load

    task = load(options.run)
    if task.name == "next-token":
        measured = task.evaluate_texts(corpus_from([options.file], options).documents())
    else:
        from stairs.text.labelled import read

        measured = task.evaluate(read(options.file, "classify", encoding=options.encoding).examples)
    if options.json:
        show(measured)
        return 0
    for name, value in measured.items():
        if isinstance(value, dict) and "value" in value:
            print(f"{name.replace('_', ' '):20} {value['value']:.4f}   ({value['low']:.4f} to {value['high']:.4f})")
        else:
            print(f"{name.replace('_', ' '):20} {value}")
    return 0
