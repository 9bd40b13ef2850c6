"""Lines of text from a file or from stdin, in any encoding."""

import os
import sys
from typing import BinaryIO

from stairs.errors import BadInput
from stairs.files import os_error_reason


def open_regular_file(file: str, advice: str) -> BinaryIO:
    """A file to read, but no device or pipe, which would hang or never end."""
    if os.path.exists(file) and not os.path.isfile(file):
        raise BadInput(f"{file} is a {'folder' if os.path.isdir(file) else 'device or a pipe'}, not a file; {advice}")
    try:
        return open(file, "rb")
    except OSError as error:
        raise BadInput(f"cannot read {file}: {os_error_reason(error)}; {advice}") from None


def read_lines(file: str | None = None) -> list[str]:
    """The lines that are more than whitespace; of stdin for None and "-"."""
    from stairs.text.input_files import decode_stream

    if file and file != "-":
        with open_regular_file(file, "give a text file") as raw:
            lines = "".join(decode_stream(raw, None, file)).split("\n")
    else:
        lines = "".join(decode_stream(sys.stdin.buffer, None, "stdin")).split("\n")
    found = [line for line in lines if line.strip()]
    if not found:
        raise BadInput("no text given; give it as an argument, with --file, or on stdin, one per line")
    return found
