"""How long a climb takes to its first recommendation and to its end, for 200, 2,000 and 20,000 labelled rows.

    STAIRS_DATA=... python benchmarks/first_recommendation.py [--rows 200 2000] [--budget 10m] [--cold]

Rows are drawn from SST-2 (200 and 2,000) and from the titles of THUCNews (20,000). The clock is that of the command, with its imports; CPU seconds
are those of all its threads. With --cold the kernels are compiled anew, into a cache that is thrown away.
"""

import argparse
import csv
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCES = {200: ("sst2", ("train", "dev", "test")), 2000: ("sst2", ("train", "dev", "test")), 20_000: ("thucnews", ("train", "test"))}


def write_rows(path: Path, count: int) -> Path:
    """So many labelled rows as a table."""
    name, parts = SOURCES[count]
    folder = Path(os.environ["STAIRS_DATA"]) / "classify" / name
    rows = [line.split("\t") for part in parts for line in (folder / f"{part}.tsv").read_text("utf-8").splitlines()[1:]]
    random.Random(0).shuffle(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows[:count]])
    return path


def measure(count: int, budget: str, cold: bool) -> str:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as place:
        table, out = write_rows(Path(place) / f"rows{count}.csv", count), Path(place) / "climb"
        environment = dict(os.environ)
        if cold:
            environment |= {"NUMBA_CACHE_DIR": str(Path(place) / "numba"), "XDG_CACHE_HOME": str(Path(place) / "cache")}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [sys.executable, "-m", "stairs", "climb", str(table), "--budget", budget, "--out", str(out), "--quiet"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        report = json.loads((out / "report.json").read_text("utf-8"))
        first, last = report["first_recommendation"], report["recommendation"]
        megabytes = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 1e6
    kernels = "cold" if cold else "warm"
    return (f"| {count:,} | {kernels} | {first['seconds']:.0f} | {first['model']} | {seconds:.0f} | {cpu:.0f} | "
            f"{last['names']['en'] if last else 'none'} | {megabytes:.0f} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    print("| rows | kernels | s to the first recommendation | first | s to the end | CPU s | recommended | MB on disk |")
    print("|---|---|---|---|---|---|---|---|")
    for count in options.rows:
        print(measure(count, options.budget, options.cold), flush=True)


if __name__ == "__main__":
    main()
