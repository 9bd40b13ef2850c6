"""The C library's allocator, told to keep what was freed: a training asks for the same large blocks at every step, and by default each of them is
given back to the system and fetched again, page by page."""

import ctypes
import os

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # the parameters' numbers in malloc.h
LARGEST = 1 << 30  # bytes that are kept


def keep_freed_memory() -> bool:
    """Whether the allocator could be told so; only glibc can."""
    if "CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", {}):
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(MMAP_THRESHOLD, LARGEST)) and bool(library.mallopt(TRIM_THRESHOLD, LARGEST))
