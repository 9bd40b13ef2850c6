"""Looking inside a model while it works: attention weights and hidden states, by module path.

with capture(model) as seen:
    model.encode(batch)
seen["blocks.0.attention"]        # weights (B, H, T, S)
seen["blocks.0"]                  # hidden states (B, T, D)

It hooks onto the modules and is gone when the `with` ends; no model knows of it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from stairs.layers.attention import Attention


@contextmanager
def capture(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """What each module gives, as of its last call; for an Attention its weights. Detached, and readable after the `with`."""
    seen: dict[str, Tensor] = {}

    def keep(path: str) -> Any:
        def hook(module: nn.Module, given: Any, gave: Any) -> None:
            if isinstance(gave, Tensor):
                seen[path] = gave.detach()

        return hook

    with ExitStack() as hooks:
        inside = {id(part.weights) for part in model.modules() if isinstance(part, Attention)}
        for path, part in model.named_modules():
            if isinstance(part, Attention):
                hooks.callback(part.weights.register_forward_hook(keep(path)).remove)
            elif path and id(part) not in inside:
                hooks.callback(part.register_forward_hook(keep(path)).remove)
        yield seen
