"""Tables of records: CSV, TSV, JSON lines and parquet, row by row."""
