from pathlib import Path
from types import TracebackType
from typing import IO, Any

from pyarrow import RecordBatch, Schema, Table

def read_table(source: IO[bytes]) -> Table: ...
def write_table(table: Table, where: str | Path) -> None: ...

class ParquetWriter:
    def __init__(self, where: Any, schema: Schema) -> None: ...
    def __enter__(self) -> ParquetWriter: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def write_batch(self, batch: RecordBatch) -> None: ...

class FileMetaData:
    num_rows: int
    num_columns: int

def read_metadata(where: str | Path) -> FileMetaData: ...
