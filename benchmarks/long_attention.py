"""Attention in long texts: full, by a window, sparse and Linformer's, forward and backward; milliseconds of CPU, peak memory, how both grow with the
length, the difference from the plain formula, and whether a (T, T) tensor is made.

python benchmarks/long_attention.py [--lengths 512 1024 2048 4096 8192 16384] [--causal] [--precision fp32] [--repeats 3] [--picture FILE.svg]

A batch of 1, 4 heads of 64, one thread. First attention alone, beside PyTorch's fused kernel with a band mask and `flex_attention`; then whole
layers with their projections, beside those of Longformer and BigBird in `transformers` with the same weights. Window, ours and theirs: 256 positions
to either side, or back. Sparse as in BigBird: blocks of 64, one to either side, two global and three random ones. Linformer: 256 mixtures. Memory is
what the process holds at most beyond what it held before; the difference is the largest at 64 positions from softmax(q k / sqrt(D)) v in float64.
"""

import argparse
import copy
import math
import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from attention_peers import Attend, BigBird, Longformer, band, flex, flex_refusal, full
from largest_tensor import LargestTensor
from long_attention_picture import CostPoint, draw
from side_by_side import conditions, in_turn
from stairs.fast.block import FastAttention
from stairs.layers.attention import attend
from stairs.layers.block import join_heads
from stairs.layers.initial import initialize
from stairs.layers.patterns import LinformerProjection, Pattern, RowMask, SparsePattern, WindowPattern
from stairs.peak_memory import PeakMemory

HEADS, HEAD_WIDTH = 4, 64
WIDTH = HEADS * HEAD_WIDTH
RADIUS, RANK = 256, 256
SLOPE_FROM = 2048  # shorter texts cost mostly what does not grow
CHECKED = 64  # positions compared with the plain formula
MEASURES = ("forward", "forward and backward")
RIVALS = {
    "window": ("full", "fused, band mask", "flex_attention"), "sparse": ("full",), "linformer": ("full",),
    "window layer": ("full layer", "Longformer layer"), "sparse layer": ("full layer", "BigBird layer"), "linformer layer": ("full layer",),
}  # fmt: skip
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclass
class Job:
    run: Callable[..., Tensor]
    inputs: tuple[Tensor, ...]
    expected: Tensor | None  # at the checked positions; None if the peer attends to other random blocks
    is_compiled: bool = False  # flex_attention: without a backward pass, and unseen from outside


@dataclass
class Cost:
    """Of one attention at one length, by measure."""

    milliseconds: dict[str, float] = field(default_factory=dict)
    megabytes: dict[str, float] = field(default_factory=dict)
    difference: float | None = None
    squares: list[tuple[int, ...]] | None = None


Costs = dict[str, dict[int, Cost]]  # by name and length


def patterns(length: int) -> dict[str, Pattern]:
    linformer = LinformerProjection(length, RANK, shared=True)
    initialize(linformer, seed=0)
    sparse = SparsePattern(64, 64, global_blocks=2, random_blocks=3, context=length)
    return {"window": WindowPattern(RADIUS), "sparse": sparse, "linformer": linformer}


def attentions(length: int, options: argparse.Namespace) -> dict[str, Job]:
    """Attention alone, of given queries, keys and values."""
    inputs = tuple(torch.randn(1, HEADS, length, HEAD_WIDTH).to(DTYPES[options.precision]) for _ in range(3))
    window, rows = WindowPattern(RADIUS), RowMask(torch.ones(1, length, dtype=torch.bool), options.causal)
    near = plain(inputs, window, options.causal)
    jobs = {"full": Job(full(options.causal), inputs, plain(inputs, None, options.causal))}
    for name, pattern in patterns(length).items():
        if not (options.causal and isinstance(pattern, LinformerProjection)):
            jobs[name] = Job(ours(pattern, rows), inputs, plain(inputs, pattern, options.causal))
    jobs["fused, band mask"] = Job(band(window, length, options.causal), inputs, near)
    jobs["flex_attention"] = Job(flex(window, length, options.causal), inputs, near, is_compiled=True)
    return jobs


