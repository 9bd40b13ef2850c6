"""Cells that a spreadsheet would run."""

import pytest

from stairs.text.tables.safe_cells import escape_formula, unescape_formula


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "=", "-", "--5", "+1-2", "-1e5x", "-１"])
def test_a_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(cell: str) -> None:
    assert escape_formula(cell) == "'" + cell
    assert unescape_formula("'" + cell) == cell


@pytest.mark.parametrize("cell", ["", "a=b", " =1", "-3.5", "+1", "-1e-5", "-.5", "00123", "'quoted'", "2026-11-18", "1,5", "你好"])
def test_other_cells_and_plain_numbers_stay_as_they_are(cell: str) -> None:
    assert escape_formula(cell) == cell
    assert unescape_formula(cell) == cell
