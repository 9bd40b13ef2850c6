"""Flags that mean the same everywhere, and how a command's flags are read."""

import dataclasses
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

from stairs import progress, questions
from stairs.errors import BadInput
from stairs.files import os_error_reason
from stairs.models.sizes import DEFAULT_MIN_COUNT, DEFAULT_TOKENIZER

Kind = TypeVar("Kind")
TokenizerKind = Literal["words", "characters", "bpe", "byte-bpe", "wordpiece", "unigram"]
UNPACKED = 3.5  # bytes of text in a byte of a packed file
TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
WORDING = (  # the parser's words, and ours
    (r"^Error parsing (--[\w-]+): (?:no type matching|Could not).*? from \[(.*?)\].*", r"\1 cannot be \2"),
    (r"^Error parsing (--[\w-]+): invalid literal for int\(\) with base 10: (.*)", r"\1 must be a whole number, not \2"),
    (r"^Error parsing (--[\w-]+): could not convert string to float: (.*)", r"\1 must be a number, not \2"),
    (r"^invalid choice (.*?) for argument '(--[\w-]+)'. Expected one of \((.*)\)", r"\2 cannot be \1 but one of \3"),
    (r"^Unrecognized options: (-[\w-]+).*", r"there is no option \1"),
    (r"^Unrecognized options: (.*)", r"\1 came where nothing was expected"),
    (r"^Missing value for argument '(.*?)'.*", r"\1 needs a value"),
    (r"^Missing from [a-z ]+: (?:STR )?(.*) \(required\)", r"something is missing: \1"),
)


@dataclass(frozen=True, kw_only=True)
class Common:
    json: bool = False  # print JSON on stdout
    quiet: bool = False  # no progress and no prose on stderr
    debug: bool = False  # show the traceback of an error


@dataclass(frozen=True, kw_only=True)
class Guessing:
    yes: bool = False  # take the likeliest reading of a labelled file where several fit and nobody can be asked


@dataclass(frozen=True, kw_only=True)
class Reading:
    encoding: str | None = None  # of the text files; found out if not given
    column: str | None = None  # that holds the text, in jsonl, csv, tsv and parquet
    max_bytes: int | None = None  # refuse a compressed file that unpacks to more
    skip_unreadable: bool = False  # pass over files of a folder that cannot be read


@dataclass(frozen=True, kw_only=True)
class Cutting:
    tokenizer: TokenizerKind | None = None  # how text is cut into tokens; if not given, byte-bpe for nnlm and gpt, words for the others
    vocab_size: int | None = None  # at most so many tokens; all words, or 8192 subwords, if not given
    min_count: int | None = None  # words seen less often are unknown; if not given, 5 for word vectors and 1 for the others
    chinese: Literal["characters", "words"] | None = None  # cut Chinese into characters, as BERT does, or words, as jieba does
    lowercase: bool = False  # make all letters small first


def parse(kind: type[Kind], arguments: Sequence[str], command: str, about: str) -> Kind:
    """The flags as a `processor_kind`; what does not fit is one sentence."""
    import tyro

    said = io.StringIO()
    try:
        with redirect_stderr(said):
            options = tyro.cli(
                kind, args=list(arguments), prog=f"stairs {command}", description=about, config=(tyro.conf.FlagCreatePairsOff,)
            )
    except SystemExit as ended:
        if not ended.code:
            raise
        raise BadInput(sentence(said.getvalue(), command)) from None
    switch_progress(options)
    questions.assume_yes = getattr(options, "yes", False)
    return options


def sentence(box: str, command: str) -> str:
    """The parser's framed message as one sentence; the frame is of ASCII where the terminal is."""
    lines = [line.strip("│╭╮╰╯|+ ") for line in box.splitlines()]
    parts = [" ".join(part.split()) for part in re.split(r"[─-]{5,}", "\n".join(lines))]
    said = [part for part in parts if part][1:]  # the first is the title
    near = re.findall(r"(--[\w-]+)", said[1]) if len(said) > 1 and "Perhaps" in said[1] else []
    hint = f"did you mean {near[0]}?" if near else f"see stairs {command} --help"
    for pattern, words in WORDING:
        said[0] = re.sub(pattern, words, said[0])
    return f"{said[0][:200].rstrip('.')}; {hint}"


