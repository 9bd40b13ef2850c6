"""stairs doctor: what this machine can do, and what is missing."""

import importlib.util
import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from stairs import machine
from stairs.cache import cache_folder
from stairs.commands.flags import CommonFlags, parse, show
from stairs.version import __version__

ABOUT = "What this machine can do, and what is missing. Exit code 3 if something that every command needs is missing."
NEEDED = ("torch", "numpy", "numba", "safetensors", "tokenizers", "jieba", "zstandard", "tyro", "rich", "sklearn", "sympy")
EXTRAS = {
    "rjieba": "Chinese words fast; without it jieba is used: pip install rjieba",
    "pyarrow": "parquet files: pip install 'stairs[parquet]'",
}


@dataclass(frozen=True)
class Doctor(CommonFlags):
    pass


def main(arguments: list[str]) -> int:
    options = parse(Doctor, arguments, "doctor", ABOUT)
    found = examine()
    if options.json:
        show(found)
    else:
        for name, value in found.items():
            print(f"{name.replace('_', ' '):18} {', '.join(value) or 'none' if isinstance(value, list) else value}")
    return 3 if found["missing"] else 0


def examine() -> dict[str, object]:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    found: dict[str, object] = {
        "stairs": __version__,
        "python": platform.python_version(),
        "cores": machine.cores(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "free_here_gb": round(shutil.disk_usage(Path.cwd()).free / 1e9, 1),
        "cache": str(cache_folder()),
        "cache_writable": writable(cache_folder()),
    }
    if "torch" not in missing:
        import torch

        about = machine.description()
        found |= {"torch": torch.__version__, "machine": machine.KIND_NAMES[about["kind"]], **about, "threads": torch.get_num_threads()}
        found["gpu"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    found["missing"] = missing
    found["could_be_added"] = [f"{name} ({use})" for name, use in EXTRAS.items() if importlib.util.find_spec(name) is None]
    return found


def writable(folder: Path) -> bool:
    there = next(parent for parent in [folder, *folder.parents] if parent.exists())
    return os.access(there, os.W_OK)
