"""BERT in bf16 beside fp32: the same seed, text and steps; both loss curves in one plot, and the difference between their final losses.

python benchmarks/bert_precision.py [--steps 3000] [--size mini] [--batch-tokens 2048] [--megabytes 50] [--out runs/precision]
"""

import argparse
import json
import lzma
import subprocess
import sys
from pathlib import Path

import numpy as np

from side_by_side import PRECISIONS, conditions, data
from stairs.pictures.climb import curves

SMOOTHED = 50  # steps in the moving average that is drawn
LAST = 200  # steps whose mean is the final loss


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--size", default="mini")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/precision"))
    options = parser.parse_args()
    if "bf16" not in PRECISIONS:
        sys.exit(f"skipped: bf16 is emulated here; {conditions()}")
    options.out.mkdir(parents=True, exist_ok=True)
    text = options.out / "wiki_en.txt"
    if not text.exists():
        with lzma.open(data("corpora/wiki_en.txt.xz")) as packed:
            text.write_bytes(packed.read(int(options.megabytes * 1e6)).rpartition(b"\n")[0])
    found = {precision: train(precision, text, options) for precision in ("fp32", "bf16")}
    points = [
        {"series": precision, "steps": (at + 1) * SMOOTHED, "value": float(value)}
        for precision, (losses, _) in found.items()
        for at, value in enumerate(losses[: len(losses) // SMOOTHED * SMOOTHED].reshape(-1, SMOOTHED).mean(1))
    ]
    curves(points, metric="loss in nats", along="steps").save(options.out / "precision.svg")
    print(f"BERT {options.size}, {options.steps} steps of {options.batch_tokens} tokens; {conditions()}")
    for precision, (losses, measured) in found.items():
        held = ", ".join(f"{name.replace('_', ' ')} {value['value']:.4f}" for name, value in measured.items() if isinstance(value, dict))
        print(f"  {precision}: loss of the last {LAST} steps {losses[-LAST:].mean():.4f}; held out: {held}; {measured['seconds']:.0f} s")
    ends = {precision: (losses[-LAST:].mean(), measured["loss"]["value"]) for precision, (losses, measured) in found.items()}
    training, held_out = (after / before - 1 for before, after in zip(ends["fp32"], ends["bf16"], strict=True))
    print(f"  bf16 ends {training:+.2%} apart in training and {held_out:+.2%} on held-out text; {options.out / 'precision.svg'}")


def train(precision: str, text: Path, options: argparse.Namespace) -> tuple[np.ndarray, dict]:
    """The loss of every step, and the last measurement."""
    run = options.out / precision
    flags = {"precision": precision, "steps": options.steps, "size": options.size, "batch-tokens": options.batch_tokens, "threads": options.threads}
    command = [sys.executable, "-m", "stairs", "train", "bert", text, "--out", run, "--patience", 0, "--seed", 0]
    subprocess.run([*map(str, command), *(str(word) for name, value in flags.items() for word in (f"--{name}", value))], check=True)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return np.array([line["loss"] for line in lines if "bits" in line]), lines[-1]


if __name__ == "__main__":
    main()
