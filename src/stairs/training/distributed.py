"""Several workers that train together: the same command under torchrun, in a process each. Everything here is for more than one.

torchrun --nproc-per-node 2 -m stairs train gpt notes.txt
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from stairs import errors
from stairs.errors import BadInput, EnvironmentFault, StairsError
from stairs.training.updater import Data, Workers

TIMEOUT = 120.0  # seconds a worker waits for the others
LOST_WORKER = re.compile(r"gloo|nccl|socket|store|connection|peer|timed ?out|timeout|rendezvous", re.I)


@dataclass(frozen=True)
class ProcessGroup:
    """`Workers` that are several processes."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def is_rank_zero(self) -> bool:
        return self.rank == 0

    def all_reduce(self, *numbers: float) -> list[float]:
        sums = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(sums)
        return sums.tolist()

    def all_reduce_tensor(self, tensor: Tensor) -> Tensor:
        tensor = tensor.contiguous()
        dist.all_reduce(tensor)
        return tensor

    def broadcast(self, data: Data) -> Data:
        message = torch.frombuffer(bytearray(json.dumps(data).encode()), dtype=torch.uint8).to(self.device)
        size = torch.tensor([len(message)], device=self.device)
        dist.broadcast(size, 0)
        if not self.is_rank_zero:
            message = torch.empty(int(size), dtype=torch.uint8, device=self.device)
        dist.broadcast(message, 0)
        decoded: Data = json.loads(bytes(message.cpu().numpy()))
        return decoded

    def on_rank_zero(self, work: Callable[[], Data]) -> Data:
        answer: dict[str, Any] = {}
        if self.is_rank_zero:
            try:
                answer = {"value": work()}
            except StairsError as error:
                answer = {"error": type(error).__name__, "sentence": str(error)}
        answer = self.broadcast(answer)
        if "error" in answer:
            raise getattr(errors, answer["error"], StairsError)(answer["sentence"])
        value: Data = answer["value"]
        return value

    def broadcast_tensor(self, target: Tensor, source: Tensor | None) -> None:
        if isinstance(target, DTensor):
            source = torch.empty(target.shape, dtype=target.dtype) if source is None else source
            target.copy_(distribute_tensor(source.to(target.device), target.device_mesh, target.placements))
            return
        if source is not None:
            target.copy_(source)
        buffer = target.contiguous()  # a matrix may have padding between its rows
        dist.broadcast(buffer, 0)
        if buffer is not target:
            target.copy_(buffer)


def full_tensor(tensor: Tensor) -> Tensor:
    """A tensor with the shards of the other workers."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


@contextmanager
def process_group(device: torch.device) -> Iterator[ProcessGroup]:
    """The workers that torchrun started."""
    world_size = int(os.environ["WORLD_SIZE"])
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    rank = int(os.environ["RANK"])
    is_ours = not dist.is_initialized()
    try:
        if is_ours:
            wait = timedelta(seconds=timeout_seconds())
            store, _, _ = next(dist.rendezvous("env://", rank, world_size, timeout=wait))
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, store=attempt_store(store, rank, world_size), rank=rank, world_size=world_size, timeout=wait)
        yield ProcessGroup(rank, world_size, device)
    except RuntimeError as error:
        if not LOST_WORKER.search(str(error)):
            raise
        reason = " ".join(str(error).split())[:80]
        raise EnvironmentFault(f"worker {rank} of {world_size} lost the others ({reason}); run the same command again to resume") from error
    finally:
        if is_ours and dist.is_initialized():
            dist.destroy_process_group()


def attempt_store(store: dist.Store, rank: int, world_size: int) -> dist.Store:
    """A prefix in torchrun's store that the workers of an earlier attempt, some of them dead, have not written to.

    Rank 0 invents the prefix; the others greet it with a nonce of their own, so that nobody takes an old answer for a new one.
    """
    prefix = os.urandom(8).hex()
    if rank:
        store.set(f"hello/{rank}", prefix)
        prefix = store.get(f"answer/{prefix}").decode()  # blocks until it is there
        store.set(f"received/{prefix}/{rank}", "1")
    else:
        deadline = time.monotonic() + timeout_seconds()
        absent = set(range(1, world_size))
        while absent:
            for other in list(absent):
                if store.check([f"received/{prefix}/{other}"]):
                    absent.remove(other)
                elif store.check([f"hello/{other}"]):
                    store.set(f"answer/{store.get(f'hello/{other}').decode()}", prefix)
            if time.monotonic() > deadline:
                raise RuntimeError(f"timed out waiting for the workers {sorted(absent)}")
            time.sleep(0.01)
    return dist.PrefixStore(prefix, store)


def timeout_seconds() -> float:
    value = os.environ.get("STAIRS_TIMEOUT", str(TIMEOUT))
    try:
        if 0 < float(value) < 1e6:
            return float(value)
    except ValueError:
        pass
    raise BadInput(f"STAIRS_TIMEOUT={value!r} is not a number of seconds; set it to 120, for example")


def shard(module: nn.Module, workers: Workers) -> None:
    """Let each worker hold a shard of every weight (FSDP2), gathered block by block when it is needed."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(workers.device.type, (workers.world_size,))
    for block in getattr(module, "blocks", []):
        fully_shard(block, mesh=mesh)
    fully_shard(module, mesh=mesh)
    for method in ("encode", "predict", "loss", "log_likelihood"):
        if hasattr(module, method):
            register_fsdp_forward_method(module, method)
