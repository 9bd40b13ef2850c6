"""Parquet files, a batch of rows at a time and only the columns that are asked for; they need pyarrow."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from stairs.errors import BadInput, EnvironmentFault
from stairs.text.input_files import printable
from stairs.text.tables.lines import check_regular

BATCH_ROWS = 1024


class ParquetTable:
    """The rows of a parquet file, or of one that is open already; where others give the line, it gives the row."""

    def __init__(self, path: str | Path, file: BinaryIO | None = None):
        self.name, self.line = printable(path), 1
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise BadInput(f"{self.name}: parquet needs pyarrow; install it with: pip install 'stairs[parquet]'") from error
        source = check_regular(path) if file is None else file
        try:
            self.file = pyarrow.parquet.ParquetFile(source)
        except PermissionError as error:
            raise EnvironmentFault(f"{self.name}: no permission to read it; change its permissions") from error
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise BadInput(f"{self.name}: not a parquet file, or a damaged one; write it again, or give jsonl") from error
        self.columns: list[str] = self.file.schema_arrow.names
        self.row_count: int = self.file.metadata.num_rows

    def select_columns(self, names: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
        """(row from 1, the values of the named columns) of every row."""
        import pyarrow

        row = 0
        try:
            for batch in self.file.iter_batches(batch_size=BATCH_ROWS, columns=list(dict.fromkeys(names))):
                for values in zip(*(batch.column(name).to_pylist() for name in names), strict=True):
                    row += 1
                    yield row, list(values)
        except (pyarrow.ArrowException, OSError) as error:
            raise BadInput(f"{self.name}:{row + 1}: the file is damaged from this row on; write it again") from error
