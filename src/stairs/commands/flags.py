"""How a command reads its flags. They are the fields of dataclasses, and the comment behind a field is the help of its flag."""

import dataclasses
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Hashable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, make_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from stairs import progress, questions
from stairs.errors import BadInput
from stairs.models.settings import FROM_TOKENIZER

if TYPE_CHECKING:
    from stairs.train_job import TrainJob

Flags = TypeVar("Flags")
MAX_COUNT = 1 << 24
METAVARS: dict[type, str] = {int: "INT", float: "FLOAT", str: "STR", bool: "{True,False}"}
PARSER_MESSAGES = (  # the parser's words, and ours
    (r"^Error parsing (--[\w-]+): (?:no type matching|Could not).*? from \[(.*?)\].*", r"\1 cannot be \2"),
    (r"^Error parsing (--[\w-]+): invalid literal for int\(\) with base 10: (.*)", r"\1 must be a whole number, not \2"),
    (r"^Error parsing (--[\w-]+): could not convert string to float: (.*)", r"\1 must be a number, not \2"),
    (r"^invalid choice (.*?) for argument '(--[\w-]+)'. Expected one of \((.*)\)", r"\2 cannot be \1 but one of \3"),
    (r"^Unrecognized options: (-[\w-]+).*", r"there is no option \1"),
    (r"^Unrecognized options: (.*)", r"unexpected argument \1"),
    (r"^Missing value for argument '(.*?)'.*", r"\1 needs a value"),
    (r"^Missing from [a-z ]+: (.*) \(required\)", r"something is missing: \1"),
)


@dataclass(frozen=True, kw_only=True)
class CommonFlags:
    json: bool = False  # print JSON on stdout
    quiet: bool = False  # no progress and no messages on stderr
    debug: bool = False  # show the traceback of an error


@dataclass(frozen=True, kw_only=True)
class GuessFlags:
    yes: bool = False  # take the likeliest reading of a labelled file where several fit and nobody can be asked


def parse(kind: type[Flags], arguments: Sequence[str], command: str, about: str, settings: type | None = None) -> Flags:
    """The arguments as a `kind`; what does not fit is one sentence. `settings` is a model's config, whose fields become flags, too."""
    import tyro

    errors = io.StringIO()
    try:
        with redirect_stderr(errors):
            options: Flags = tyro.cli(
                with_help(cast(Hashable, kind), cast(Hashable, settings)), args=list(arguments), prog=f"stairs {command}", description=about,
                config=(tyro.conf.FlagCreatePairsOff,),
            )  # fmt: skip
    except SystemExit as ended:
        if not ended.code:
            raise
        raise BadInput(error_sentence(errors.getvalue(), command)) from None
    quiet = getattr(options, "quiet", False)
    progress.messages_enabled = not quiet
    progress.bars_enabled = not quiet and sys.stderr.isatty() and not os.environ.get("CI")
    questions.assume_yes = getattr(options, "yes", False)
    return options


@cache
def with_help(kind: Any, settings: Any = None) -> Any:
    """`kind` with the help of each flag, and with a flag for each of the settings. What a flag is if it is not given, its help says."""
    flags: list[Any] = []
    for field, text in fields_with_help(kind):
        hint = "" if field.default in (None, (), "", False) else None
        flags.append((field.name, annotate(type_of(kind, field.name), field.name, text, hint), field))
    names = {name for name, *_ in flags}
    for field, text in fields_with_help(settings) if settings else ():
        if field.name not in names and field.name not in FROM_TOKENIZER:
            default = f" (default: {shown_default(field.default)}, or as --size has it)"
            flags.append((field.name, annotate(type_of(settings, field.name) | None, field.name, text, default), None))
    return make_dataclass(kind.__name__, flags, bases=(kind,), frozen=True)


def annotate(kind: Any, name: str, text: str, hint: str | None) -> Any:
    from tyro.conf import arg

    return Annotated[kind, arg(help=text, metavar=metavar_of(kind, name), help_behavior_hint=hint)]


