"""The peak memory of a piece of work: resident megabytes above what the process held when the work started.

It counts weights, gradients, the optimizer's state, features, encoded examples, and the pages of mapped files that were touched. It does not count
what was there before: the interpreter, libraries, the labelled examples. Memory that the allocator holds back from earlier work is returned to the
system first, or the next piece of work could hide in it.

On Linux the kernel records the peak, and writing 5 to /proc/self/clear_refs resets it; where that is not allowed, a thread samples the memory every
few milliseconds. On other systems the peak of the process never falls, so work that needs less than something before it has no number.
"""

import ctypes
import gc
import resource
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

STATUS_FILE, CLEAR_FILE = Path("/proc/self/status"), Path("/proc/self/clear_refs")
SAMPLE_INTERVAL = 0.01  # seconds between two samples of the thread


class PeakMemory:
    """`with PeakMemory() as peak: work()`, then `peak.megabytes`; None where it cannot be measured."""

    megabytes: float | None = None

    def __enter__(self) -> "PeakMemory":
        release_memory()
        self.before = resident_megabytes()
        self.sampled_peak, self.is_done = self.before or 0.0, threading.Event()
        self.kernel_counts = reset_peak()
        self.sampler: threading.Thread | None = None
        if not self.kernel_counts and self.before is not None:
            self.sampler = threading.Thread(target=self.sample, daemon=True)
            self.sampler.start()
        self.process_peak = process_peak()
        return self

    def sample(self) -> None:
        while not self.is_done.wait(SAMPLE_INTERVAL):
            self.sampled_peak = max(self.sampled_peak, resident_megabytes() or 0.0)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.is_done.set()
        if self.sampler is not None:
            self.sampler.join()
        if self.before is not None:
            peak = (status_megabytes("VmHWM") or 0.0) if self.kernel_counts else max(self.sampled_peak, resident_megabytes() or 0.0)
            self.megabytes = round(max(peak - self.before, 0.0), 1)
        elif process_peak() > self.process_peak:
            self.megabytes = round(process_peak() - self.process_peak, 1)


def release_memory() -> None:
    """Return unused memory from the garbage collector and the allocator to the system."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # glibc's


def freeze_heap() -> None:
    """What there is now stays, so that collecting garbage before a measurement need not go through it: through all libraries and a large set of
    examples that takes over a second. `gc.unfreeze` ends it."""
    gc.collect()
    gc.freeze()


def reset_peak() -> bool:
    """Whether the kernel started to record the peak anew."""
    try:
        CLEAR_FILE.write_text("5")
    except OSError:
        return False
    return status_megabytes("VmHWM") is not None


def resident_megabytes() -> float | None:
    return status_megabytes("VmRSS")


def status_megabytes(name: str) -> float | None:
    """A line of /proc/self/status, in MB."""
    with suppress(OSError, ValueError, IndexError):
        for line in STATUS_FILE.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024 / 1e6
    return None


def process_peak() -> float:
    """The peak of the process since it started, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
