"""What each part of a recipe is worth at equal CPU time: GPT, BERT and the Transformer, trained with it and without it.

python benchmarks/recipes.py [--list bert-mask-30 ...] [--minutes 1 8] [--data wiki-en-4 wiki-zh-4] [--seeds 0 1] [--out runs/recipes]
python benchmarks/recipes.py --table                                  what has been measured so far

A queue: each measurement is a process on one thread, whose budget is counted in its own CPU seconds, so that other work on the machine costs it
nothing. A finished one is a line of results.jsonl and is not made again; the same command goes on where it was stopped.
GPT is judged by bits per character of the test text, BERT by how many masked words of it are named right (15 % of the words, whole ones, all of them
[MASK], rows of one segment, whatever it was trained on), a Transformer by BLEU of the test sentences.
"""

import argparse
import json
import lzma
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

from side_by_side import conditions, data
from stairs.machine import processor_kind

RESULTS = "results.jsonl"
MASK_PROB = 0.15
Keywords = Mapping[str, Any]

GPT: Keywords = {"optimizer": "muon"}
BERT: Keywords = {"optimizer": "muon", "objective": "none", "dropout": 0.0, "mask_prob": 0.3}
TRANSFORMER: Keywords = {"optimizer": "muon"}
BEFORE: Keywords = {"optimizer": "adamw", "stacking": 0.0, "skipgram_tokens": 0}
# The recipe as a whole, then without one of its parts.
RECIPES: dict[str, tuple[str, Keywords]] = {
    "gpt": ("gpt", GPT),
    "gpt-adamw": ("gpt", {**GPT, "optimizer": "adamw"}),
    "gpt-no-unigram": ("gpt", {**GPT, "unigram": False}),
    "gpt-dropout": ("gpt", {**GPT, "dropout": 0.1}),
    "gpt-no-stacking": ("gpt", {**GPT, "stacking": 0.0}),
    "gpt-no-skipgram": ("gpt", {**GPT, "skipgram_tokens": 0}),
    "gpt-muon": ("gpt", {**GPT, "stacking": 0.0, "skipgram_tokens": 0}),
    "gpt-before": ("gpt", BEFORE),
    "bert": ("bert", BERT),
    "bert-adamw": ("bert", {**BERT, "optimizer": "adamw"}),
    "bert-no-unigram": ("bert", {**BERT, "unigram": False}),
    "bert-dropout": ("bert", {**BERT, "dropout": 0.1}),
    "bert-mask-15": ("bert", {**BERT, "mask_prob": 0.15}),
    "bert-mask-40": ("bert", {**BERT, "mask_prob": 0.4}),
    "bert-next-sentence": ("bert", {**BERT, "objective": "next-sentence"}),
    "bert-no-stacking": ("bert", {**BERT, "stacking": 0.0}),
    "bert-no-skipgram": ("bert", {**BERT, "skipgram_tokens": 0}),
    "bert-before": ("bert", {**BEFORE, "objective": "next-sentence", "mask_prob": 0.15, "dropout": 0.1}),
    "transformer": ("transformer", TRANSFORMER),
    "transformer-adamw": ("transformer", {**TRANSFORMER, "optimizer": "adamw"}),
    "transformer-no-unigram": ("transformer", {**TRANSFORMER, "unigram": False}),
    "transformer-no-stacking": ("transformer", {**TRANSFORMER, "stacking": 0.0}),
    "transformer-dropout-0": ("transformer", {**TRANSFORMER, "dropout": 0.0}),
}  # fmt: skip
# Pairs to learn from, and to validate and test on, if they are not taken from the others.
PAIRS: dict[str, dict[str, list[str]]] = {
    "numbers": {"pairs": ["numbers"]},
    "multi30k": {
        "pairs": ["translate/multi30k_en_fr/train.en", "translate/multi30k_en_fr/train.fr"],
        "dev": ["translate/multi30k_en_fr/val.en", "translate/multi30k_en_fr/val.fr"],
    },
    "tatoeba": {"pairs": ["translate/tatoeba_en_zh/all.tsv"]},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", nargs="*", default=list(RECIPES))
    parser.add_argument("--minutes", nargs="*", type=float, default=[1.0, 8.0])
    parser.add_argument("--data", nargs="*", default=["wiki-en-4", "wiki-zh-4", "numbers"])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1])
    parser.add_argument("--with", dest="options", default="{}", help="further options of all of them, as JSON: {\"size\": \"micro\"}")
    parser.add_argument("--out", type=Path, default=Path("runs/recipes"))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.measure:
        print(json.dumps(measure(json.loads(options.measure), options.out)))
        return
    if not options.table:
        run_queue(options)
    print_table(read_results(options.out))


