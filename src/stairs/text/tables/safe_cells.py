"""Cells that a spreadsheet would run as a formula, written so that it shows them as text.

A program that opens a CSV file takes a cell that begins with =, +, - or @, also behind a tab or a line end, for a formula, and a formula may
send what stands in other cells elsewhere. Such a cell gets an apostrophe in front in .csv and .tsv, as OWASP advises; a plain number such as -3.5 is
left alone. In .xlsx a cell is typed, so it is written as a string; JSON lines and parquet have no formulas. `unescape_formula` takes the apostrophe
off again; nothing that is read is changed by itself, since the apostrophe may be somebody's own.
"""

import re

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # the wide ones are formulas where people type them
PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
ESCAPE = "'"


def escape_formula(cell: str) -> str:
    """The cell as it is safe in CSV and TSV."""
    return ESCAPE + cell if cell.startswith(FORMULA_STARTS) and not PLAIN_NUMBER.fullmatch(cell) else cell


def unescape_formula(cell: str) -> str:
    """What was escaped."""
    return cell[1:] if cell.startswith(ESCAPE) and escape_formula(cell[1:]) == cell else cell
