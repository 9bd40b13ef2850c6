"""The models, one paper a file. `MODELS` is imported when it is asked for: it brings torch along, and `--help` must not wait for it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stairs.models.registry import MODELS as MODELS


def __getattr__(name: str) -> Any:
    if name == "MODELS":
        from stairs.models.registry import MODELS as MODELS

        return MODELS
    raise AttributeError(name)
