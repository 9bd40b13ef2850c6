"""Old PyTorch weights are pickles, and a pickle can run code: this is the only place where they are read.

The zip is scanned first: no compression, nothing larger than the file, no name in the pickle but those that make tensors. (Before version 1.6
PyTorch wrote five pickles and the raw numbers instead of a zip; they are scanned likewise.) Only then a child process with limits on memory, time
and file size loads it with `weights_only` and writes safetensors, which the parent reads.
"""

import os
import pickletools
import resource
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from stairs.errors import BadInput, EnvironmentFault, preview

if TYPE_CHECKING:
    from torch import Tensor

ALLOWED = {("collections", "OrderedDict"), ("torch._utils", "_rebuild_tensor_v2"), ("torch._utils", "_rebuild_parameter"), ("torch", "Size")}
CALLS = {"GLOBAL", "STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4", "PERSID"}  # opcodes that import or construct objects
OLD_MAGIC, OLD_PICKLES = 0x1950A86A20F9469CFC6C, 5  # of files without a zip, and how many pickles precede the numbers
MAX_PICKLE_BYTES = 1 << 26
MAX_MEMBERS = 100_000
SECONDS = 300
EXTRA_MEMORY = 1 << 30  # bytes, beside the weights


def read(path: Path) -> "dict[str, Tensor]":
    """The tensors of a .bin or .pt file."""
    scan(path)
    from safetensors.torch import load_file

    with tempfile.TemporaryDirectory(prefix="stairs-") as folder:
        target = Path(folder) / "model.safetensors"
        command = [sys.executable, "-m", "stairs.formats.huggingface.pytorch_pickle", str(path), str(target)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "OMP_NUM_THREADS": "1"}
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
        except subprocess.TimeoutExpired:
            raise refusal(path, f"reading it took more than {SECONDS} seconds") from None
        except OSError as error:
            raise EnvironmentFault(f"no process can be started to read {path}: {error.strerror}; close other programs") from None
        if result.returncode:
            last = (result.stderr.strip().splitlines() or [f"the reader ended with {result.returncode}"])[-1]
            raise refusal(path, preview(last, 160))
        return load_file(target)


def refusal(path: Path, why: str) -> BadInput:
    return BadInput(f"{path} is a pickle that cannot be trusted: {why}; save the weights again as safetensors")


def scan(path: Path) -> None:
    """BadInput unless the file is a zip of raw numbers and a pickle that only makes tensors, or the older form of the same."""
    try:
        with path.open("rb") as file:
            if file.read(1) == b"\x80":
                file.seek(0)
                return scan_old(file, path)
        size = path.stat().st_size
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            pickles = [member for member in members if member.filename.rpartition("/")[2] == "data.pkl"]
            if len(members) > MAX_MEMBERS or len(pickles) != 1 or pickles[0].file_size > MAX_PICKLE_BYTES:
                raise refusal(path, f"it has {len(members)} parts and {len(pickles)} pickles, not one small pickle")
            if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
                raise refusal(path, "parts of it are compressed or encrypted, which PyTorch never does")
            if sum(member.file_size for member in members) > size:
                raise refusal(path, "it claims to hold more bytes than it has")
            nested = next((member.filename for member in members if first_bytes(archive, member) == b"PK\x03\x04"), None)
            if nested is not None:
                raise refusal(path, f"another zip is in it, {preview(nested)}")
            stored = archive.read(pickles[0])
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError):
        raise refusal(path, "it is not in the zip format that PyTorch writes since version 1.6") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}; check the file") from None
    refuse_calls(stored, path)


def scan_old(file: BinaryIO, path: Path) -> None:
    for number in range(OLD_PICKLES):
        content = refuse_calls(file, path)
        if number == 0 and OLD_MAGIC not in content:
            raise refusal(path, "PyTorch did not write it")


def first_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.is_dir() or not member.file_size:
        return b""
    with archive.open(member) as file:
        return file.read(4)


def refuse_calls(stored: bytes | BinaryIO, path: Path) -> list[Any]:
    """Scans one pickle; returns its plain data."""
    content = []
    try:
        for opcode, argument, _ in pickletools.genops(stored):
            if opcode.name not in CALLS:
                content.append(argument)
                continue
            module, _, name = str(argument).partition(" ")
            makes_numbers = module in ("torch", "torch.storage") and name.endswith("Storage")
            if opcode.name != "GLOBAL" or not (makes_numbers or (module, name) in ALLOWED):
                raise refusal(path, f"it would call {preview(str(argument or opcode.name))}")
    except BadInput:
        raise
    except ValueError:
        raise refusal(path, "its pickle is damaged") from None
    return content


def convert(source: str, target: str) -> None:
    """In the child: from a pickle to safetensors."""
    import torch
    from safetensors.torch import save_file

    size = os.path.getsize(source)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if Path("/proc/self/statm").exists() else 0
    limits = {resource.RLIMIT_CPU: SECONDS, resource.RLIMIT_FSIZE: 2 * size + EXTRA_MEMORY, resource.RLIMIT_CORE: 0}
    if used:
        limits[resource.RLIMIT_AS] = used + 4 * size + EXTRA_MEMORY
    for kind, limit in limits.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    tensors = torch.load(source, map_location="cpu", weights_only=True)
    if not isinstance(tensors, dict) or not all(isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in tensors.items()):
        sys.exit("it does not hold a dict of tensors")
    save_file({name: value.detach().clone().contiguous() for name, value in tensors.items()}, target)


if __name__ == "__main__":
    try:
        convert(*sys.argv[1:])
    except Exception as error:  # whatever it is, the parent reports it in one sentence
        sys.exit(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}")
