"""stairs score RUN FILE: how good is it on this file?"""

from dataclasses import dataclass
from typing import Any, cast

from tyro.conf import Positional

from stairs import api
from stairs.commands.flags import CommonFlags, GuessFlags, parse, show
from stairs.score_job import score_file
from stairs.tasks.measurements import AnalogyMetrics
from stairs.text.input_options import ColumnOptions, CorpusOptions

ABOUT = """Evaluate a run on a file: bits per character and perplexity of a text; loss and accuracy of a bert on masked words; BLEU of
translations; or the metrics of a tuned run on a labelled file (accuracy and macro-F1, F1 of spans, exact match and F1 of answers, correlation), each
with a 95 % interval. Word vectors are evaluated on analogies (accuracy by section), on word similarities (Spearman's correlation), or on text (their
loss). Of a table of text pairs with scores, the correlation of cosines with the scores is measured."""


@dataclass(frozen=True)
class Score(GuessFlags, ColumnOptions, CorpusOptions, CommonFlags):
    run: Positional[str]  # a run folder
    file: Positional[str]  # text, labelled examples, analogies or word similarities; - for stdin
    second: Positional[tuple[str, ...]] = ()  # of parallel files, the translation
    beam_size: int | None = None  # translation: beam size; 4 if not given


def main(arguments: list[str]) -> int:
    options = parse(Score, arguments, "score", ABOUT)
    metrics = score_file(
        api.load(options.run), options.file, options.second, columns=options.columns(), beam_size=options.beam_size, reading=options
    )
    if options.json:
        show(metrics)
        return 0
    sections = cast(dict[str, AnalogyMetrics], metrics.get("sections", {}))
    width = max(map(len, sections), default=0)
    for name, section in sections.items():
        print(metric_line(f"{name:{width}}", section["accuracy"], f"{section['covered']} of {section['total']} covered"))
    for name, value in metrics.items():
        if name != "sections":
            print(metric_line(f"{name.replace('_', ' '):{width}}", value))
    return 0


def metric_line(name: str, value: Any, remark: str = "") -> str:
    if isinstance(value, dict) and "value" in value:
        value = f"{value['value']:.4f}   ({value['low']:.4f} to {value['high']:.4f})"
    return f"{name:20} {'-' if value is None else value}   {remark}".rstrip()
