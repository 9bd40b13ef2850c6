"""Parquet files, a batch of rows at a time and only the columns asked for; they need pyarrow."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from stairs.errors import BadInput, EnvironmentFault
from stairs.text.input_files import printable
from stairs.text.tables.lines import check_regular


class ParquetTable:
    """The rows of a parquet file; where others say the line, it says the row."""

    def __init__(self, path: str | Path):
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise BadInput(f"{printable(path)}: parquet needs pyarrow; install it with: pip install 'stairs[parquet]'") from error
        self.name, self.line = printable(path), 1
        try:
            self.file = pyarrow.parquet.ParquetFile(check_regular(path))
        except PermissionError as error:
            raise EnvironmentFault(f"{printable(path)}: may not be read; change its permissions") from error
        except (pyarrow.ArrowException, OSError) as error:
            raise BadInput(f"{printable(path)}: not a parquet file, or a damaged one; write it again") from error
        self.columns = self.file.schema_arrow.names

    def select_columns(self, names: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
        """(row from 1, the values of the named columns) of every row."""
        import pyarrow

        row = 0
        try:
            for batch in self.file.iter_batches(batch_size=4096, columns=list(dict.fromkeys(names))):
                for values in zip(*(batch.column(name).to_pylist() for name in names), strict=True):
                    row += 1
                    yield row, list(values)
        except (pyarrow.ArrowException, OSError) as error:
            raise BadInput(f"{self.name}:{row + 1}: the file is damaged from this row on; write it again") from error
