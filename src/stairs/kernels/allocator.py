"""Keep freed memory: training allocates the same large blocks at every step, and by default the C library returns each of them to the system and
fetches it again, page by page."""

import ctypes
import os

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of malloc.h
LARGEST = 1 << 30  # bytes


def keep_freed_memory() -> bool:
    """Ask the allocator not to return memory; whether it can. Only glibc can."""
    if "CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", {}):
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(MMAP_THRESHOLD, LARGEST)) and bool(library.mallopt(TRIM_THRESHOLD, LARGEST))
