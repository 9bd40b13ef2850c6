"""Docstrings read from source files with `ast`: nothing is imported or run, and every core reads a share of the files."""

import ast
import gc
import json
import os
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from stairs.machine import cores
from stairs.progress import track
from stairs.text.embedded import attached_docstrings

PACKAGES = ("numpy", "torch", "sympy")
SKIPPED_FOLDERS = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "testing", "idle_test"}
MAX_BYTES_PER_QUOTE = 4000  # a file with more is nearly all code: such files would take a fifth of the time for a fortieth of the text
SourceFile = tuple[str, str, str]  # package, its root, file
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# A child process gets the parent's import path, so that it works however stairs was made importable. A fork could copy a locked lock, and
# multiprocessing's spawn would run the caller's script again.
CHILD = """
import json, sys
given = json.load(sys.stdin)
sys.path[:] = given["path"]
from stairs.text.embedded import python_sources
python_sources.print_rows(given["files"])
"""


def source_files() -> Iterator[SourceFile]:
    """Each source file that is not a test, in a fixed order."""
    roots = [("python", sysconfig.get_path("stdlib"))]
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            roots.append((package, next(iter(spec.submodule_search_locations))))
    for package, root in roots:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            for name in sorted(files):
                if name.endswith(".py") and not name.startswith(("test_", "conftest")):
                    yield package, root, os.path.join(folder, name)


def read_all(files: list[SourceFile]) -> Iterator[list]:
    """The rows of `read_file` for all files in their order."""
    shares = min(cores(), 8, len(files) // 200 + 1) if sys.executable else 1
    children = [start_child(files[share::shares]) for share in range(1, shares)]
    try:
        parts = [read_share(files[::shares])]
        for share, child in enumerate(children, start=1):
            parts.append(child_rows(child) or read_share(files[share::shares]))
    finally:
        for child in children:
            child.kill()
            child.wait()
    for position in range(len(files)):
        yield from parts[position % shares][position // shares]


def start_child(files: list[SourceFile]) -> subprocess.Popen:
    child = subprocess.Popen([sys.executable, "-P", "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps({"path": sys.path, "files": files}).encode())
        child.stdin.close()
    except BrokenPipeError:
        pass  # it died; `child_rows` will get nothing
    child.stdin = None
    return child


def child_rows(child: subprocess.Popen) -> list[list[list]] | None:
    try:
        return json.loads(child.communicate()[0])
    except ValueError:
        return None


def print_rows(files: list[SourceFile]) -> None:
    json.dump(read_share(files), sys.stdout)


def read_share(files: list[SourceFile]) -> list[list[list]]:
    with track("reading docstrings", total=len(files), unit="files") as advance, quick_parsing():
        rows = []
        for file in files:
            rows.append(list(read_file(*file)))
            advance(1)
        return rows


@contextmanager
def quick_parsing() -> Iterator[None]:
    """Syntax trees have no cycles, and the garbage collector would double the time looking for them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's strings
            yield
    finally:
        if collecting:
            gc.enable()


def read_file(package: str, root: str, file: str) -> Iterator[list]:
    """A row for each docstring: package, module, name, kind, parameters, text, where."""
    try:
        source = Path(file).read_bytes()
        if len(source) > MAX_BYTES_PER_QUOTE * (source.count(b'"""') + source.count(b"'''") + 1):
            return
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # a template, or a file for another Python
    relative = Path(file).relative_to(root)
    parts = [*(() if package == "python" else (package,)), *relative.with_suffix("").parts]
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or package
    location = "/".join([package, *relative.parts])
    if text := ast.get_docstring(tree):
        yield [package, module, "", "module", (), text, f"{location}:1"]
    for name, node in definitions(tree.body, ""):
        if text := ast.get_docstring(node):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            yield [package, module, name, kind, parameter_names(node), text, f"{location}:{node.lineno}"]
    if any(mark in source for mark in attached_docstrings.MARKS):
        for name, text, line in attached_docstrings.attached_docstrings(tree):
            yield [package, module, name, "function", attached_docstrings.signature(text), text, f"{location}:{line}"]


def definitions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Definition]]:
    """Functions and classes with their dotted names, also those under `if` and `try`."""
    for node in body:
        if isinstance(node, Definition):
            name = prefix + node.name
            yield name, node
            yield from definitions(node.body, name + ".")
        elif isinstance(node, ast.If | ast.Try):
            yield from definitions([*node.body, *node.orelse], prefix)
            for handler in getattr(node, "handlers", ()):
                yield from definitions(handler.body, prefix)


def parameter_names(node: Definition) -> tuple[str, ...]:
    if isinstance(node, ast.ClassDef):
        starts = [inner for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.name == "__init__"]
        return parameter_names(starts[0]) if starts else ()
    return attached_docstrings.argument_names(node.args)
