"""What the compiler of our loops may use, which the environment can limit apart from the processor."""

import numba

from stairs import machine


def has_avx2() -> bool:
    """Whether AVX2's instructions may be compiled: the processor has them, and nobody has told numba to compile for another."""
    told = numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None
    return not machine.is_arm() and ("+avx2" in (numba.config.CPU_FEATURES or "") if told else bool(machine.cpu_capabilities().get("avx2")))
