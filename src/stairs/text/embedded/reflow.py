"""A docstring as paragraphs, one on each line: wrapped lines are joined, code and tables keep their lines.

Docstrings are wrapped to the width of a screen, and a line end would otherwise look like the end of a sentence.
"""

import re
from typing import NamedTuple

RULE = re.compile(r"[-=~*^`_+#.|\"' ]{3,}")
ITEM = re.compile(r"[-*•+] |\(?\d{1,2}[.)] |:\w+[^:`]*:(?!`)|\.\. |@\w+ |[*`]{0,2}\w+[*`]{0,2} ?(?:\([^)]*\))?: |[*\w, `]+ : |\[\d+\]")
DEFINITION = re.compile(r"[*\w, `]+ : ")  # numpy's `axis : int, optional`, explained below it
PROMPT = re.compile(r">>>|\.\.\.( |$)|In \[\d+\]:|\$ ")
HEADING = re.compile(
    r"(parameters?|arg(ument)?s|keyword arg(ument)?s|returns?|yields?|raises?|examples?|notes?|references|see also|attributes"
    r"|warnings?|warns|shape|usage|input|outputs?|todo|explanation|methods|other parameters)( ?::?)?",
    re.IGNORECASE,
)


class Paragraph(NamedTuple):
    text: str
    kind: str  # prose, code, or heading


def paragraphs(text: str) -> list[Paragraph]:
    """The paragraphs of a cleaned docstring, without the rules under headings."""
    result: list[Paragraph] = []
    open_lines: list[str] = []
    hanging = False  # the open paragraph is a list item, whose further lines may be indented
    previous = 0  # its indentation
    code_indent: int | None = None  # lines indented deeper belong to the literal block after a `::`
    in_session = False  # between a prompt and the next blank line

    def close() -> None:
        if open_lines:
            result.append(Paragraph(" ".join(open_lines), "prose"))
            open_lines.clear()

    for line in text.split("\n"):
        bare = line.strip()
        if not bare:
            close()
            in_session = False
            continue
        indent = len(line) - len(line.lstrip())
        if code_indent is not None and indent <= code_indent:
            code_indent = None
        if PROMPT.match(bare):
            in_session = True
        if in_session or code_indent is not None or bare[0] == "|":
            close()
            result.append(Paragraph(line.rstrip(), "code"))
            continue
        if RULE.fullmatch(bare):
            close()
            continue
        if HEADING.fullmatch(bare):
            close()
            result.append(Paragraph(bare, "heading"))
            continue
        item = ITEM.match(bare)
        if open_lines and (item or indent < previous or (indent > previous and not hanging)):
            close()
        if not open_lines:
            hanging = bool(item) and not DEFINITION.match(bare)
        open_lines.append(bare)
        previous = indent
        if bare.endswith("::") or bare.startswith((".. math", ".. code")):
            close()
            code_indent = indent
    close()
    return result


def leading_prose(parts: list[Paragraph]) -> str:
    """The prose before the first section or piece of code, without a leading line that only repeats the signature."""
    prose = []
    for number, one in enumerate(parts):
        if number == 0 and re.match(r"[\w.]+\(", one.text):
            continue
        if one.kind != "prose" or ITEM.match(one.text):
            break
        prose.append(one.text)
    return " ".join(prose)