def switch_progress(options: Any) -> None:
    quiet = getattr(options, "quiet", False)
    progress.messages_enabled = not quiet
    progress.bars_enabled = not quiet and sys.stderr.isatty() and not os.environ.get("CI")


def open_corpus(paths: Sequence[str], options: Reading) -> Any:
    if options.max_bytes is not None and options.max_bytes < 1:
        raise BadInput(f"--max-bytes {options.max_bytes} is below 1")
    from stairs.text.corpus.corpus import Corpus

    return Corpus(
        list(paths), encoding=options.encoding, column=options.column, max_bytes=options.max_bytes, skip_unreadable=options.skip_unreadable
    )


def text_size(corpus: Any) -> float:
    """Bytes of text, about: a packed file holds several times its size."""
    sources = getattr(corpus, "sources", None)
    return corpus.size if sources is None else sum(source.size * (UNPACKED if source.compression else 1) for source in sources)


def tokenizer_spec(options: Cutting, model: str) -> Any:
    """How the text is to be cut for a step."""
    from stairs.text.tokenizers.tokenizer import TokenizerSpec

    if options.vocab_size is not None and not 6 <= options.vocab_size <= 1 << 24:
        raise BadInput(f"--vocab-size {options.vocab_size} is not between 6 and {1 << 24}; 8192 to 32768 are usual")
    if options.min_count is not None and options.min_count < 1:
        raise BadInput(f"--min-count {options.min_count} is below 1; 1 keeps every word")
    chinese = {} if options.chinese is None else {"chinese": options.chinese}
    return TokenizerSpec(
        kind=options.tokenizer or DEFAULT_TOKENIZER[model],
        vocab_size=options.vocab_size,
        min_count=options.min_count or DEFAULT_MIN_COUNT.get(model, 1),
        lowercase=options.lowercase,
        **chinese,
    )


def texts_from(texts: Sequence[str], file: str | None) -> list[str]:
    """Texts from the arguments, from a file, or from stdin, one per line."""
    if texts and file:
        raise BadInput("texts came both as arguments and with --file; give one of the two")
    if texts and tuple(texts) != ("-",):
        return list(texts)
    from stairs.text.encoding import decode_stream

    if file and file != "-":
        with opened(file, "give a text file") as raw:
            lines = "".join(decode_stream(raw, None, file)).split("\n")
    else:
        lines = "".join(decode_stream(sys.stdin.buffer, None, "stdin")).split("\n")
    found = [line for line in lines if line.strip()]
    if not found:
        raise BadInput("no text came; give it as an argument, with --file, or on stdin, one per line")
    return found


def run_name(path: str) -> str:
    """A part of a run's name that tells of a file."""
    return re.sub(r"[^\w.-]+", "-", Path(path).name.split(".")[0])


def opened(file: str, advice: str) -> BinaryIO:
    """A file to read, but no device or pipe, which would hang or never end."""
    if os.path.exists(file) and not os.path.isfile(file):
        raise BadInput(f"{file} is a {'folder' if os.path.isdir(file) else 'device or a pipe'}, not a file; {advice}")
    try:
        return open(file, "rb")
    except OSError as error:
        raise BadInput(f"cannot read {file}: {os_error_reason(error)}; {advice}") from None


def refuse_inside(out: Path, corpus: Sequence[str]) -> None:
    """An output within its own input would be read the next time."""
    for path in filter(os.path.exists, corpus):
        if os.path.isdir(path) and out.resolve().is_relative_to(Path(path).resolve()):
            raise BadInput(f"--out {out} lies inside the corpus {path}; choose a folder elsewhere")
        if out.resolve() == Path(path).resolve():
            raise BadInput(f"--out {out} is the corpus itself; choose another folder")


def check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 63:
        raise BadInput(f"--seed {seed} is not between 0 and {(1 << 63) - 1}")


def show(data: Any) -> None:
    print(json.dumps(data, ensure_ascii=not sys.stdout.encoding.lower().startswith("utf")))


def worded(kind: Any) -> list[tuple[Any, str]]:
    """The fields of a dataclass with the words that stand behind them."""
    words = dict(re.findall(r"^ {4}(\w+):.*?# (?!type: )(.*)$", inspect.getsource(kind), re.M))
    return [(field, words.get(field.name, "")) for field in dataclasses.fields(kind)]
