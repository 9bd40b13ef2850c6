"""An .xlsx workbook as a table: the first row of its sheet that holds anything is the header, and every cell is text."""

from collections.abc import Iterator
from pathlib import Path

from stairs.text.tables.csv_table import CsvTable, unique_names
from stairs.text.tables.xlsx_sheet import sheet_rows

XLSX_SUFFIXES = (".xlsx", ".xlsm")


class XlsxReader:
    """One pass over a sheet, as `CsvReader` makes over lines: where that gives the line, it gives the row."""

    delimiter = ","

    def __init__(self, path: str | Path, *, header: bool) -> None:
        self.sheet, self.header = sheet_rows(path), header
        self.line, self.first_fields = next(iter(self.sheet), (0, []))
        width = len(self.first_fields) if header else self.sheet.width
        names = [field.strip() for field in self.first_fields] if header else [str(number) for number in range(1, width + 1)]
        self.columns = unique_names(names)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        width = len(self.columns)
        for number, cells in self.sheet:
            if (number > self.line or not self.header) and any(cell.strip() for cell in cells[:width]):
                yield number, cells[:width] + [""] * (width - len(cells))


class XlsxTable(CsvTable):
    """The rows of the sheet, readable again and again. What stands to the right of the header is left out."""

    def reader(self) -> XlsxReader:
        return XlsxReader(self.path, header=self.header)
