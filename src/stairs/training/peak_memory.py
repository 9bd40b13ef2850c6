"""The peak memory of a piece of work: resident megabytes above what the process held when the work began.

Counted are weights, gradients, the optimizer's state, features, examples as the model reads them, and the pages of mapped files that were touched.
Not counted is what was there before: the interpreter, libraries, the labelled examples. What the allocator holds back from work before is given back
to the system first, or the next piece of work could hide in it.

On Linux the kernel keeps the peak, and writing 5 to /proc/self/clear_refs sets it back; where that is not allowed, a thread looks every few
milliseconds. On other systems the peak of the process never falls, so work that needs less than something before it has no number.
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
SAMPLE_INTERVAL = 0.01  # seconds between two looks of the thread


class PeakMemory:
    """`with PeakMemory() as peak: work()`, then `peak.format_megabytes`; None where nothing can be told."""

    megabytes: float | None = None

    def __enter__(self) -> "PeakMemory":
        release_memory()
        self.before = resident_megabytes()
        self.seen, self.done = self.before or 0.0, threading.Event()
        self.kernel_counts = reset_peak()
        self.looking: threading.Thread | None = None
        if not self.kernel_counts and self.before is not None:
            self.looking = threading.Thread(target=self.look, daemon=True)
            self.looking.start()
        self.highest = process_peak()
        return self

    def look(self) -> None:
        while not self.done.wait(SAMPLE_INTERVAL):
            self.seen = max(self.seen, resident_megabytes() or 0.0)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.done.set()
        if self.looking is not None:
            self.looking.join()
        if self.before is not None:
            peak = (status_megabytes("VmHWM") or 0.0) if self.kernel_counts else max(self.seen, resident_megabytes() or 0.0)
            self.megabytes = round(max(peak - self.before, 0.0), 1)
        elif process_peak() > self.highest:
            self.megabytes = round(process_peak() - self.highest, 1)


def release_memory() -> None:
    """What nobody uses any more, from the garbage collector to the allocator to the system."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # glibc's


def reset_peak() -> bool:
    """Whether the kernel began to count anew."""
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
    """The peak of the process since it began, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
