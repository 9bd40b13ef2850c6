"""What the benchmarks share: ours and the peer in turn, medians, ratios, and the load of the machine beside them."""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def data(path: str) -> Path:
    """A file of the real data, or the end of the benchmark with the reason."""
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
    """Of this process and of those it has waited for."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def stairs(*arguments: object, cache: Path) -> str:
    command = [sys.executable, "-m", "stairs", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": str(cache)}).stdout


def load() -> str:
    return f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
