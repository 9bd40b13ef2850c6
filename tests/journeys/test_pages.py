"""What every page says of other pages, of files, of names in the code and of JSON is so."""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

from stairs.comparison.schema import FORMAT as report_format
from stairs.text import sentences
from stairs.text.shards import FORMAT as shards_format
from stairs.text.tokenizers.spec import FORMAT as tokenizer_format
from stairs.training.run import FORMAT as run_format
from stairs.training.run_file import FORMAT as run_file_format
from stairs.version import __version__
from tests.journeys.pages import PAGES, ROOT

BETTER_WORDS = {
    "攀登": "对比", "台阶": "阶梯", "收养": "导入", "接收": "导入", "变成空格": "挖空", "遮盖": "挖空", "集束": "束搜索", "决定何时停止": "早停",
}  # fmt: skip
LINK = re.compile(r"\]\(([^)#:]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_files_that_exist(page):
    """In backticks, a path is one of the package or of the repository, and a bare name that of a file somewhere in it."""
    known = {str(path.relative_to(ROOT)) for folder in ("src", "tests", "benchmarks", ".ci") for path in (ROOT / folder).rglob("*.py")}
    names = {Path(path).name for path in known}
    missing = []
    for name in set(re.findall(r"`([\w/.-]+\.py)`", page.read_text("utf-8"))):
        exists = any(f"{prefix}{name}" in known for prefix in ("", "src/stairs/", "src/", "src/stairs/web/")) if "/" in name else name in names
        missing += [] if exists or page.name == "recipes.md" else [name]
    assert not missing, f"{page.name} names {', '.join(missing)}"


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs" / "internals").glob("*.md")), ROOT / "docs" / "architecture.md"], ids=lambda page: page.name)
def test_internals_name_what_the_code_has(page):
    """Names in backticks that look like Python's, such as `LanguageModel`, `hidden_states` or `VIEWS`."""
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    words = set(re.findall(r"\w+", code))
    names = set(re.findall(r"`(?:[\w.]+\.)?([A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}[A-Z_]*|[a-z]+_[a-z_]+)(?:\([^`]*\))?`", page.read_text("utf-8")))
    unknown = sorted(name for name in names if name not in words and f"{name}.py" not in code and not os.environ.get(name))
    assert not unknown, f"{page.name} names {', '.join(unknown)}"


def shapes(path: Path) -> dict[str, set[str]]:
    """The TypedDicts of a module, with their keys."""
    classes = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]
    typed = {node.name for node in classes if any(getattr(base, "id", "") == "TypedDict" for base in node.bases)}
    typed |= {node.name for node in classes if any(getattr(base, "id", "") in typed for base in node.bases)}
    return {node.name: {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)} for node in classes if node.name in typed}


@pytest.mark.parametrize("module", [
    "tasks/answers.py", "tasks/measurements.py", "tasks/row_predictions.py", "inspection/reasons.py", "training/records.py", "comparison/schema.py",
])  # fmt: skip
def test_the_page_of_json_shapes_lists_every_key(module):
    page = (ROOT / "docs" / "internals" / "json.md").read_text("utf-8")
    tables = re.findall(r"^\*\*(\w+)\*\*(.*?)(?=^\*\*|^## |\Z)", page, re.M | re.S)
    listed = {name: set(re.findall(r"^\| `(\w+)`", table, re.M)) for name, table in tables}
    expected = shapes(ROOT / "src" / "stairs" / module)
    assert expected and {name: listed.get(name) for name in expected} == expected


def test_the_tree_names_every_folder():
    """Each folder of the package that git knows has a line in architecture.md."""
    known = subprocess.run(["git", "ls-files", "src/stairs/*/*"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    tree = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert known and not [folder for folder in {path.split("/")[2] for path in known} if f"\n| `{folder}/` |" not in tree]


def test_the_changelog_has_the_numbers_of_the_formats():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    listed = [int(number) for number in re.findall(r"^\| .* \| (\d+) \|$", changelog, re.M)]
    assert listed == [run_format, report_format, shards_format, tokenizer_format, run_file_format]
    assert f"## [{__version__}]" in changelog and f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_chinese_has_one_word_for_one_thing():
    sources = [path for ending in ("py", "js") for path in (ROOT / "src").rglob(f"*.{ending}")]
    texts = {path.name: path.read_text("utf-8") for path in [*sources, *(page for page in PAGES if page.suffixes[0] == ".zh")]}
    assert not [f"{name}: {better}, not {word}" for name, text in texts.items() for word, better in BETTER_WORDS.items() if word in text]


def test_the_first_change_of_contributing_is_one(monkeypatch):
    """The abbreviation is missing, and adding it is enough."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    sentence, word = re.search(r'split_sentences\("(.*?)"\)', page)[1], re.search(r"Add `(\w+)` to the list `NEVER_LAST`", page)[1]
    assert len(sentences.split_sentences(sentence)) == 2
    monkeypatch.setattr(sentences, "NEVER_LAST", sentences.NEVER_LAST | {word})
    assert sentences.split_sentences(sentence) == [sentence]
