"""Every file, flag and import that a page names exists."""

import importlib
import io
import re
import signal
from contextlib import redirect_stdout, suppress

import pytest

from stairs import cli
from stairs.models.settings import CONFIGS
from tests.journeys.pages import PAGES, ROOT, blocks

CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+\.py\b")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9_-]*")
IMPORT = re.compile(r"^(?:>>> )?from (stairs[\w.]*) import (.+)$", re.M)
SOURCES = [f"/{path.relative_to(ROOT)}" for folder in ("src", "tests", "benchmarks", ".ci") for path in (ROOT / folder).rglob("*.py")]
FLAGS_OF_OTHER_TOOLS = {
    "--model", "--output_dir", "--quantization", "--nnodes", "--nproc-per-node", "--rdzv-backend", "--rdzv-endpoint", "--max-restarts",
    "--index-url", "--no-deps",
    "--language",  # of python -m stairs.text.embedded.reviews
}  # fmt: skip
NOT_WRITTEN_YET = {"tests/test_house.py"}  # architecture.md tells of it already


def help_text(*arguments: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out), suppress(SystemExit):
        cli.main([*arguments, "--help"])
    return out.getvalue()


@pytest.fixture(scope="module")
def flags() -> set[str]:
    """Those in the help of every command and model, and those of the benchmarks."""
    handler = signal.getsignal(signal.SIGTERM)
    texts = [help_text(), *map(help_text, cli.COMMANDS), *(help_text("train", model) for model in CONFIGS)]
    signal.signal(signal.SIGTERM, handler)
    texts += [line for path in (ROOT / "benchmarks").glob("*.py") for line in path.read_text("utf-8").splitlines() if "add_argument" in line]
    return {flag for text in texts for flag in FLAG.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_exist(page):
    named = {path for code in CODE.findall(page.read_text("utf-8")) for path in FILE.findall(code)} - NOT_WRITTEN_YET
    assert not [path for path in sorted(named) if not any(source.endswith(f"/{path}") for source in SOURCES)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_flags_exist(page, flags):
    assert not set(FLAG.findall(page.read_text("utf-8"))) - flags - FLAGS_OF_OTHER_TOOLS


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "recipes"], ids=lambda page: str(page.relative_to(ROOT)))
def test_imports_exist(page):
    """What the recipes add is tested by `test_recipes.py`."""
    for module, names in (found for block in blocks(page, "python") for found in IMPORT.findall(block)):
        for name in names.split(", "):
            assert hasattr(importlib.import_module(module), name), f"{page.name} imports {name} from {module}"
