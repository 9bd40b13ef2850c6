"""Which instructions our loops may be compiled for; the environment can limit them below what the processor has."""

import numba

from stairs import machine


def has_avx2() -> bool:
    """Whether AVX2 may be compiled: the processor has it, and numba is not configured for another one."""
    is_configured = numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None
    return not machine.is_arm() and ("+avx2" in (numba.config.CPU_FEATURES or "") if is_configured else bool(machine.cpu_capabilities().get("avx2")))
