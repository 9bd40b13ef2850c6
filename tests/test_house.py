"""The house keeps its order: names are the field's words, folders import downwards, flags explain themselves, and the seams are typed."""

import ast
import io
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "stairs"

# Names of functions and methods are verbs, nouns or claims. What ends in -ed without being a participle, and participles that are nouns of the field.
NO_PARTICIPLES = {"embed", "feed", "need", "seed", "speed", "exceed", "proceed", "shed"}
PARTICIPLES = {
    "asked", "begun", "bound", "born", "bought", "broken", "brought", "built", "caught", "chosen", "dealt", "done", "drawn", "driven", "eaten",
    "fallen", "fed", "felt", "flown", "forgiven", "forgotten", "fought", "found", "given", "gone", "grown", "heard", "held", "hidden", "kept",
    "known", "laid", "learnt", "led", "left", "lent", "lost", "made", "meant", "met", "paid", "put_together", "ridden", "risen", "said", "seen",
    "sent", "shown", "sold", "spent", "spoken", "stood", "struck", "stuck", "sung", "sunk", "swept", "taken", "taught", "thought", "thrown", "told",
    "torn", "understood", "went", "won", "worn", "wound", "written",
}  # fmt: skip
ALLOWED_PARTICIPLES = {
    "hidden": "the hidden states of a layer, as every paper calls them",
    "supervised": "supervised learning",
    "distributed": "distributed training",
    "indexed": "a task with an index of vectors beside its encoder",
    "validated": "the options themselves, validated",
    "recommended": "the model that a report recommends, as in report.recommended.predict(texts)",
}
# Modules with the same stem are about one thing. Each stem with the reason.
SHARED_STEMS = {
    **dict.fromkeys(("bert", "cnn", "elmo", "gpt", "ngram", "nnlm", "seq2seq", "transformer", "vectors"), "a model and its settings"),
    "attention": "layer, view and picture of attention",
    "attention_arithmetic": "view and picture of the arithmetic of a head",
    "block": "layer and fast path of a Transformer block",
    "climb": "command and pictures of a climb",
    "distribution": "view and picture of target and output distributions",
    "dropout": "layer and kernel of dropout",
    "glove": "model, settings and kernel of GloVe",
    "input_rows": "views and pictures of what a Transformer reads",
    "kneser_ney": "estimate and kernel of Kneser-Ney smoothing",
    "labels": "views and pictures of labels",
    "layers": "views and pictures of layers",
    "look_alikes": "view and picture of words that look alike",
    "masks": "layers, views and pictures of attention masks",
    "nearest": "index and kernel of nearest-neighbour search",
    "one_hot": "view and picture of one-hot vectors",
    "positions": "layers, views and pictures of positions",
    "probabilities": "views and pictures of probabilities",
    "receptive_field": "view and picture of receptive fields",
    "subwords": "text and kernel of subwords",
    "tokens": "views and pictures of tokens",
    "translation": "views and pictures of translation",
    "word2vec": "model, settings and kernel of word2vec",
    "word_training": "views and pictures of the training of word vectors",
    "words": "views and pictures of words",
}
# No longer said; each for a reader of the field a riddle, see docs/architecture.md.
FORBIDDEN = {"surprise", "surprises", "chance", "chances", "said", "looks", "places", "told", "heard", "ground", "ladder", "teacher", "onlooker"}
ALLOWED_WORDS = {
    "surprise": ("src/stairs/inspection/", "src/stairs/pictures/", "src/stairs/web/", "tests/", "src/stairs/commands/draw.py"),  # the picture's name
    "teacher": ("tests/test_notebooks.py", "tests/test_house.py"),  # one of the readers that a notebook is written for
}
SEAMS = (  # between folders, and the shapes of what leaves the house
    "api.py", "data.py", "randomness.py", "models/base.py", "tasks/task.py", "tasks/answers.py", "tasks/measurements.py", "tasks/config_file.py",
    "training/records.py", "comparison/schema.py", "comparison/experiment.py", "comparison/models.py", "comparison/runner.py", "climb_job.py",
    "pictures/climb.py",
)  # fmt: skip


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def where(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def is_participle(name: str) -> bool:
    """One word, and one that says neither what is done nor what it gives."""
    return "_" not in name and name not in ALLOWED_PARTICIPLES and (name in PARTICIPLES or (name.endswith("ed") and name not in NO_PARTICIPLES))


def public_functions(node: ast.AST):
    """Functions of a module and methods of its classes; what is defined within a function is its own affair."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from public_functions(child)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_"):
            yield child


def test_no_public_function_is_a_bare_participle():
    """`kept(rows)` is neither the verb nor the thing returned: `keep`, `kept_rows` or `rows` are."""
    bad = [f"{where(path, found)} {found.name}" for path in sources("src") for found in public_functions(tree(path)) if is_participle(found.name)]
    assert not bad, "\n".join(bad)


def test_modules_with_one_stem_are_about_one_thing():
    stems = defaultdict(list)
    for path in sources("src"):
        if not path.stem.startswith("__"):
            stems[path.stem].append(str(path.relative_to(PACKAGE)))
    bad = {stem: paths for stem, paths in stems.items() if len(paths) > 1 and stem not in SHARED_STEMS}
    assert not bad, "\n".join(f"{stem}: {', '.join(paths)}" for stem, paths in bad.items())
    assert SHARED_STEMS.keys() <= {stem for stem, paths in stems.items() if len(paths) > 1}, "a stem that is no longer shared"


def test_no_module_is_named_by_a_bare_participle():
    bad = [str(path.relative_to(ROOT)) for path in sources("src") if is_participle(path.stem)]
    assert not bad, "\n".join(bad)


def test_no_class_name_occurs_twice():
    classes = defaultdict(list)
    for path in sources("src"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(where(path, node))
    bad = {name: sites for name, sites in classes.items() if len(sites) > 1}
    assert not bad, "\n".join(f"{name}: {', '.join(sites)}" for name, sites in bad.items())


def help_of(*arguments: str) -> str:
    from stairs import cli

    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out), suppress(SystemExit):
        cli.main([*arguments, "--help"])
    return out.getvalue()


def helps() -> list[tuple[str, ...]]:
    from stairs.cli import COMMANDS
    from stairs.models import MODELS

    trainable = [name for name in MODELS if MODELS[name].learns_by != "adoption"]
    return [*((name,) for name in COMMANDS), *(("train", name, "-") for name in trainable)]


def flags_of(text: str) -> dict[str, str]:
    """The flags that a help page lists, each with what it says of them."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        line = re.sub(r"^[│|]|[│|]\s*$", "", line)
        start = re.match(r"^ {0,3}(?:-\w, )?(--[a-z][\w-]*)(.*)$", line)
        if start:
            name = start[1]
            found[name] = [start[2]]
        elif not re.match(r"^ {8,}\S", line):
            name = ""
        elif name:
            found[name].append(line.strip())
    return {name: " ".join(part for part in parts if part).strip() for name, parts in found.items()}


@pytest.mark.parametrize("arguments", helps(), ids=" ".join)
def test_every_flag_has_help_and_shows_no_none(arguments):
    text = help_of(*arguments)
    flags = flags_of(text)
    assert {"--help", "--json", "--quiet"} <= flags.keys()
    empty = [name for name, help in flags.items() if "{None" in help or "None)" in help]
    assert not empty and "{None}" not in text, f"None is shown for {', '.join(empty)}"
    bare = [name for name, help in flags.items() if len(re.findall(r"\b[a-z]{2,}", re.sub(r"\((?:default|required).*|\{.*?\}", "", help))) < 2]
    assert not bare, f"no help for {', '.join(bare)}"


UPWARDS = {("tasks/run_verbs.py", "api"), ("tasks/run_verbs.py", "pictures")}  # a task's verb is a function of the front door


def contracts() -> list[dict]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]


