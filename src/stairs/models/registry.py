"""Every model class by its name, imported from where its settings say it is."""

from importlib import import_module

from stairs.models.base import Model
from stairs.models.settings import SETTINGS


def import_class(path: str) -> type[Model]:
    """The class at module:class."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


MODELS: dict[str, type[Model]] = {name: import_class(settings.model) for name, settings in SETTINGS.items()}
