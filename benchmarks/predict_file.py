"""Rows per second and peak memory of `stairs ask RUN --file new.csv --out predictions.csv`, for each model that classifies.

python benchmarks/predict_file.py [--models tfidf ngram vectors cnn bert gpt elmo] [--rows 1000000] [--rows-of-others 20000] [--threads 1]

The runs learn SST-2's sentences in a few steps: what they predict does not matter here. The file has three columns, and the sentences of SST-2 again
and again. Rows per second are those of CPU time, of the whole process with its start; the peak is the resident memory of the process.
"""

import argparse
import csv
import itertools
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from side_by_side import conditions, data, stairs

LARGE = ("tfidf", "ngram", "vectors")  # that are asked about --rows
MODELS = (*LARGE, "cnn", "bert", "gpt", "elmo")
SHORT = ("--size", "nano", "--steps", "20")


class Usage(NamedTuple):
    cpu_seconds: float
    peak_megabytes: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--rows-of-others", type=int, default=20_000)
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = str(given.threads)
    print(conditions())
    print("model | rows | CPU s | rows per CPU second | peak MB")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sentences = read_sentences()
        write_training_file(folder, sentences)
        for model in given.models:
            rows = given.rows if model in LARGE else given.rows_of_others
            run, new = make_run(model, folder), folder / f"new-{rows}.csv"
            if not new.exists():
                write_new_file(new, [text for text, _ in sentences], rows)
            ask(run, new, folder, limit=True)  # compiles what must be compiled, and reads the file once
            used = ask(run, new, folder)
            print(f"{model} | {rows:,} | {used.cpu_seconds:.1f} | {rows / used.cpu_seconds:,.0f} | {used.peak_megabytes:.0f}", flush=True)


def read_sentences() -> list[tuple[str, str]]:
    lines = data("classify/sst2/train.tsv").read_text("utf-8").splitlines()[1:]
    return [(text, "pos" if label == "1" else "neg") for text, _, label in (line.partition("\t") for line in lines)]


def write_training_file(folder: Path, sentences: list[tuple[str, str]]) -> None:
    with (folder / "train.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("sentence", "label"), *sentences])
    (folder / "corpus.txt").write_text("".join(f"{text}\n" for text, _ in sentences), "utf-8")


def write_new_file(path: Path, texts: list[str], rows: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "sentence", "when"))
        writer.writerows((f"{number:07}", text, "2024-01-02") for number, text in enumerate(itertools.islice(itertools.cycle(texts), rows)))


def make_run(model: str, folder: Path) -> Path:
    """A run that classifies."""
    run, train, cache = folder / model, folder / "train.csv", folder / "cache"
    if model in ("tfidf", "ngram"):
        stairs("tune", model, train, "--out", run, cache=cache)
    elif model == "cnn":
        stairs("tune", "cnn", train, "--size", "nano", "--steps", 20, "--out", run, cache=cache)
    elif model == "vectors":
        stairs("train", "skipgram", folder / "corpus.txt", "--epochs", 1, "--width", 100, "--out", folder / "skipgram", cache=cache)
        make_vector_classifier(folder / "skipgram", train, run)
    else:
        stairs("train", model, folder / "corpus.txt", *SHORT, "--out", folder / f"pretrained-{model}", cache=cache)
        stairs("tune", folder / f"pretrained-{model}", train, "--transfer", "full", "--steps", 5, "--out", run, cache=cache)
    return run


def make_vector_classifier(words: Path, train: Path, run: Path) -> None:
    """As a climb does it."""
    import stairs as library
    from stairs.tasks.vector_classifier import VectorClassifier
    from stairs.text.labelled import read_examples
    from stairs.training.run import fit_once

    examples = read_examples(str(train), "classify").examples
    vectors = library.load(words)
    fit_once(run, {"task": "classify", "seed": 0}, lambda: VectorClassifier.train(list(examples), vectors), lambda task: {})  # type: ignore[arg-type]


def ask(run: Path, new: Path, folder: Path, limit: bool = False) -> Usage:
    """One prediction of a file, in a process of its own; with `limit`, of its first rows."""
    if limit:
        short = folder / "short.csv"
        with new.open(encoding="utf-8") as file:
            short.write_text("".join(itertools.islice(file, 200)), "utf-8")
        new = short
    command = [sys.executable, "-m", "stairs", "ask", str(run), "--file", str(new), "--out", str(folder / "predictions.csv"), "--quiet"]
    process, peak = subprocess.Popen(command), 0.0
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        peak = max(peak, peak_megabytes(process.pid))
        time.sleep(0.02)
    if ended[1]:
        sys.exit(f"{' '.join(command)} failed")
    return Usage(ended[2].ru_utime + ended[2].ru_stime, peak)


def peak_megabytes(process: int) -> float:
    """Of the program alone: what the system says of an ended process counts the memory of the one that started it, too."""
    with suppress(OSError, IndexError):
        status = Path(f"/proc/{process}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1000
    return 0.0


if __name__ == "__main__":
    main()