def layers() -> list[set[str]]:
    (contract,) = (contract for contract in contracts() if contract["type"] == "layers")
    assert contract.get("exhaustive") is True, "the contract must be exhaustive, so that a new folder is given its place"
    return [{part.strip().removeprefix("stairs.").strip("()") for part in re.split(r"[|:]", layer)} for layer in contract["layers"]]


def test_no_folder_imports_upwards():
    """As import-linter says it, and also for imports within functions and for modules that nobody listed."""
    rank = {name: number for number, names in enumerate(reversed(layers())) for name in names}
    here = {path.stem if path.is_file() else path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert here - {"__init__", "__main__", "py"} == rank.keys() - {"__main__"}
    bad = []
    for path in sources("src"):
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "stairs" and own in rank:
                named = [node.module.split(".")[1]] if "." in node.module else [alias.name for alias in node.names]
                named = [name for name in named if (str(path.relative_to(PACKAGE)), name) not in UPWARDS]
                bad += [f"{where(path, node)} imports {name}" for name in named if rank.get(name, -1) > rank[own]]
    assert not bad, "\n".join(bad)


TORCH_FREE = (  # modules that a command's help, a page without a model, or a report needs: each would wait for torch for two seconds
    "cli", "commands", "errors", "files", "progress", "questions", "machine", "data", "version", "models.settings", "models.transfer_options",
    "training.options", "web", "comparison.messages", "comparison.report", "pictures.climb", "pictures.charts",
)  # fmt: skip


def test_what_must_stay_free_of_torch_is():
    code = f"""
import importlib, pkgutil, sys
import stairs
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError("torch is imported by " + current)
sys.meta_path.insert(0, Block())
for name in {TORCH_FREE!r}:
    current = "stairs." + name
    module = importlib.import_module(current)
    for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
        current = module.__name__ + "." + inner.name
        importlib.import_module(current)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr[-2000:]


def count_any(path: Path) -> int:
    return sum(getattr(node, "id", "") == "Any" for node in ast.walk(tree(path)))


def test_no_seam_is_any():
    """Where folders meet, and where JSON is described."""
    found = {name: count for name in SEAMS if (count := count_any(PACKAGE / name))}
    assert not found, found


def test_no_task_model_tokenizer_or_corpus_is_any():
    """As parameters and fields of these names."""
    named = {"task", "model", "tokenizer", "corpus", "options"}
    found = [
        where(path, node) for path in sources("src") for node in ast.walk(tree(path))
        if ((isinstance(node, ast.arg) and node.arg in named) or (isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") in named))
        and node.annotation is not None and ast.unparse(node.annotation).strip("'\"") in ("Any", "Any | None", "type[Any]")
    ]  # fmt: skip
    assert not found, "\n".join(found)


def parts(name: str) -> set[str]:
    """chance_that_it_follows, chanceThatItFollows and CHANCE_THAT give their words."""
    return {part.lower() for word in name.replace("-", "_").split("_") for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", word)}


def identifiers(module: ast.Module):
    """Every name that is defined or used, and every string that is a key."""
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            yield node, node.id
        elif isinstance(node, ast.Attribute):
            yield node, node.attr
        elif isinstance(node, ast.arg) or (isinstance(node, ast.keyword) and node.arg):
            yield node, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("test_"):
            yield node, node.name
        elif isinstance(node, ast.Dict):
            yield from ((key, key.value) for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield node, node.slice.value


def forbidden_in(path: Path, name: str) -> set[str]:
    relative = str(path.relative_to(ROOT))
    name = name.replace("looks_like", "")  # a claim that a reader understands
    return {word for word in parts(name) & FORBIDDEN if not relative.startswith(ALLOWED_WORDS.get(word, ("no such folder",)))}


def test_private_words_are_in_no_name_flag_or_key():
    bad = [
        f"{path.relative_to(ROOT)} {name}" for path in sources("src", "tests", "benchmarks")
        for name in sorted({name for _, name in identifiers(tree(path)) if " " not in name and forbidden_in(path, name)})
    ]  # fmt: skip
    for path in (PACKAGE / "web" / "static").glob("*.js"):
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text("utf-8"), flags=re.S)
        names = set(re.findall(r"[A-Za-z_$][\w$]*", re.sub(r"`[^`]*`|\"[^\"\n]*\"|'[^'\n]*'", "", code)))
        keys = set(re.findall(r"[\"']([\w-]+)[\"']\s*[:\]]", code))
        bad += [f"{path.relative_to(ROOT)} {name}" for name in sorted(names | keys) if forbidden_in(path, name)]
    assert not bad, "\n".join(bad)
