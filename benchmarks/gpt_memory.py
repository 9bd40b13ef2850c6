"""Bits per character of a gpt with and without Transformer-XL's memory, at one context and equal CPU time of training.

python benchmarks/gpt_memory.py [--memories 0 64 128] [--context 64] [--seconds 90] [--size micro] [--megabytes 3] [--out FOLDER]

A few updates of each are timed first, in CPU seconds, so that other work on the machine does not count; each then makes as many as fit. All have the
same positions, which a memory needs. If it is interrupted, the same command resumes it.
"""

import argparse
import lzma
from pathlib import Path
from typing import Any

from side_by_side import conditions, data, stairs
from stairs.training.run import Run

PROBE_STEPS = (10, 60)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memories", type=int, nargs="+", default=[0, 64, 128])
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--positions", default="rotary")
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--size", default="micro")
    parser.add_argument("--megabytes", type=int, default=3)
    parser.add_argument("--out", default="runs/gpt-memory")
    options = parser.parse_args()
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    text = out / "text.txt"
    with lzma.open(data("corpora/wiki_en.txt.xz")) as packed:
        text.write_bytes(packed.read(options.megabytes * 1_000_000).rsplit(b"\n", 1)[0])
    shared = ["--size", options.size, "--context", options.context, "--positions", options.positions, "--threads", 1]

    def train(memory: int, steps: int, folder: Path) -> dict[str, Any]:
        """The last row of the log, which has the test text and all CPU seconds."""
        own = ["--memory", memory, "--steps", steps, "--evaluate-every", steps, "--save-every", steps, "--out", folder]
        stairs("train", "gpt", text, *shared, *own, cache=out / "cache")
        return Run(folder).metrics()[-1]

    for memory in options.memories:
        few, more = (train(memory, steps, out / f"probe-{memory}-{steps}")["cpu_seconds"] for steps in PROBE_STEPS)
        cost = (more - few) / (PROBE_STEPS[1] - PROBE_STEPS[0])  # of an update; both evaluate equally often
        steps = int(options.seconds / cost)
        last = train(memory, steps, out / f"memory-{memory}")
        bits, updating = last["bits_per_character"], last["cpu_seconds"] - few + PROBE_STEPS[0] * cost
        print(
            f"context {options.context}, memory {memory:4}: {bits['value']:.4f} [{bits['low']:.4f}, {bits['high']:.4f}] bits per character of test "
            f"text after {steps} updates in {updating:.0f} CPU seconds; {conditions()}",
            flush=True,
        )


if __name__ == "__main__":
    main()
