"""Bits per character of the 5-gram, NNLM and GPT on the same held-out text against training minutes, as one plot.

python benchmarks/language_models.py [--megabytes 10] [--budget 30m] [--threads 1] [--out FOLDER]

NNLM and GPT train side by side, one thread each. If it is interrupted, the same command resumes it.
"""

import argparse
import lzma
import os
import subprocess
import sys
from pathlib import Path

from side_by_side import conditions, data, stairs
from stairs.pictures.climb import curves
from stairs.training.run import Run

COUNTED = {"5-gram, words": ["--tokenizer", "words"], "5-gram, byte-bpe": ["--tokenizer", "byte-bpe"]}
LEARNED = ["nnlm", "gpt"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--budget", default="30m")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", default="runs/language-models")
    options = parser.parse_args()
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    text = out / "text.txt"
    with lzma.open(data("corpora/wiki_en.txt.xz")) as packed:
        text.write_bytes(packed.read(options.megabytes * 1_000_000).rsplit(b"\n", 1)[0])
    folders = {name: out / name.replace(", ", "-") for name in [*COUNTED, *LEARNED]}
    for name, flags in COUNTED.items():
        stairs("train", "ngram", text, "--order", 5, "--out", folders[name], *flags, cache=out / "cache")
    flags = ["--budget", options.budget, "--threads", str(options.threads)]
    begun = [
        subprocess.Popen(
            [sys.executable, "-m", "stairs", "train", model, text, "--out", folders[model], *flags],
            env={**os.environ, "XDG_CACHE_HOME": str(out / "cache")},
        )
        for model in LEARNED
    ]
    if any(process.wait() for process in begun):
        sys.exit("a training failed")
    show(folders, out / "curves.svg")


def show(folders: dict[str, Path], picture: Path) -> None:
    points, levels = [], []
    for name, folder in folders.items():
        evaluations = [row for row in Run(folder).metrics() if "bits_per_character" in row]
        last = evaluations[-1]
        print(f"{name:18} {last['bits_per_character']['value']:.4f} bits per character after {last['seconds'] / 60:.2f} minutes; {conditions()}")
        if name in LEARNED:
            on_the_way = [row for row in evaluations if "trained_steps" not in row]  # on validation text; the last row is on test text
            points += [{"series": name, "minutes": row["seconds"] / 60, "value": row["bits_per_character"]["value"]} for row in on_the_way]
        else:
            levels.append({"series": name, "value": last["bits_per_character"]["value"]})
    curves(points, levels).save(picture)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