def run_queue(options: argparse.Namespace) -> None:
    for wanted in measurements(options):
        known = [{name: result[name] for name in wanted} for result in read_results(options.out)]
        if wanted in known:
            continue
        print(json.dumps(wanted), file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--out", str(options.out), "--measure", json.dumps(wanted)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"failed: {wanted}", file=sys.stderr)
            continue
        with (options.out / RESULTS).open("a") as results:
            results.write(json.dumps({**wanted, **json.loads(done.stdout.splitlines()[-1])}) + "\n")


def measurements(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The short ones first; those of Chinese with one seed."""
    more = json.loads(options.options)
    for minutes in sorted(options.minutes):
        for name in options.list:
            model, keywords = RECIPES[name]
            for source in options.data:
                if (source in PAIRS) != (model == "transformer"):
                    continue
                for seed in options.seeds[:1] if "zh" in source else options.seeds:
                    what = {"recipe": name, "model": model, "options": {**keywords, **more}}
                    yield {**what, "data": source, "minutes": minutes, "seed": seed, "kind": processor_kind()}


def measure(wanted: dict[str, Any], out: Path) -> dict[str, Any]:
    """Train once, within so many CPU seconds of one thread, and judge it on the test split."""
    from stairs.tasks.task import Task
    from stairs.train_job import TrainJob
    from stairs.training import clock, probe
    from stairs.training.run import load

    clock.now = time.process_time
    probe.time = SimpleNamespace(monotonic=time.process_time)  # type: ignore[assignment]
    keywords = dict(wanted["options"])
    if not keywords.pop("unigram", True):
        Task.start = lambda self, seed, examples=None: self.model.initialize(seed)  # type: ignore[method-assign]
    name = "-".join(str(wanted[part]) for part in ("recipe", "data", "minutes", "seed", "kind"))
    folder = out / f"{name}-{crc32(json.dumps(keywords, sort_keys=True).encode()):08x}"
    source = wanted["data"]
    corpus: list[str] | str = [] if source in PAIRS else str(text_file(source, out))
    pairs = {part: [path if path == "numbers" else str(data(path)) for path in paths] for part, paths in PAIRS.get(source, {}).items()}
    keywords |= {**pairs, "budget": f"{60 * wanted['minutes']}s", "seed": wanted["seed"], "threads": 1, "out": str(folder)}
    job = TrainJob.from_keywords(wanted["model"], corpus, keywords)
    metrics = job.train().metrics
    task: Any = load(folder)
    result = {"size": f"{task.model.config.layers} x {task.model.config.width}", "updates": metrics["step"], "cpu_seconds": metrics["cpu_seconds"]}
    if wanted["model"] == "gpt":
        result |= {"bits per character": metrics["bits_per_character"]}
    elif wanted["model"] == "bert":
        _, shards = job.with_recipe()[0].read_data()
        result |= {"masked words": masked_accuracy(task, shards), "loss": metrics["loss"]}
    else:
        result |= {"BLEU": metrics["bleu"], "exact match": metrics["exact_match"]}
    return {**result, "conditions": conditions()}


def masked_accuracy(task: Any, shards: Any) -> dict[str, float]:
    """Of rows of one segment, in which 15 % of the words are [MASK]."""
    from stairs.tasks.parts.sentence_pairs import SentencePairs

    config = replace(task.model.config, objective="none", mask_prob=MASK_PROB, short_seq_prob=0.0)
    return task.evaluate_rows(SentencePairs(shards.ids("test"), config, task.tokenizer, split="test"))["masked_accuracy"]  # type: ignore[no-any-return]


def text_file(source: str, out: Path) -> Path:
    """The first megabytes of a Wikipedia, as in wiki-en-4."""
    _, language, megabytes = source.split("-")
    path = out / f"{source}.txt"
    if not path.exists():
        with lzma.open(data(f"corpora/wiki_{language}.txt.xz")) as packed:
            path.write_bytes(packed.read(int(megabytes) * 1_000_000).rsplit(b"\n", 1)[0])
    return path


def read_results(out: Path) -> list[dict[str, Any]]:
    path = out / RESULTS
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def print_table(results: list[dict[str, Any]]) -> None:
    print("| recipe | data | minutes | machine | size | updates | score, by seed | CPU s |\n|---|---|---|---|---|---|---|---|")
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for result in results:
        key = (result["model"], result["data"], result["minutes"], result["kind"], result["recipe"], json.dumps(result["options"]))
        groups.setdefault(key, []).append(result)
    for (_, source, minutes, kind, name, _), own in sorted(groups.items(), key=lambda item: item[0][:4]):
        measure = next(unit for unit in ("bits per character", "masked words", "BLEU") if unit in own[0])
        scores = ", ".join(f"{result[measure]['value']:.4g}" for result in sorted(own, key=lambda result: result["seed"]))
        updates, cpu = (sum(result[part] for result in own) / len(own) for part in ("updates", "cpu_seconds"))
        print(f"| {name} | {source} | {minutes:g} | {kind} | {own[0]['size']} | {updates:.0f} | {scores} {measure} | {cpu:.0f} |")


if __name__ == "__main__":
    main()
