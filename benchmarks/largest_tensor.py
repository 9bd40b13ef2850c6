"""Which tensors a computation makes, gradients included: whether any is (T, T), and the most numbers that one holds."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LargestTensor(TorchDispatchMode):
    """`with LargestTensor() as largest: work()`, then `largest.numbers` and `largest.squares(length)`. What a compiled kernel holds inside is not
    seen; `PeakMemory` counts it."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0
        self.shapes: set[tuple[int, ...]] = set()

    def __torch_dispatch__(self, function: Callable[..., Any], types: Any, arguments: Sequence[Any] = (), named: dict[str, Any] | None = None) -> Any:
        result = function(*arguments, **(named or {}))
        for tensor in (leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)):
            self.numbers = max(self.numbers, tensor.numel())
            self.shapes.add(tuple(size for size, step in zip(tensor.shape, tensor.stride(), strict=True) if step))  # without axes that only repeat
        return result

    def squares(self, length: int) -> list[tuple[int, ...]]:
        """Shapes with two axes of at least this length."""
        return sorted(shape for shape in self.shapes if sum(size >= length for size in shape) > 1)
