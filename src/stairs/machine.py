"""What this machine does natively, detected once. Everything that chooses a precision, a number of threads or a fast path asks here.

Three kinds of processor matter for speed: bfloat16 in hardware (AVX512-BF16, AMX, or ARM with bf16), AVX-512 without it, and AVX2, the ordinary one.
Both the processor and oneDNN, PyTorch's library of matrix products, must support a feature: PyTorch reads the first and ignores ONEDNN_MAX_CPU_ISA,
which limits the second. The same limit lets a machine with more features emulate an ordinary one.
"""

import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stairs.errors import BadInput
from stairs.progress import say

if TYPE_CHECKING:
    import torch

WAIT_POLICY, SPIN_COUNT, SHORT_SPIN = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "10000"
LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # the second is its older name
HAS_AVX512 = ("AVX512", "AVX10")  # prefixes of the limits that still allow it
HAS_BF16 = ("AVX512_CORE_BF16", "AVX512_CORE_FP16", "AVX512_CORE_AMX", "AVX10")
HAS_VNNI = ("AVX512_CORE_VNNI", *HAS_BF16)
HAS_AVX_VNNI = ("AVX2_VNNI", "AVX512_CORE_FP16", "AVX512_CORE_AMX", "AVX10")
KIND_NAMES = {
    "bf16": "bfloat16 in hardware",
    "avx512": "AVX-512 without bfloat16",
    "avx2": "AVX2, without AVX-512 and bfloat16: the ordinary kind",
    "other": "neither AVX2 nor bfloat16 in hardware",
}
PROBE_ROWS, PROBE_WIDTH, PROBE_SECONDS = 512, 256, 0.15  # of the matrix products whose speed is measured
MEMORY_ERROR_PHRASES = ("can't allocate memory", "out of memory", "not enough memory", "unable to mmap", "Cannot allocate memory")
_wait_policy: dict[str, str] = {}  # how threads wait, decided when the package is imported


def prepare_threads() -> None:
    """Let PyTorch's threads sleep while they wait, unless the environment says otherwise. By default they spin, and where other processes use the
    same cores that costs a factor of two to ten. Start no more threads than the control group allows. It only works before torch is imported.

    They spin for a moment before they sleep, since models of many small operations would wake them thousands of times a second. On two idle cores
    ELMo encodes a text in 4.8 ms without that moment, in 0.85 with it and in 0.62 if threads always spin; an update of GPT mini takes 290, 324 and
    298 ms there, and beside four busy processes 804, 1147 and 1854."""
    if cores() < allowed_cores():
        os.environ.setdefault("OMP_NUM_THREADS", str(cores()))
    if WAIT_POLICY in os.environ:
        _wait_policy.setdefault("policy", os.environ[WAIT_POLICY].lower())
    elif "torch" in sys.modules:
        _wait_policy.setdefault("policy", "active: torch was imported before stairs")
    else:
        os.environ[WAIT_POLICY] = "passive"
        os.environ.setdefault(SPIN_COUNT, SHORT_SPIN)
        _wait_policy.setdefault("policy", "passive")


@cache
def cpu_capabilities() -> dict[str, Any]:
    """What PyTorch detects of the processor: avx2, avx512_f, avx512_bf16, avx512_vnni, avx_vnni, amx_bf16, ..."""
    import torch

    return dict(getattr(torch.cpu, "get_capabilities", dict)())


def isa_limit() -> str:
    """The largest instruction set that oneDNN may use, as the environment says; empty without a limit."""
    return next((os.environ[name].upper() for name in LIMITS if os.environ.get(name, "").upper() not in ("", "ALL", "DEFAULT")), "")


def isa_allows(*names: str) -> bool:
    return not isa_limit() or isa_limit().startswith(names)


def is_arm() -> bool:
    return platform.machine().lower() in ("arm64", "aarch64")


@cache
def has_bf16() -> bool:
    """Whether the processor multiplies bfloat16 itself. Emulated, that is ten and more times slower than float32."""
    import torch

    if is_arm():
        try:
            return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
        except (RuntimeError, AttributeError):
            return False
    features = cpu_capabilities()
    return bool(features.get("avx512_bf16") or features.get("amx_bf16") or features.get("amx_tile")) and has_avx512() and isa_allows(*HAS_BF16)


@cache
def has_avx512() -> bool:
    return bool(cpu_capabilities().get("avx512_f")) and isa_allows(*HAS_AVX512) and "avx512" in vector_code()


@cache
def has_int8() -> bool:
    """Whether products of bytes are accumulated in 32 bits (VNNI). Without it, pairs of products of unsigned and signed bytes are added in 16 bits,
    which saturate."""
    features = cpu_capabilities()
    if is_arm():
        return True  # its products of bytes do not saturate
    return bool((features.get("avx512_vnni") and isa_allows(*HAS_VNNI)) or (features.get("avx_vnni") and isa_allows(*HAS_AVX_VNNI)))


