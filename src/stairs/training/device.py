"""What the machine computes with: device, threads, and what a result depends on besides its settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import torch

from stairs.errors import BadInput, EnvironmentFault
from stairs.machine import cores
from stairs.progress import say
from stairs.training.options import TrainingOptions

MEMORY_ERROR_PHRASES = ("can't allocate memory", "out of memory", "not enough memory", "unable to mmap", "Cannot allocate memory")


def find_device(name: str) -> torch.device:
    """`auto` is the first GPU, or the CPU; what was asked for by name is there or refused."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    there = torch.cuda.device_count() if device.type == "cuda" else 1
    if there == 0:
        raise BadInput("no CUDA device; use --device cpu")
    if (device.index or 0) >= there:
        raise BadInput(f"no CUDA device {device.index}; there are {there}, counted from 0")
    return device


@contextmanager
def cpu_threads(count: int | None) -> Iterator[None]:
    """As many CPU threads as were asked for, inside the `with`."""
    before = torch.get_num_threads()
    if count is not None:
        if count > cores():
            say(f"--threads {count} is more than the {cores()} cores that are ours; {cores()} are used")
        torch.set_num_threads(min(count, cores()))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def environment(options: TrainingOptions, device: torch.device, workers: int, sweeping: bool = False) -> dict[str, Any]:
    """What the last bits of a result hang on."""
    if sweeping:  # by compiled loops of our own; --deterministic makes them independent of the threads
        free = {} if options.deterministic else {"threads": torch.get_num_threads()}
        return {**free, "numba": version("numba"), "cpu": torch.backends.cpu.get_cpu_capability(), "workers": workers}
    return {
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "device": device.type,
        "compile": options.compile,
        "workers": workers,
    }


def describe_differences(before: dict[str, Any], now: dict[str, Any]) -> str:
    """'not bit-exact: threads 2 -> 1', or nothing."""
    changed = [f"{name} {before[name]} -> {now[name]}" for name in now if name in before and before[name] != now[name]]
    if not changed:
        return ""
    if [change.split()[0] for change in changed] == ["workers"]:
        return f"same data order, not bit-exact (world size {before['workers']} -> {now['workers']})"
    return "not bit-exact: " + ", ".join(changed)


def is_memory_error(error: BaseException) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in MEMORY_ERROR_PHRASES)


def batch_too_large(positions: int, parts: int | None) -> EnvironmentFault:
    advice = f"--accumulate {parts} fits, with the same result" if parts else "lower --batch-tokens, --context or --size"
    return EnvironmentFault(f"the memory is not enough for {positions} positions at once; {advice}")
