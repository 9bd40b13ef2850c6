"""Every model on one labelled file: its score, the time to fine-tune it, and the time of an answer.

python benchmarks/models_on_labels.py [NAME=RUN ...] [--train FILE] [--test FILE] [--dev FILE] [--limit 5000] [--transfer full features]

Without runs, it compares the n-gram classifier and TF-IDF, which need none. A run comes from `stairs train` or `stairs adopt`; its pretraining is
not timed.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from side_by_side import conditions, data, stairs
from stairs.text.labelled import read_examples
from stairs.training.run import load as open_run

TIMED = 200  # texts, answered one by one


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--train")
    parser.add_argument("--dev")
    parser.add_argument("--test")
    parser.add_argument("--limit", type=int, default=5000)
    parser.add_argument("--transfer", nargs="+", default=["full"])
    options = parser.parse_args()
    files = {part: options.__dict__[part] or data(f"classify/sst2/{part}.tsv") for part in ("train", "dev", "test")}
    texts = [example.text for example in list(read_examples(files["test"], "classify").examples)[:TIMED]]
    named = [("n-gram", "ngram"), ("TF-IDF", "tfidf"), *(tuple(run.split("=", 1)) for run in options.runs)]
    print(f"{'model':12}{'transfer':10}{'accuracy':>10}{'macro-F1':>10}{'train s':>9}{'ms/text':>9}   {conditions()}")
    with tempfile.TemporaryDirectory() as folder:
        for name, run in named:
            for transfer in options.transfer if run not in ("ngram", "tfidf") else [""]:
                judge(name, run, transfer, files, texts, Path(folder), options.limit)


def judge(name: str, run: str, transfer: str, files: dict[str, Any], texts: list[str], folder: Path, most: int) -> None:
    out = folder / f"{name}-{transfer}"
    how = ["--transfer", transfer] if transfer else []
    flags = ["--task", "classify", "--dev", files["dev"], "--test", files["test"], "--limit", most, "--out", out, "--json", "--quiet"]
    report = json.loads(stairs("tune", run, files["train"], *flags, *how, cache=folder))
    task = open_run(out)
    task.answer(texts[0])
    began = time.perf_counter()
    for text in texts:
        task.answer(text)
    each = (time.perf_counter() - began) * 1000 / len(texts)
    test = report["test"]
    scores = f"{test['accuracy']['value']:10.4f}{test['macro_f1']['value']:10.4f}"
    print(f"{name:12}{transfer or '-':10}{scores}{report['dev']['seconds']:9.1f}{each:9.2f}", flush=True)


if __name__ == "__main__":
    main()
