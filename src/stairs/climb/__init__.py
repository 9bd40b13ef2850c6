"""A climb: models on the same text and labels, and the cheapest that is good enough. `stairs.climb(...)` runs one.

Python binds a package to its name in the parent as soon as a module of it is imported, so `stairs.climb` is the function of `stairs.api` before, and
this package afterwards: it can be called like the function.
"""

import sys
from importlib import import_module
from types import ModuleType


class CallablePackage(ModuleType):
    def __call__(self, *arguments: object, **options: object) -> object:
        return import_module("stairs.api").climb(*arguments, **options)  # by name: the API stands above this package


sys.modules[__name__].__class__ = CallablePackage
