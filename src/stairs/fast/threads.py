"""Compiled work on the parts of a matrix, one for each thread, where there is enough of it. Any number of threads gives the same bits."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import torch

WORTH_A_THREAD = 1 << 22  # multiplications


def run_in_threads(work: Callable[[int, int], None], count: int, products: int) -> None:
    """`work(first, stop)` on all of `count` things, which take so many products together."""
    threads = torch.get_num_threads()
    parts = max(1, min(threads, count, products // WORTH_A_THREAD))
    if parts == 1:
        work(0, count)
        return
    bounds = [count * i // parts for i in range(parts + 1)]
    list(pool(threads).map(lambda part: work(*part), pairwise(bounds)))


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)
