"""Docstrings read from source: what is found, what is skipped, and their cache."""

import builtins
import errno
import os
import subprocess
import sys

import pytest

from stairs import progress
from stairs.errors import EnvironmentFault
from stairs.text.embedded import attached_docstrings, compiled_docstrings, docstrings, python_sources

MODULE = '''"""The module."""
import nowhere
raise SystemExit("it was run")
def plain(first, *rest, flag=False, **more):
    """Does it."""
    def inner(x):
        """Inside."""
async def later(): "Soon."
class Thing:
    """A thing."""
    def __init__(self, size): pass
    def grow(self, by, /):
        """
        Grow
            by some.
        """
if True:
    def under_if(a): """Under if."""
try:
    pass
except ImportError:
    def under_except(b): """Under except."""
def twice(): """Does it."""
def bare(c): return "not a docstring"
'''
ATTACHED = '''
common = parse_kwargs("""
    input (Tensor): the input tensor
    dim (int): the dimension
        to reduce
""")
add_docstr(torch.abs, r"""
abs(input, *, out=None) -> Tensor

Absolute value of {{x}}.

Args:
    {input}
    {unknown}
""".format(**common))
add_newdoc("numpy", "ndarray", ("copy", """a.copy(order='C')

    Return a copy of it."""))
add_newdoc("numpy", "flatiter", [("base", "A reference to it."), ("index", "Current " + "flat index.")])
add_newdoc("numpy", "short", computed())
'''


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small world of source files in place of the installed ones."""
    root = tmp_path / "lib"
    files = {
        "one.py": MODULE,
        "pack/__init__.py": '"""A package."""',
        "pack/_docs.py": ATTACHED,
        "tests/hidden.py": '"""Hidden."""',
        "pack/test_it.py": '"""Hidden."""',
        "site-packages/other.py": '"""Hidden."""',
        "code.py": '"""Nearly all code."""\n' + "x = 1\n" * 3000,
        "broken.py": '"""Broken."""\nx = (',
        "surrogate.py": r'"""A lone \ud800 half."""',
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "zero.py").write_bytes(b'"""Zero."""\0')
    (root / "latin.py").write_bytes('# coding: latin-1\n"""Café au lait."""'.encode("latin-1"))
    monkeypatch.setattr(python_sources, "PACKAGES", ())
    monkeypatch.setattr(python_sources.sysconfig, "get_path", lambda name: str(root))
    monkeypatch.setattr(compiled_docstrings, "MODULES", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    docstrings.docstrings.cache_clear()
    yield root
    docstrings.docstrings.cache_clear()


def test_every_owner_is_found_and_nothing_is_run(tree):
    records = {one.text: one for one in docstrings.docstrings()}
    owners = {(one.module, one.name, one.kind, one.parameters, one.text) for one in records.values() if one.module == "one"}
    assert owners == {
        ("one", "", "module", (), "The module."),
        ("one", "plain", "function", ("first", "rest", "flag", "more"), "Does it."),
        ("one", "plain.inner", "function", ("x",), "Inside."),
        ("one", "later", "function", (), "Soon."),
        ("one", "Thing", "class", ("size",), "A thing."),
        ("one", "Thing.grow", "function", ("by",), "Grow\n    by some."),
        ("one", "under_if", "function", ("a",), "Under if."),
        ("one", "under_except", "function", ("b",), "Under except."),
    }
    assert records["A package."].module == "pack"
    assert records["Does it."].where == "python/one.py:4"
    assert "Café au lait." in records
    assert not {"Hidden.", "Nearly all code.", "Broken.", "Zero.", "A lone \ud800 half."} & set(records)


def test_docstrings_attached_by_a_call_are_put_together(tree):
    records = {one.name: one for one in docstrings.docstrings() if one.module == "pack._docs"}
    assert set(records) == {"torch.abs", "ndarray.copy", "flatiter.base", "flatiter.index"}
    assert records["torch.abs"].parameters == ("input", "out")
    assert "Absolute value of {x}." in records["torch.abs"].text and "    input (Tensor): the input tensor\n" in records["torch.abs"].text
    assert records["ndarray.copy"].parameters == ("order",)
    assert records["flatiter.index"].text == "Current flat index."


@pytest.mark.parametrize(("text", "names"), [("f(a, b=[1, (2)]) -> x", ("a", "b")), ("Does f(a).", ()), ("f(a, ...)", ()), ("", ())])
def test_signature_of_a_first_line(text, names):
    assert attached_docstrings.signature(text) == names


def test_shares_of_child_processes_equal_one_process(tree, monkeypatch):
    for number in range(500):
        (tree / f"many_{number:03d}.py").write_text(f'"""Text number {number}."""\ndef f(a):\n    """Function {number}."""\n')
    files = list(python_sources.source_files())
    alone = [row for file in files for row in python_sources.read_file(*file)]
    monkeypatch.setattr(python_sources, "cores", lambda: 3)
    monkeypatch.setattr(python_sources.sysconfig, "get_path", None)  # the children do not ask, they are told
    together = [[*row[:4], tuple(row[4]), *row[5:]] for row in python_sources.read_all(files)]
    assert together == alone and len(alone) > 1000
    monkeypatch.setattr(python_sources, "CHILD", "raise SystemExit(1)")
    assert [[*row[:4], tuple(row[4]), *row[5:]] for row in python_sources.read_all(files)] == alone


def test_a_second_process_would_read_the_cache(tree, monkeypatch):
    first = docstrings.docstrings()
    monkeypatch.setattr(python_sources, "read_all", None)  # a second reading would fail
    docstrings.docstrings.cache_clear()
    assert docstrings.docstrings() == first


def test_a_damaged_cache_is_reported_and_built_again(tree, monkeypatch, capsys):
    first = docstrings.docstrings()
    (cache_file,) = docstrings.cache_folder().iterdir()
    compressed = bytearray(cache_file.read_bytes())
    compressed[len(compressed) // 2] ^= 1
    cache_file.write_bytes(compressed)
    monkeypatch.setattr(progress, "messages_enabled", True)
    docstrings.docstrings.cache_clear()
    assert docstrings.docstrings() == first
    assert f"{cache_file} is damaged; reading the docstrings again" in capsys.readouterr().err


def test_the_key_knows_versions_and_files(tree, monkeypatch):
    files = list(python_sources.source_files())
    before = docstrings.cache_key(files)
    assert before == docstrings.cache_key(files)
    os.utime(tree / "one.py", (1, 1))
    touched = docstrings.cache_key(files)
    monkeypatch.setattr(python_sources, "PACKAGES", ("numpy",))
    versioned = docstrings.cache_key(files)
    monkeypatch.setattr(docstrings, "version", lambda package: "99")
    assert len({before, touched, versioned, docstrings.cache_key(files)}) == 4


def test_a_full_disk_costs_only_time(tree, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(docstrings.os, "replace", full)
    monkeypatch.setattr(progress, "messages_enabled", True)
    assert docstrings.docstrings()
    assert "(No space left on device); they will be read again next time" in capsys.readouterr().err
    assert list(docstrings.cache_folder().iterdir()) == []


def test_a_python_without_sources_is_refused_with_advice(tree, monkeypatch):
    monkeypatch.setattr(python_sources.sysconfig, "get_path", lambda name: str(tree / "nothing"))
    with pytest.raises(EnvironmentFault, match="no source files to read docstrings from; give a text file"):
        docstrings.docstrings()


def test_compiled_modules_give_their_own_docstrings_only(monkeypatch):
    monkeypatch.setattr(builtins, "put_here_by_somebody", type("Foreign", (), {"__doc__": "Foreign."}), raising=False)
    records = {(module, name): text for _, module, name, _, text in compiled_docstrings.compiled_docstrings()}
    assert records["builtins", "len"].startswith("Return the number of items")
    assert "str.split" in {name for module, name in records if module == "builtins"}
    assert ("numpy._core.umath", "sin") in records
    assert "Foreign." not in records.values()


def test_torch_is_not_imported():
    imports = "import sys; from stairs.text.embedded import compiled_docstrings, python_prose"
    code = f"{imports}; list(compiled_docstrings.compiled_docstrings()); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
