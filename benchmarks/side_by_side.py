"""What the benchmarks share: running ours and the peer in turn, medians and ratios, and a description of the machine and its load."""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from stairs import machine

FOLDER = Path(__file__).resolve().parent


def wait_passively() -> None:
    """PyTorch reads the wait policy of its threads when it is imported, which is before any code of ours runs. So a benchmark without the
    setting starts itself again with it; ours and every peer then wait in the same way."""
    if machine.WAIT_POLICY not in os.environ and Path(sys.argv[0]).resolve().parent == FOLDER:
        os.environ[machine.WAIT_POLICY] = "passive"
        os.environ.setdefault(machine.SPIN_COUNT, machine.SHORT_SPIN)
        os.execv(sys.executable, sys.orig_argv)


wait_passively()
PRECISIONS = ("fp32", "bf16", "int8") if machine.has_bf16() else ("fp32", "int8")  # emulated bf16 says nothing about speed


def data(path: str) -> Path:
    """A file of the real data; without it the benchmark ends and says why."""
    folder = os.environ.get("STAIRS_DATA")
    if not folder or not (Path(folder) / path).exists():
        sys.exit(f"skipped: STAIRS_DATA is not set to a folder with {path}")
    return Path(folder) / path


def in_turn(jobs: dict[str, Callable[[], None]], repeats: int) -> dict[str, dict[str, float]]:
    """Run the jobs one after the other, again and again; the median wall and CPU seconds of each."""
    wall: dict[str, list[float]] = {name: [] for name in jobs}
    cpu: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            began, used = time.perf_counter(), cpu_seconds()
            job()
            wall[name].append(time.perf_counter() - began)
            cpu[name].append(cpu_seconds() - used)
    return {name: {"wall": statistics.median(wall[name]), "cpu": statistics.median(cpu[name])} for name in jobs}


def cpu_seconds() -> float:
    """Of this process and of its finished children."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def stairs(*arguments: object, cache: Path) -> str:
    command = [sys.executable, "-m", "stairs", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": str(cache)}).stdout


def conditions() -> str:
    """The machine that a figure was measured on, and its load."""
    found = machine.description()
    able = f"bf16 {found['bf16']}, int8 {found['int8']}, threads wait {found['wait_policy']}"
    kind = f"{machine.KIND_NAMES[found['kind']]} ({found['processor']}, {able})"
    return f"{kind}; load {os.getloadavg()[0]:.1f} on {found['cores']} cores"
