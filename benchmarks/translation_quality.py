"""How good translations are: BLEU with and without a beam, and against the length of the source.

python benchmarks/translation_quality.py RUN ... --pairs test.en [test.fr] [--beam-size 4] [--picture lengths.svg]
python benchmarks/translation_quality.py RUN ... --numbers [--picture lengths.svg]     exact match of number names, by their length in words
"""

import argparse
from pathlib import Path
from typing import Any

import torch

from side_by_side import conditions
from stairs.pictures.charts import save
from stairs.pictures.translation import against_length
from stairs.tasks.translation_metrics import bleu_and_chrf
from stairs.text.embedded.number_names import number_pairs
from stairs.text.labelled import read_examples
from stairs.training.run import load as load_run

BORDERS = (8, 10, 12, 14, 17, 1_000_000)  # words of a source


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--pairs", nargs="+", default=[])
    parser.add_argument("--numbers", action="store_true")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--picture")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    points: list[dict[str, Any]] = []
    print(conditions())
    for path in options.runs:
        task: Any = load_run(path)
        points += (numbers if options.numbers else pairs)(task, Path(path).name, options)
    if options.picture:
        save(against_length(points, "exact matches" if options.numbers else "BLEU", "words"), options.picture)


def pairs(task: Any, name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    examples: list[Any] = list(read_examples(options.pairs, "translate").examples)
    sources, truth = [one.source for one in examples], [one.target for one in examples]
    translations = {beams: task.translate_texts(sources, beam_size=beams) for beams in (1, options.beam_size)}
    for beams, found in translations.items():
        scored = bleu_and_chrf(truth, found)
        bleu = scored["bleu"]
        chrf = scored["chrf"]["value"]
        print(f"{name:20} beam {beams}: BLEU {bleu['value']:.2f} ({bleu['low']:.2f} to {bleu['high']:.2f}), chrF {chrf:.2f}", flush=True)
    points, shortest = [], 1
    for longest in BORDERS:
        own = [n for n, source in enumerate(sources) if shortest <= len(source.split()) <= longest]
        if own:
            bleu = bleu_and_chrf([truth[n] for n in own], [translations[options.beam_size][n] for n in own])["bleu"]
            mean = sum(len(sources[n].split()) for n in own) / len(own)
            print(f"{name:20} {shortest:3d} words and more, {len(own):4d} sentences: BLEU {bleu['value']:.2f}")
            points.append({"run": name, "length": mean, "score": bleu["value"], "low": bleu["low"], "high": bleu["high"]})
        shortest = longest + 1
    return points


def numbers(task: Any, name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    points = []
    for given in ("numbers-test", "longer-numbers"):
        examples = task.oriented(number_pairs(given))
        translations = task.translate_texts([one.source for one in examples], beam_size=options.beam_size)
        lengths = [len((one.target if task.backwards else one.source).split()) for one in examples]
        for length in sorted(set(lengths)):
            own = [n for n, own in enumerate(lengths) if own == length]
            exact = bleu_and_chrf([examples[n].target for n in own], [translations[n] for n in own])["exact_match"]
            points.append({"run": name, "length": length, "score": exact["value"], "low": exact["low"], "high": exact["high"]})
        exact = bleu_and_chrf([one.target for one in examples], translations)["exact_match"]
        by_length = ", ".join(f"{point['length']}: {point['score']:.2f}" for point in points)
        print(f"{name:20} {given:15} {exact['value']:.3f} exact ({exact['low']:.3f} to {exact['high']:.3f}); by words {by_length}", flush=True)
    return points


if __name__ == "__main__":
    main()
