"""Two checkouts in turn: CPU seconds of the same commands, and their ratio. A change of names or seams must leave it at 1.

python benchmarks/checkouts.py OLD NEW [--rounds 7] [--only bert_train word2vec]

OLD and NEW are working copies of this project whose kernels are compiled. Each round runs a process of either, which first runs every command once to
warm up; the order changes from round to round. Only flags that both have are used: nothing is imported from either here. One thread. Each command
takes 2 s or more, so that what it does once at its start does not count. The ratio is that of the medians, and its 95 % interval is a bootstrap over
the rounds: a round is drawn with both of its numbers, since what else the machine does disturbs both.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = ["soup", "bread", "rain", "snow", "wind", "rice", "fish", "tea", "road", "river", "hill", "house", "tree", "bird", "song", "night"]
CITIES = ["Rome", "Paris", "Kyoto", "Oslo", "Lima", "Cairo"]
NUMBERS = {
    "one": "yi",
    "two": "er",
    "three": "san",
    "four": "si",
    "five": "wu",
    "six": "liu",
    "seven": "qi",
    "eight": "ba",
    "nine": "jiu",
    "ten": "shi",
}

RESAMPLES = 10_000
TRAIN = "--precision fp32 --threads 1 --quiet --seed 1"
# name: (commands to prepare, the command that is timed); {out} is a new folder each time
WORK = {
    "bert_train": ([], "train bert text.txt --size mini --steps 6 --out {out} " + TRAIN),
    "gpt_train": ([], "train gpt text.txt --size mini --steps 6 --out {out} " + TRAIN),
    "gpt_generate": (["train gpt text.txt --size mini --steps 2 --out gpt " + TRAIN], "ask gpt --file prompts.txt --length 120 --quiet"),
    "translate": (
        ["train transformer --pairs pairs.tsv --size mini --steps 60 --out translator " + TRAIN],
        "ask translator --file numbers.txt --quiet",
    ),
    "bert_embed": (["train bert text.txt --size mini --steps 2 --out bert " + TRAIN], "embed bert --file long.txt --precision fp32 --json --quiet"),
    "word2vec": ([], "train skipgram words.txt --epochs 30 --out {out} --threads 1 --quiet --seed 1"),
}
CHILD = """
import contextlib, json, os, sys, time
os.environ.update(OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
sys.path.insert(0, sys.argv[1] + "/src")
from stairs import cli
def run(line):
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        code = cli.main(line.split())
    if code:
        sys.exit(f"stairs {line} ended with {code}")
seconds = {}
for name, (before, line) in json.loads(sys.argv[2]).items():
    for first in before:
        if not os.path.exists(first.split("--out ")[1].split()[0]):
            run(first)
    run(line.format(out="warm-" + name))
    began = time.process_time()
    run(line.format(out="timed-" + name))
    seconds[name] = time.process_time() - began
print(json.dumps(seconds))
"""


def write_inputs(folder: Path) -> None:
    dice = random.Random(0)
    sentence = lambda: f"there is {dice.choice(WORDS)} and {dice.choice(WORDS)} on the {dice.choice(WORDS)} in {dice.choice(CITIES)} today ."  # noqa: E731
    (folder / "text.txt").write_text("\n".join(sentence() + ("\n" if number % 8 == 7 else "") for number in range(10_000)))
    words = [f"{first}{second}{third}" for first in "bdfgklmnprst" for second in "aeiou" for third in WORDS]
    frequencies = [1 / rank for rank in range(1, len(words) + 1)]
    (folder / "words.txt").write_text("\n".join(" ".join(dice.choices(words, frequencies, k=20)) for _ in range(30_000)))
    (folder / "prompts.txt").write_text("\n".join(sentence() for _ in range(240)))
    (folder / "long.txt").write_text("\n".join(" ".join(sentence() for _ in range(dice.randint(1, 6))) for _ in range(800)))
    numbers = [[dice.choice(list(NUMBERS)) for _ in range(dice.randint(3, 9))] for _ in range(3000)]
    (folder / "pairs.tsv").write_text("\n".join(f"{' '.join(n)}\t{' '.join(NUMBERS[one] for one in n)}" for n in numbers))
    (folder / "numbers.txt").write_text("\n".join(" ".join(n) for n in numbers[:600]))


def measure(checkout: Path, names: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache", "PYTHONPATH": str(checkout / "src")}
        command = [sys.executable, "-c", CHILD, str(checkout), json.dumps({name: WORK[name] for name in names})]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{checkout}: {done.stderr.strip()[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])


def medians(rounds: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(old for old, _ in rounds), statistics.median(new for _, new in rounds)


def interval_of_ratio(rounds: list[tuple[float, float]]) -> tuple[float, float]:
    """The 95 % interval of median(new) / median(old)."""
    dice, ratios = random.Random(0), []
    for _ in range(RESAMPLES):
        old, new = medians(dice.choices(rounds, k=len(rounds)))
        ratios.append(new / old)
    ratios.sort()
    return ratios[round(0.025 * (RESAMPLES - 1))], ratios[round(0.975 * (RESAMPLES - 1))]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=list(WORK), default=list(WORK))
    options = parser.parse_args()
    rounds = []
    for number in range(options.rounds):
        order = (options.old, options.new) if number % 2 == 0 else (options.new, options.old)
        seconds = {checkout: measure(checkout.resolve(), options.only) for checkout in order}
        rounds.append((seconds[options.old], seconds[options.new]))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    print(f"CPU seconds of one thread, medians of {len(rounds)} rounds; new / old with the 95 % interval of a bootstrap over the rounds")
    for name in options.only:
        seconds_of_rounds = [(old[name], new[name]) for old, new in rounds]
        old, new = medians(seconds_of_rounds)
        low, high = interval_of_ratio(seconds_of_rounds)
        print(f"{name:14}{old:8.2f} {new:8.2f}   {new / old:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