def vector_code() -> str:
    """The variant of PyTorch's compiled code that runs: avx512, avx2, default, ... ATEN_CPU_CAPABILITY limits it."""
    import torch

    return torch.backends.cpu.get_cpu_capability().lower()


@cache
def processor_kind() -> str:
    """A key of `KIND_NAMES`."""
    if has_bf16():
        return "bf16"
    if has_avx512():
        return "avx512"
    return "avx2" if cpu_capabilities().get("avx2") and "default" not in vector_code() else "other"


def precisions() -> tuple[str, ...]:
    """The native precisions of training, the usually fastest first."""
    return ("bf16", "fp32") if has_bf16() else ("fp32",)


@cache
def bf16_slowdown() -> float:
    """How many times as long as in float32 a matrix product takes in bfloat16, measured in a few milliseconds."""
    import torch

    times = []
    for kind in (torch.float32, torch.bfloat16):
        a, b = torch.ones(256, 256, dtype=kind), torch.ones(256, 512, dtype=kind)
        a @ b
        started = time.perf_counter()
        for _ in range(3):
            a @ b
        times.append(time.perf_counter() - started)
    return times[1] / times[0]


@cache
def cores() -> int:
    """The cores this process may run on, and no more than the quota of its control group."""
    return max(1, min(allowed_cores(), cgroup_quota() or allowed_cores()))


def allowed_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cgroup_quota() -> int | None:
    """Cores that the control group allows, rounded up; None without a limit."""
    group = Path("/sys/fs/cgroup")
    for files in ([group / "cpu.max"], [group / "cpu" / "cpu.cfs_quota_us", group / "cpu" / "cpu.cfs_period_us"]):  # cgroup version 2 and version 1
        try:
            allowed, period = " ".join(file.read_text() for file in files).split()
            if allowed != "max" and int(allowed) > 0:
                return -(-int(allowed) // int(period))
        except (OSError, ValueError):
            continue
    return None


def description() -> dict[str, Any]:
    """What `stairs doctor` prints, run.json records and benchmarks print."""
    features = cpu_capabilities()
    return {
        "kind": processor_kind(),
        "processor": str(features.get("cpu_name") or platform.processor() or platform.machine()),
        "cores": cores(),
        "bf16": "native" if has_bf16() else "emulated",
        "int8": "native" if has_int8() else "in pairs of at most 8 bits",
        "limit": isa_limit() or "none",
        "vector_code": vector_code(),
        "wait_policy": _wait_policy.get("policy", "not set"),
    }


@cache
def gigaflops(threads: int | None = None) -> float:
    """Billions of float32 operations a second in matrix products like those of training, from a probe of at most a fifth of a second, with as many
    threads as PyTorch uses, or fewer. Other processes slow the probe as they will slow the training."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(threads or before, cores())))
    try:
        with torch.inference_mode():
            a, b = torch.ones(PROBE_ROWS, PROBE_WIDTH), torch.ones(PROBE_WIDTH, 4 * PROBE_WIDTH)
            product = a @ b  # allocates memory and loads the kernel
            times: list[float] = []
            probe_started = time.perf_counter()
            while time.perf_counter() - probe_started < PROBE_SECONDS or len(times) < 3:
                started = time.perf_counter()
                torch.mm(a, b, out=product)
                times.append(time.perf_counter() - started)
        return 2 * a.numel() * b.shape[1] / (sum(times) / len(times)) / 1e9
    finally:
        torch.set_num_threads(before)


def versions() -> dict[str, str]:
    """The software that a result depends on besides its settings."""
    import numpy
    import torch

    from stairs.version import __version__

    return {
        "stairs": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(),
    }


def find_device(name: str) -> "torch.device":
    """`auto` is the first GPU, else the CPU; a device given by name must exist."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    available = torch.cuda.device_count() if device.type == "cuda" else 1
    if available == 0:
        raise BadInput("no CUDA device; use --device cpu")
    if (device.index or 0) >= available:
        raise BadInput(f"no CUDA device {device.index}; there are {available}, counted from 0")
    return device


@contextmanager
def cpu_threads(count: int | None) -> Iterator[None]:
    """This many CPU threads inside the `with`; None leaves them as they are."""
    import torch

    before = torch.get_num_threads()
    if count is not None:
        if count > cores():
            say(f"--threads {count} is more than the {cores()} available cores; using {cores()}")
        torch.set_num_threads(min(count, cores()))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_memory_error(error: BaseException) -> bool:
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(phrase in str(error) for phrase in MEMORY_ERROR_PHRASES)
