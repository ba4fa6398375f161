from pathlib import Path

from pyarrow import Table

def write_table(table: Table, where: str | Path) -> None: ...

class FileMetaData:
    num_rows: int
    num_columns: int

def read_metadata(where: str | Path) -> FileMetaData: ...
