"""Large blocks that come and go are fetched from the system once."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys, torch
from stairs.kernels.allocator import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
def faults():
    for _ in range(20):
        torch.zeros(10_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
before = faults()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator can be told")
def test_freed_memory_is_kept():
    commands = ([sys.executable, "-c", FAULTS, how] for how in ("kept", "given back"))
    kept, given_back = (int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for command in commands)
    assert kept < given_back / 10
