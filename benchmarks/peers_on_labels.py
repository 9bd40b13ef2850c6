"""Ours and other tools on the same labelled examples: score with its interval, and CPU seconds to learn and to predict.

python benchmarks/peers_on_labels.py --out FOLDER [--sets sst2 chnsenticorp thucnews mrpc conll2003] [--models NAME ...] [--vectors en=RUN zh=RUN]
                                     [--minilm FOLDER] [--peers FOLDER ...]

Every model learns from the training examples, chooses by the validation examples (a tenth of the training examples where a set has none), and then
labels the test examples. Each runs in a process of its own with one thread, ours and the peers in turn; imports, compilation and a first
fit of 200 examples are not counted. A result is a file of --out, named after set and model: a comparison that was stopped goes on, and --models adds
others. A model whose package is not installed is named and left out; --peers are folders that packages were installed into, as `pip install --target`
does.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from side_by_side import conditions, data
from stairs.files import write_json
from stairs.progress import quiet
from stairs.tasks.metrics import PairedBootstrap
from stairs.tasks.outcomes import outcomes, score_with_interval, statistic
from stairs.text.labelled import read_examples

# Kind of examples, language, metric, and the files of training, validation (empty if there are none) and test examples.
SETS = {
    "sst2": ("classify", "en", "accuracy", "classify/sst2/train.tsv", "classify/sst2/dev.tsv", "classify/sst2/test.tsv"),
    "chnsenticorp": ("classify", "zh", "accuracy", *(f"classify/chnsenticorp/{part}.tsv" for part in ("train", "dev", "test"))),
    "thucnews": ("classify", "zh", "accuracy", "classify/thucnews/train.tsv", "", "classify/thucnews/test.tsv"),
    "mrpc": ("compare", "en", "accuracy", "pairs/mrpc/train.tsv", "", "pairs/mrpc/test.tsv"),
    "conll2003": ("tag", "en", "f1", "tags/conll2003/train.bio.tsv", "tags/conll2003/dev.bio.tsv", "tags/conll2003/test.bio.tsv"),
}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
COLUMNS = ("CPU s to learn", "CPU s to predict", "ours beside it", "ours is better by")
NEEDS_MINILM = ("minilm", "MiniLM")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", required=True, type=Path)
    options.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    options.add_argument("--models", nargs="+", help="some models only, by name")
    options.add_argument("--vectors", nargs="+", default=[], help="runs of word vectors by language, en=RUN zh=RUN")
    options.add_argument("--minilm", default="", help="a folder of transformers with the weights of MiniLM")
    options.add_argument("--peers", nargs="+", default=[], help="folders with packages of peers")
    options.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    sys.path += given.peers
    if given.child:
        measure(*given.child, given)
        return
    print(conditions(), flush=True)
    for name in given.sets:
        compare(name, given)


def compare(name: str, given: argparse.Namespace) -> None:
    """Measure what is missing of one set, then print all."""
    from label_models import OURS
    from label_peers import PEERS

    kind, language = SETS[name][:2]
    ours, peers = OURS[kind], PEERS[kind]
    in_turn = [own for pair in zip_longest(list(ours), list(peers)) for own in pair]
    wanted = [own for own in in_turn if (not given.models or own in given.models) and not (language == "zh" and any(n in own for n in NEEDS_MINILM))]
    skipped = []
    for model in wanted:
        if not result_file(given.out, name, model).exists():
            command = [sys.executable, "-W", "ignore", *sys.argv, "--child", name, model]
            ended = subprocess.run(command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True)
            if ended.returncode:
                skipped.append(f"{model} is left out: {(ended.stderr.strip().splitlines() or ['it failed'])[-1]}")
    print_table(name, [own for own in in_turn if result_file(given.out, name, own).exists()], ours, given.out)
    print("".join(f"{line}\n" for line in skipped), end="", flush=True)


def zip_longest(first: list[str], second: list[str]) -> list[tuple[str, ...]]:
    """Alternately, and what is left of the longer one."""
    return [(*first[i : i + 1], *second[i : i + 1]) for i in range(max(len(first), len(second)))]


def splits(name: str) -> tuple[list[Any], list[Any], list[Any]]:
    kind, _, _, *files = SETS[name]
    with quiet():
        train, dev, test = (list(read_examples(str(data(file)), kind).examples) if file else [] for file in files)
    if not dev:
        held_out = np.random.default_rng(0).permutation(len(train))[: len(train) // 10]
        is_held_out = np.isin(np.arange(len(train)), held_out)
        train, dev = ([own for own, other in zip(train, is_held_out, strict=True) if other == part] for part in (False, True))
    return train, dev, test


def measure(name: str, model: str, given: argparse.Namespace) -> None:
    """One model on one set, in this process."""
    from label_models import OURS, Missing, Sources, Splits, warm_up
    from label_peers import PEERS

    kind, language = SETS[name][:2]
    train, dev, test = splits(name)
    fit, runs = {**OURS[kind], **PEERS[kind]}[model], dict(own.split("=", 1) for own in given.vectors)
    sources, examples = Sources(runs.get(language, ""), given.minilm), Splits(train, dev)
    try:
        warm_up(fit, examples, sources)
    except (ImportError, Missing) as error:
        sys.exit(str(error))
    began = time.process_time()
    predict = fit(examples, sources)
    learnt = time.process_time()
    predictions = predict(test)
    seconds = {"train": round(learnt - began, 2), "predict": round(time.process_time() - learnt, 2)}
    file = result_file(given.out, name, model)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, {"conditions": conditions(), "cpu_seconds": seconds, "predictions": predictions})


def result_file(out: Path, name: str, model: str) -> Path:
    return out / name / f"{model.replace(' ', '-').replace(',', '')}.json"


def print_table(name: str, models: list[str], ours: dict[str, Any], out: Path) -> None:
    """A row for each model, the best score first; of a peer, how much better the quickest of ours is that is not worse, or else the best of ours."""
    kind, _, metric, *_ = SETS[name]
    test = splits(name)[2]
    found = {model: json.loads(result_file(out, name, model).read_text()) for model in models}
    scores = {model: score_with_interval(metric, kind, test, own["predictions"]) for model, own in found.items()}
    seconds = {model: sum(own["cpu_seconds"].values()) for model, own in found.items()}
    print(f"\n| {name}: {len(test):,} test examples | {metric} | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 2)}")
    for model in sorted(models, key=lambda own: -scores[own]["value"]):
        score, used = scores[model], found[model]["cpu_seconds"]
        beside = ""
        if model not in ours and (rivals := [own for own in models if own in ours]):
            better = [own for own in rivals if scores[own]["value"] >= score["value"]]
            rival = min(better, key=seconds.__getitem__) if better else max(rivals, key=lambda own: scores[own]["value"])
            both = [statistic(metric, kind, test, outcomes(metric, kind, test, found[own]["predictions"])) for own in (rival, model)]
            difference = PairedBootstrap(both, None).difference(0, 1)
            beside = f"{rival} | {difference['difference']:+.4f} ({difference['low']:+.4f} to {difference['high']:+.4f})"
        own = f"**{model}**" if model in ours else model
        shown = f"{score['value']:.4f} ({score['low']:.4f} to {score['high']:.4f})"
        print(f"| {own} | {shown} | {used['train']:.1f} | {used['predict']:.1f} | {beside or ' |'} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