def ours(pattern: Pattern, rows: RowMask) -> Attend:
    attention = FastAttention(WIDTH, HEADS, pattern=pattern)
    return lambda query, key, value: attention.attend_positions(query, key, value, rows, None, None)


def layers(length: int, options: argparse.Namespace) -> dict[str, Job]:
    """With the projections of query, key, value and output."""
    x, found = torch.randn(1, length, WIDTH), patterns(length)
    rows = RowMask(torch.ones(1, length, dtype=torch.bool), is_causal=False)
    base = FastAttention(WIDTH, HEADS)
    jobs = {"full layer": Job(base, (x,), plain_layer(base, x, None))}
    for name, pattern in found.items():
        layer = FastAttention(WIDTH, HEADS, pattern=pattern)
        layer.load_state_dict(base.state_dict())
        jobs[f"{name} layer"] = Job(lambda x, layer=layer: layer(x, mask=rows), (x,), plain_layer(base, x, pattern))
    peers: dict[str, Callable[[], Job]] = {
        "Longformer layer": lambda: Job(Longformer(base, found["window"], length), (x,), jobs["window layer"].expected),
        "BigBird layer": lambda: Job(BigBird(base, found["sparse"], length, options.most_gigabytes), (x,), None),
    }
    for name, peer in peers.items():
        try:
            jobs[name] = peer()
        except ValueError as error:
            print(f"T = {length:,}: {error}", flush=True)
    return jobs


def checked(length: int) -> Tensor:
    return torch.linspace(0, length - 1, CHECKED).long()


@torch.no_grad()
def plain(inputs: tuple[Tensor, ...], pattern: Pattern | None, is_causal: bool) -> Tensor:
    """The formula in float64, at the checked positions."""
    query, key, value = (part.double() for part in inputs)
    length = key.shape[2]
    at, ids = checked(length), torch.arange(length)
    if isinstance(pattern, LinformerProjection):
        key, value = pattern.mix(key, value, torch.ones(1, length, dtype=torch.bool))
        return attend(query[:, :, at], key, value)[0]
    behind = ids <= at[:, None] if is_causal else None
    return attend(query[:, :, at], key, value, mask=behind if pattern is None else pattern.allows(at, ids, is_causal))[0]


@torch.no_grad()
def plain_layer(layer: FastAttention, x: Tensor, pattern: Pattern | None) -> Tensor:
    exact, x = copy.deepcopy(layer).double(), x.double()
    inputs = tuple(map(exact.split_heads, exact.project(x, x, x)))
    return exact.output(join_heads(plain(inputs, pattern, is_causal=False)))


def run(job: Job, measure: str) -> Tensor:
    with torch.set_grad_enabled(measure != "forward"):
        output = job.run(*(part.detach().requires_grad_(measure != "forward") for part in job.inputs))
        if measure != "forward":
            output.backward(torch.ones_like(output))
    return output.detach()


def measure_costs(jobs: dict[str, Job], length: int, repeats: int) -> dict[str, Cost]:
    """Once for its tensors, once for its memory, and then in turn for its time."""
    costs = {name: Cost() for name in jobs}
    for name, job in jobs.items():
        if job.is_compiled:
            output = run(job, "forward")
        else:
            with LargestTensor() as largest:
                output = run(job, MEASURES[1])
            costs[name].squares = largest.squares(length)
        if job.expected is not None:
            costs[name].difference = (output.index_select(-2, checked(length)) - job.expected).abs().max().item()
    work = {(name, measure): lambda job=job, measure=measure: run(job, measure) for name, job in jobs.items()
            for measure in (MEASURES[:1] if job.is_compiled else MEASURES)}  # fmt: skip
    for (name, measure), task in work.items():
        with PeakMemory() as peak:
            task()
        costs[name].megabytes[measure] = peak.megabytes or math.nan
    for (name, measure), taken in in_turn(work, repeats).items():
        costs[name].milliseconds[measure] = 1e3 * taken["cpu"]
    return costs


