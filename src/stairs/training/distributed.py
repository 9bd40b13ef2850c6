"""Many workers: the same command under torchrun. Alone, every function here does nothing and costs nothing.

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

TIMEOUT = 120.0  # seconds a worker waits for the others
LOST_WORKER = re.compile(r"gloo|nccl|socket|store|connection|peer|timed ?out|timeout|rendezvous", re.I)


@dataclass(frozen=True)
class Workers:
    """Who takes part. The first one writes and decides; the others are told."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def is_rank_zero(self) -> bool:
        return self.rank == 0

    def all_reduce(self, *numbers: float) -> list[float]:
        """Each number summed over the workers."""
        if self.world_size == 1:
            return list(numbers)
        summed = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(summed)
        return summed.tolist()

    def all_reduce_tensor(self, tensor: Tensor) -> Tensor:
        """The same, for a tensor."""
        tensor = tensor.contiguous()
        if self.world_size > 1:
            dist.all_reduce(tensor)
        return tensor

    def broadcast(self, data: Any) -> Any:
        """Plain data of the first worker, for all."""
        if self.world_size == 1:
            return data
        written = torch.frombuffer(bytearray(json.dumps(data).encode()), dtype=torch.uint8).to(self.device)
        size = torch.tensor([len(written)], device=self.device)
        dist.broadcast(size, 0)
        if not self.is_rank_zero:
            written = torch.empty(int(size), dtype=torch.uint8, device=self.device)
        dist.broadcast(written, 0)
        return json.loads(bytes(written.cpu().numpy()))

    def on_rank_zero(self, work: Callable[[], Any]) -> Any:
        """What the first worker's work gives, for all; an error of its is everyone's."""
        if self.world_size == 1:
            return work()
        answer: dict[str, Any] = {}
        if self.is_rank_zero:
            try:
                answer = {"value": work()}
            except StairsError as error:
                answer = {"error": type(error).__name__, "sentence": str(error)}
        answer = self.broadcast(answer)
        if "error" in answer:
            raise getattr(errors, answer["error"], StairsError)(answer["sentence"])
        return answer["value"]

    def broadcast_tensor(self, target: Tensor, whole: Tensor | None) -> None:
        """Put what the first worker holds into everyone's tensor, or everyone's part of it."""
        if isinstance(target, DTensor):
            whole = torch.empty(target.shape, dtype=target.dtype) if whole is None else whole
            target.copy_(distribute_tensor(whole.to(target.device), target.device_mesh, target.placements))
            return
        if whole is not None:
            target.copy_(whole)
        if self.world_size > 1:
            sent = target.contiguous()  # a matrix may have room between its rows
            dist.broadcast(sent, 0)
            if sent is not target:
                target.copy_(sent)


def full_tensor(tensor: Tensor) -> Tensor:
    """A tensor with the parts that other workers hold."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


@contextmanager
def process_group(device: torch.device) -> Iterator[Workers]:
    """The workers torchrun started, or this process alone."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if "RANK" not in os.environ or count == 1:
        yield Workers(0, 1, device)
        return
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    rank = int(os.environ["RANK"])
    began_here = not dist.is_initialized()
    try:
        if began_here:
            wait = timedelta(seconds=timeout_seconds())
            store, _, _ = next(dist.rendezvous("env://", rank, count, timeout=wait))
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, store=attempt_store(store, rank, count), rank=rank, world_size=count, timeout=wait)
        yield Workers(rank, count, device)
    except RuntimeError as error:
        if not LOST_WORKER.search(str(error)):
            raise
        why = " ".join(str(error).split())[:80]
        raise EnvironmentFault(f"worker {rank} of {count} lost the others ({why}); start the same command again to go on") from error
    finally:
        if began_here and dist.is_initialized():
            dist.destroy_process_group()


def attempt_store(store: dist.Store, rank: int, count: int) -> dist.Store:
    """A corner of torchrun's store that the workers of an earlier attempt, some of them dead, have not written in.

    The first worker makes up its name; the others greet it with a number of their own, so that nobody takes an old answer for a new one.
    """
    name = os.urandom(8).hex()
    if rank:
        store.set(f"hello/{rank}", name)
        name = store.get(f"answer/{name}").decode()  # waits for it
        store.set(f"heard/{name}/{rank}", "1")
    else:
        ending = time.monotonic() + timeout_seconds()
        absent = set(range(1, count))
        while absent:
            for other in list(absent):
                if store.check([f"heard/{name}/{other}"]):
                    absent.remove(other)
                elif store.check([f"hello/{other}"]):
                    store.set(f"answer/{store.get(f'hello/{other}').decode()}", name)
            if time.monotonic() > ending:
                raise RuntimeError(f"timed out waiting for the workers {sorted(absent)}")
            time.sleep(0.01)
    return dist.PrefixStore(name, store)


def timeout_seconds() -> float:
    given = os.environ.get("STAIRS_TIMEOUT", str(TIMEOUT))
    try:
        if 0 < float(given) < 1e6:
            return float(given)
    except ValueError:
        pass
    raise BadInput(f"STAIRS_TIMEOUT={given!r} is not a number of seconds; set it to 120 or so")


def shard(learner: nn.Module, workers: Workers) -> None:
    """Let each worker hold a part of every weight (FSDP2), gathered block by block when it is needed."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(workers.device.type, (workers.world_size,))
    for block in getattr(learner, "blocks", []):
        fully_shard(block, mesh=mesh)
    fully_shard(learner, mesh=mesh)
    for verb in ("encode", "predict", "loss", "log_likelihood"):
        if hasattr(learner, verb):
            register_fsdp_forward_method(learner, verb)
