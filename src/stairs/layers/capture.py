"""Looking inside a model while it computes: hidden states and attention weights, by module path.

    with capture(model) as seen:
        model.encode(batch)
    seen["blocks.0.attention"]        # attention weights (B, H, T, S)
    seen["blocks.0"]                  # hidden states (B, T, D)

While a module is captured it leaves its fast path (`fast/`) and computes by the plain functions: rows keep their padding, and attention has its
weights. Hooks that others register, such as a profiler's, switch nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import MethodType
from typing import Any, ClassVar

from torch import Tensor, nn

from stairs.layers.block import Attention


class FastPath:
    """A module that has a fast path in `fast/` beside the plain one, and takes the plain one while it is captured."""

    is_captured = False
    plain_methods: ClassVar[dict[str, Callable[..., Any]]] = {}  # take the place of fast ones of these names

    @contextmanager
    def on_plain_path(self) -> Iterator[None]:
        before, self.is_captured = self.is_captured, True
        for name, method in self.plain_methods.items():
            self.__dict__[name] = MethodType(method, self)
        try:
            yield
        finally:
            self.is_captured = before
            for name in () if before else self.plain_methods:
                del self.__dict__[name]


@contextmanager
def capture(model: nn.Module, *parts: nn.Module, detach: bool = True) -> Iterator[dict[str, Tensor]]:
    """What the parts of a model return, all parts if none is named, each as of its last call; of an Attention the weights, not the output.
    The tensors stay readable after the `with`."""
    seen: dict[str, Tensor] = {}

    def record(path: str) -> Callable[[nn.Module, object, object], None]:
        def hook(module: nn.Module, arguments: object, output: object) -> None:
            if isinstance(output, Tensor):
                seen[path] = output.detach() if detach else output

        return hook

    own_weights = {id(part.weights) for part in model.modules() if isinstance(part, Attention)}
    chosen = {id(part) for part in parts}
    with ExitStack() as stack:
        for path, part in model.named_modules():
            is_chosen = id(part) in chosen if parts else id(part) not in own_weights
            if isinstance(part, FastPath) and (is_chosen or not isinstance(part, Attention)):
                stack.enter_context(part.on_plain_path())
            if is_chosen and (path or isinstance(part, Attention)):
                watched = part.weights if isinstance(part, Attention) else part
                stack.callback(watched.register_forward_hook(record(path)).remove)
        yield seen