def metavar_of(kind: Any, name: str) -> str | None:
    """What stands for a value in the help; None if the parser's own word will do."""
    if get_origin(kind) is Annotated:  # positional
        base = get_args(kind)[0]
        return f"[{name.upper()} ...]" if get_origin(base) is tuple else name.upper()
    options = [own for own in get_args(kind) if own is not NoneType] if get_origin(kind) in (Union, UnionType) else [kind]
    if len(options) == len(get_args(kind)) or kind is bool:
        return None
    own = options[0]
    if get_origin(own) is Literal:
        return "{" + ",".join(map(str, get_args(own))) + "}"
    if get_origin(own) is tuple:
        several = [METAVARS.get(part, "STR") for part in get_args(own) if part is not Ellipsis]
        return " ".join(several) if Ellipsis not in get_args(own) else f"{several[0]} [{several[0]} ...]"
    return METAVARS.get(own)


def shown_default(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else "none" if value in (None, "") else str(value)


def type_of(kind: Any, name: str) -> Any:
    return type_hints(kind)[name]


@cache
def type_hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def fields_with_help(kind: Any) -> list[tuple[Any, str]]:
    """The fields of a dataclass with the comments behind them, or above them where a line would be too long."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        source = inspect.getsource(base)
        texts |= dict(re.findall(r"^ {4}(\w+):.*?  # (?!type: |fmt: |noqa)(.*?)(?:  # .*)?$", source, re.M))
        above = re.findall(r"^ {4}# (.*)\n {4}(\w+):[^#\n]*$", source, re.M)
        texts |= {name: text for text, name in above}
    return [(field, texts.get(field.name, "")) for field in dataclasses.fields(kind)]


def error_sentence(box: str, command: str) -> str:
    """The parser's framed message as one sentence; the frame is of ASCII where the terminal is."""
    lines = [line.strip("│╭╮╰╯|+ ") for line in box.splitlines()]
    parts = [" ".join(part.split()) for part in re.split(r"[─-]{5,}", "\n".join(lines))]
    messages = [part for part in parts if part][1:]  # the first is the title
    near = re.findall(r"(--[\w-]+)", messages[1]) if len(messages) > 1 and "Perhaps" in messages[1] else []
    hint = f"did you mean {near[0]}?" if near else f"see stairs {command} --help"
    found = re.sub(r", 'None'(?=\))|'None', ", "", messages[0])
    for pattern, words in PARSER_MESSAGES:
        found = re.sub(pattern, words, found)
    return f"{found[:200].rstrip('.')}; {hint}"


def part_of(options: CommonFlags, kind: type[Flags]) -> Flags:
    """Those flags that are fields of another dataclass, as that."""
    return kind(**{field.name: getattr(options, field.name) for field in dataclasses.fields(kind)})  # type: ignore[arg-type]


def keywords_of(options: CommonFlags, *without: str) -> dict[str, object]:
    """The flags as keywords of a verb of `stairs.api`, without those of the command itself."""
    own = {field.name for kind in (CommonFlags, GuessFlags) for field in dataclasses.fields(kind)}
    return {field.name: getattr(options, field.name) for field in dataclasses.fields(options) if field.name not in own | set(without)}


def texts_from(texts: Sequence[str], file: str | None) -> list[str]:
    """Texts from the arguments, from a file, or from stdin, one per line."""
    if texts and file:
        raise BadInput("texts were given both as arguments and with --file; give one of the two")
    if texts and tuple(texts) != ("-",):
        return list(texts)
    from stairs.text.input_lines import read_lines

    return read_lines(file)


def check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 63:
        raise BadInput(f"--seed {seed} is not between 0 and {(1 << 63) - 1}")


def check_top(top: int) -> None:
    if not 1 <= top <= MAX_COUNT:
        raise BadInput(f"--top {top} is not between 1 and {MAX_COUNT}")


def show(data: object) -> None:
    print(json_line(data))


def json_line(data: object) -> str:
    """A terminal without UTF-8 gets escapes."""
    return json.dumps(data, ensure_ascii=not sys.stdout.encoding.lower().startswith("utf"))


def print_result(data: Mapping[str, object], summary: str, as_json: bool) -> None:
    """Nothing without a summary, as of a worker that only computes."""
    if summary:
        print(json_line(data) if as_json else summary)


def print_plan(job: "TrainJob", as_json: bool) -> int:
    """What a training would take; the exit code of the command."""
    from stairs.plan_job import plan_training

    plan = plan_training(job)
    lines = (f"{name.replace('_', ' '):18} {value if isinstance(value, str) else format(value, ',')}" for name, value in plan.items())
    print_result(plan, "\n".join(lines), as_json)
    return 0
