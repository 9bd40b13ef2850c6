"""Docstrings that numpy and torch attach to compiled functions by a call, such as `add_docstr(torch.abs, "...")`, read as syntax."""

import ast
import re
from collections.abc import Iterator
from inspect import cleandoc

MARKS = (b"add_newdoc(", b"add_docstr")  # in every file with such calls
CALLS = {"add_newdoc", "add_docstr", "_add_docstr", "add_docstr_all"}
SLOT = re.compile(r"\{(\w+)\}")


def attached_docstrings(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """(name, docstring, line) of each such call whose text can be assembled without running anything."""
    shared = shared_phrases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called_name(node) in CALLS and len(node.args) >= 2:
            for name, value in named_texts(node):
                text = fold_string(value, shared)
                if text and len(text.split()) > 2:
                    yield name, cleandoc(text), node.lineno


def named_texts(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """numpy: (module, class, (method, text)) or (module, function, text); torch: (function, text)."""
    owner, last = node.args[-2], node.args[-1]
    name = string_literal(owner) or ast.unparse(owner)
    for item in last.elts if isinstance(last, ast.List) else [last]:
        if isinstance(item, ast.Tuple) and len(item.elts) == 2:
            yield f"{name}.{string_literal(item.elts[0])}", item.elts[1]
        else:
            yield name, item


def called_name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def string_literal(node: ast.expr) -> str:
    """The string literal, or an empty string."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def fold_string(node: ast.expr, shared: dict[str, str]) -> str:
    """The string an expression of literals, `+`, f-strings and `.format(**phrases)` stands for; unknown parts are dropped."""
    if isinstance(node, ast.Constant):
        return string_literal(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return fold_string(node.left, shared) + fold_string(node.right, shared)
    if isinstance(node, ast.JoinedStr):
        return "".join(fold_string(part, shared) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return shared.get(string_literal(node.value.slice), "") if isinstance(node.value, ast.Subscript) else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        filled = SLOT.sub(lambda slot: shared.get(slot[1], ""), fold_string(node.func.value, shared).replace("{{", "\0").replace("}}", "\1"))
        return filled.replace("\0", "{").replace("\1", "}")
    return ""


def shared_phrases(tree: ast.Module) -> dict[str, str]:
    """What `.format` fills in: descriptions of arguments that many functions share, listed once at the top of the file."""
    phrases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None and string_literal(key) and string_literal(value):
                    phrases.setdefault(string_literal(key), string_literal(value))
        elif isinstance(node, ast.Call) and called_name(node) == "parse_kwargs" and node.args:
            for entry in re.split(r"\n\s{4}(?!\s)", fold_string(node.args[0], {})):
                if entry.strip():
                    phrases.setdefault(entry.split()[0], entry.strip())
    return phrases


def signature(text: str) -> tuple[str, ...]:
    """Parameter names from a first line such as `abs(input, *, out=None) -> Tensor`; none if it is not one."""
    opening = re.match(r"\s*[\w.]+(\([^\n]*\))", text)
    if opening is None:
        return ()
    try:
        (node,) = ast.parse(f"def f{opening[1]}: pass").body
    except (SyntaxError, ValueError):
        return ()
    return argument_names(node.args) if isinstance(node, ast.FunctionDef) else ()


def argument_names(arguments: ast.arguments) -> tuple[str, ...]:
    every = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return tuple(one.arg for one in every if one is not None and one.arg not in ("self", "cls"))