def slope(points: dict[int, float]) -> float:
    """Of a line through the logarithms: 1 where twice the length costs twice as much, 2 where it costs four times as much."""
    known = [(math.log(length), math.log(value)) for length, value in points.items() if length >= SLOPE_FROM and value > 0]
    return statistics.linear_regression(*zip(*known, strict=True)).slope if len(known) > 1 else math.nan


def table(costs: Costs, title: str, pick: Callable[[Cost], float | None]) -> None:
    lengths = sorted({length for row in costs.values() for length in row})
    print(f"\n| {title} | " + " | ".join(f"{length:,}" for length in lengths) + " | slope |\n|" + "---|" * (len(lengths) + 2))
    for name, row in costs.items():
        points = {length: value for length, cost in row.items() if (value := pick(cost)) is not None}
        if points:
            cells = " | ".join(f"{points[length]:,.{int(points[length] < 100)}f}" if length in points else "" for length in lengths)
            print(f"| {name} | {cells} | {slope(points):.2f} |", flush=True)


def report(costs: Costs) -> None:
    for measure in MEASURES:
        table(costs, f"{measure}, ms", lambda cost, measure=measure: cost.milliseconds.get(measure))
    for measure in MEASURES:
        table(costs, f"{measure}, MB", lambda cost, measure=measure: cost.megabytes.get(measure))
    print("\n| | largest difference | (T, T) tensors at T = |\n|---|---|---|")
    for name, row in costs.items():
        difference = max((cost.difference for cost in row.values() if cost.difference is not None), default=math.nan)
        squares = ", ".join(f"{at:,}" for at, cost in row.items() if cost.squares) or "none"
        seen = "compiled, not seen" if all(cost.squares is None for cost in row.values()) else squares
        print(f"| {name} | {'other random blocks' if math.isnan(difference) else f'{difference:.1e}'} | {seen} |")
    print("\n| as fast as | T = | full | full, with backward | its peers |\n|---|---|---|---|---|")
    for name, (whole, *peers) in RIVALS.items():
        for length, own in costs.get(name, {}).items():
            others = "; ".join(f"{peer} {', '.join(ratios(own, costs[peer][length]))}" for peer in peers if length in costs.get(peer, {}))
            print(f"| {name} | {length:,} | {' | '.join(ratios(own, costs[whole][length]))} | {others} |")


def ratios(own: Cost, other: Cost) -> list[str]:
    """How many times as long the other takes, for each measure that it has."""
    return [f"{milliseconds / own.milliseconds[measure]:.2f}x" for measure, milliseconds in other.milliseconds.items()]


def picture_points(costs: Costs) -> list[CostPoint]:
    panels = {f"{measure}, ms": ("milliseconds", measure) for measure in MEASURES} | {f"{MEASURES[1]}, MB": ("megabytes", MEASURES[1])}
    return [
        {"panel": panel, "series": name, "length": length, "value": getattr(cost, kind)[measure]}
        for panel, (kind, measure) in panels.items() for name, row in costs.items() for length, cost in row.items() if measure in getattr(cost, kind)
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--precision", choices=DTYPES, default="fp32")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most-gigabytes", type=float, default=4.0)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")  # of the compiler and of transformers
    torch.manual_seed(0)
    torch.set_num_threads(1)
    sides = "causal" if options.causal else "both sides"
    print(f"window {RADIUS}, {HEADS} heads of {HEAD_WIDTH}, {options.precision}, {sides}; {conditions()}", flush=True)
    costs: Costs = {}
    has_layers = not options.causal and options.precision == "fp32"  # as the peers have them
    for length in options.lengths:
        found = measure_costs(attentions(length, options), length, options.repeats)
        if has_layers and length > 3 * WIDTH:  # what joins three projections would pass for (T, T) in shorter texts
            found |= measure_costs(layers(length, options), length, options.repeats)
        for name, cost in found.items():
            costs.setdefault(name, {})[length] = cost
        print(f"T = {length:,} measured; {conditions()}", flush=True)
    report(costs)
    print(f"flex_attention backward: {flex_refusal(WindowPattern(RADIUS), options.causal)}")
    if options.picture:
        draw(picture_points(costs), options.picture)


if __name__ == "__main__":
    main()
