"""What ELMo adds to a BiLSTM over word vectors: which layers to mix, where to insert them, and how many labels they save.

python benchmarks/elmo_tasks.py RUN WORDS [--task sst2|conll2003] [--part layers|labels] [--limit 4000] [--epochs 8]

RUN is an elmo run, WORDS a run with word vectors (skipgram, glove, ...), which every BiLSTM starts from.
"""

import argparse
import json
import tempfile
from pathlib import Path

from side_by_side import conditions, data, stairs

FILES = {
    "sst2": ("classify/sst2/train.tsv", "classify/sst2/test.tsv", "accuracy"),
    "conll2003": ("tags/conll2003/train.bio.tsv", "tags/conll2003/test.bio.tsv", "f1"),
}
WAYS = {
    "without ELMo": ["--insert", "none"],
    "input, last layer": ["--insert", "input", "--layers", "last"],
    "input, mix, lambda 1": ["--insert", "input", "--layers", "all", "--mix-penalty", "1"],
    "input, mix, lambda 0.001": ["--insert", "input", "--layers", "all", "--mix-penalty", "0.001"],
    "output, mix, lambda 0.001": ["--insert", "output", "--layers", "all", "--mix-penalty", "0.001"],
    "both, mix, lambda 0.001": ["--insert", "both", "--layers", "all", "--mix-penalty", "0.001"],
}
LABELS = {"without ELMo": (500, 1000, 2000, 4000, 8000), "input, mix, lambda 0.001": (500, 1000, 2000)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("words")
    parser.add_argument("--task", choices=FILES, default="sst2")
    parser.add_argument("--part", choices=("layers", "labels"), default="layers")
    parser.add_argument("--limit", type=int, default=4000)
    parser.add_argument("--epochs", type=float, default=8)
    options = parser.parse_args()
    train, test, main_score = FILES[options.task]
    jobs = [(way, options.limit) for way in WAYS] if options.part == "layers" else [(way, most) for way, all_of in LABELS.items() for most in all_of]
    print(f"{options.task:28}{'labels':>8}{main_score:>10}   the mix; {conditions()}", flush=True)
    for way, most in jobs:
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--transfer", "frozen", "--word-vectors", options.words, "--limit", most, "--epochs", options.epochs, "--head-dropout", 0.3]
            flags += ["--test", data(test), "--threads", 1, "--patience", 0, "--out", Path(folder) / "run", "--json", "--quiet"]
            report = json.loads(stairs("tune", options.run, data(train), *WAYS[way], *flags, cache=Path(folder)))
        shares = [(own["gamma"], " ".join(f"{share:.2f}" for share in own["layers"].values())) for own in report["test"].get("mix", [])]
        mix = "; ".join(f"{gamma:.2f} * {own}" for gamma, own in shares)
        print(f"{way:28}{most:8d}{report['test'][main_score]['value']:10.4f}   {mix}", flush=True)


if __name__ == "__main__":
    main()
