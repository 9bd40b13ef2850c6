"""Exact nearest neighbours beside gensim: one query at a time, many at once, and opening a million vectors.

python benchmarks/nearest.py [--words 100000] [--width 300] [--questions 200] [--batch 2000] [--repeats 9] [--opened 1000000]

The vectors lie in clusters, as words do. Both search the same rows with the same number of threads, and the neighbours of both are compared: every
one of ours must have a cosine as high as the peer's at its place.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from side_by_side import conditions
from stairs.formats import word_vectors
from stairs.formats.word_vectors import WordVectorFile
from stairs.search.nearest import NearestNeighbours
from stairs.tasks import WordVectors
from stairs.training.run import FORMAT, Run

TOP = 10
ROUNDING = 1e-5  # of the peer's float32


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, usual in (("words", 100_000), ("width", 300), ("questions", 200), ("batch", 2000), ("repeats", 9), ("opened", 1_000_000)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    vectors = clustered(options.words, options.width)
    asked = np.random.default_rng(1).integers(0, options.words, options.batch)
    compare(vectors, asked, options)
    opening(options)


def clustered(words: int, width: int) -> np.ndarray:
    random = np.random.default_rng(0)
    centres = random.standard_normal((max(words // 100, 1), width), np.float32)
    spread = random.uniform(0.5, 1.5, (words, 1)).astype(np.float32)
    return centres[random.integers(0, len(centres), words)] + spread * random.standard_normal((words, width), np.float32)


def compare(vectors: np.ndarray, asked: np.ndarray, options: argparse.Namespace) -> None:
    index = NearestNeighbours(vectors)
    index.make_copy()
    few = asked[: options.questions]
    jobs = {
        "ours, one by one": lambda: [index.nearest(vectors[row : row + 1], TOP + 1) for row in few.tolist()],
        "ours, together": lambda: index.nearest(vectors[asked], TOP + 1),
    }
    peer = keyed(vectors)
    if peer is not None:
        names = [f"w{row}" for row in few.tolist()]
        jobs["gensim, one by one"] = lambda: [peer.most_similar(name, topn=TOP) for name in names]
        check(index, vectors, peer, few)
    counts = {name: len(asked) if "together" in name else len(few) for name in jobs}
    rates: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(options.repeats):
        for name, job in jobs.items():
            began = time.perf_counter()
            job()
            rates[name].append(counts[name] / (time.perf_counter() - began))
    print(f"\n{len(vectors):,} x {vectors.shape[1]}, the {TOP} nearest, exact; {conditions()}")
    middle = {name: statistics.median(found) for name, found in rates.items()}
    for name, rate in middle.items():
        print(f"  {name:22} {rate:9.0f} questions/s   ({min(rates[name]):.0f} to {max(rates[name]):.0f})")
    if peer is not None:
        for name in ("ours, one by one", "ours, together"):
            print(f"  {name:22} {middle[name] / middle['gensim, one by one']:9.2f}x gensim")


def keyed(vectors: np.ndarray):
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        print("gensim is not installed, so ours runs alone")
        return None
    found = KeyedVectors(vectors.shape[1], len(vectors))
    found.add_vectors([f"w{row}" for row in range(len(vectors))], vectors)
    found.fill_norms()
    return found


def check(index: NearestNeighbours, vectors: np.ndarray, peer, few: np.ndarray) -> None:
    rows, cosines = index.nearest(vectors[few], TOP + 1)
    for row, near, own in zip(few.tolist(), rows.tolist(), cosines.tolist(), strict=True):
        ours = [(f"w{other}", cosine) for other, cosine in zip(near, own, strict=True) if other != row][:TOP]
        theirs = peer.most_similar(f"w{row}", topn=TOP)
        worst = max(b - a for (_, a), (_, b) in zip(ours, theirs, strict=True))
        if worst > ROUNDING:
            sys.exit(f"w{row}: the peer found a neighbour that is nearer by {worst}")
    print(f"the neighbours of {len(few)} words are the peer's")


def opening(options: argparse.Namespace) -> None:
    """Time from a folder on disk to the first answer, in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        random = np.random.default_rng(0)
        rows = random.standard_normal((options.opened, options.width), np.float32)
        task = WordVectors(*word_vectors.to_model(WordVectorFile([f"w{row}" for row in range(options.opened)], rows, "")))
        run = Run(Path(folder) / "run")
        with run.open_for_writing({"format": FORMAT, **task.describe()}):
            run.save_model(task)
        del rows, task
        code = f"""import time, stairs
from stairs.inspection.words import neighbours
import stairs.training.run, stairs.tasks
began = time.perf_counter()
task = stairs.load({str(run.folder)!r})
opened = time.perf_counter() - began
neighbours(task, "w123456")
answered = time.perf_counter() - began
print(f"opened in {{opened:.3f}} s, first answer after {{answered:.2f}} s")"""
        for attempt in ("first", "second"):
            printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
            print(f"  {options.opened:,} x {options.width}, {attempt} time: {printed}")


if __name__ == "__main__":
    main()
