"""Docstrings of compiled modules, which have no source to read: a fixed list of modules that only define things when imported."""

import inspect
from collections.abc import Iterator
from importlib import import_module

MODULES = {
    "python": (
        "builtins", "_bisect", "_bz2", "_codecs", "_collections", "_csv", "_datetime", "_decimal", "_functools", "_hashlib", "_heapq",
        "_io", "_json", "_lzma", "_operator", "_random", "_socket", "_sqlite3", "_ssl", "_struct", "_thread", "_weakref", "array",
        "binascii", "cmath", "fcntl", "gc", "itertools", "marshal", "math", "mmap", "posix", "pyexpat", "resource", "select", "signal",
        "time", "unicodedata", "zlib",
    ),
    "numpy": (
        "numpy._core.multiarray", "numpy._core.umath", "numpy.random.mtrand", "numpy.random._generator", "numpy.random.bit_generator",
        "numpy.random._pcg64", "numpy.random._philox", "numpy.random._mt19937", "numpy.random._sfc64", "numpy.linalg._umath_linalg",
    ),
}  # fmt: skip
CALLABLES = ("ufunc", "cython_function_or_method")


def compiled_docstrings() -> Iterator[tuple[str, str, str, str, str]]:
    """(package, module, name, kind, docstring), in a fixed order; modules that this platform lacks are skipped."""
    for package, modules in MODULES.items():
        for name in modules:
            try:
                module = import_module(name)
            except ImportError:
                continue
            if text := own_docstring(module):
                yield package, name, "", "module", text
            yield from members(package, name, module)


def members(package: str, module_name: str, module: object) -> Iterator[tuple[str, str, str, str, str]]:
    for name, value in sorted(vars(module).items()):
        if inspect.isclass(value):
            if value.__module__.lstrip("_") not in (module_name.lstrip("_"), package):
                continue  # imported from elsewhere, or added to builtins
            if text := own_docstring(value):
                yield package, module_name, name, "class", text
            for inner, method in sorted(vars(value).items()):
                if text := own_docstring(method):
                    yield package, module_name, f"{name}.{inner}", "function", text
        elif (inspect.isbuiltin(value) or type(value).__name__ in CALLABLES) and (text := own_docstring(value)):
            yield package, module_name, name, "function", text


def own_docstring(value: object) -> str | None:
    """Its docstring, unless it is only that of its type: every integer has that of `int`."""
    text = getattr(value, "__doc__", None)
    if not isinstance(text, str) or text == type(value).__doc__ or not text.strip():
        return None
    return inspect.cleandoc(text)
