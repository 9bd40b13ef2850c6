"""Runs of a command that are killed at one system call: a server that imports everything once and forks a child for each run.

python kill_at_calls.py FOLDER CORPUS CALLS [fresh]   prints a JSON object for each call it was killed at, until a run survives.
Each child stops, strace takes it over with the order to kill it at its k-th call, and it goes on. With `fresh` each has a cache of its own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

os.environ["NUMBA_NUM_THREADS"] = "1"
import torch

from stairs import api
from stairs.cli import main
from stairs.files import sha256, verified_manifest
from stairs.training import fit

IMPORTED = api, fit  # a child would otherwise import them itself, which takes a second

MAX_CALLS = 400


def start_training(out: Path, corpus: str, cache: str, stopped: bool) -> int:
    number = os.fork()
    if number:
        return number
    os.environ["XDG_CACHE_HOME"] = cache
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    torch.set_num_threads(1)
    if stopped:
        os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(main(["train", "ngram", corpus, "--out", str(out), "--quiet"]))


def attach_strace(number: int, calls: str, when: int) -> subprocess.Popen:
    os.waitpid(number, os.WUNTRACED)
    order = f"inject={calls}:signal=KILL:when={when}"
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-e", f"trace={calls}", "-e", order, "-o", "/dev/null", "-p", str(number)])
    while f"TracerPid:\t{tracer.pid}" not in Path(f"/proc/{number}/status").read_text():
        if tracer.poll() is not None:
            sys.exit("strace could not attach")
        time.sleep(0.005)
    os.kill(number, signal.SIGCONT)
    return tracer


def wait_for(number: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def state(out: Path) -> dict:
    """What is on the disk afterwards."""
    verified_manifest(out / "model")
    hashes = {path.name: sha256(path) for path in sorted((out / "model").iterdir())}
    leftovers = sorted(path.name for path in out.rglob("*") if path.name.startswith((".tmp-", ".old-")))
    return {"model": hashes, "leftovers": leftovers, "lines": len((out / "metrics.jsonl").read_text().splitlines()), "files": sorted(os.listdir(out))}


def run_series(folder: Path, corpus: str, calls: str, fresh: bool) -> None:
    cache = str(folder / "cache")
    wait_for(start_training(folder / "reference", corpus, cache, False))
    print(json.dumps({"when": 0, "reference": state(folder / "reference")}), flush=True)
    for when in range(1, MAX_CALLS):
        out = folder / f"run-{when}"
        own = str(folder / f"cache-{when}") if fresh else cache
        number = start_training(out, corpus, own, True)
        tracer = attach_strace(number, calls, when)
        first = wait_for(number)
        tracer.wait()
        again = wait_for(start_training(out, corpus, own, False))
        print(json.dumps({"when": when, "first": first, "again": again, "state": state(out) if again == 0 else None}), flush=True)
        if first == 0:
            return


if __name__ == "__main__":
    run_series(Path(sys.argv[1]), sys.argv[2], sys.argv[3], "fresh" in sys.argv[4:])
