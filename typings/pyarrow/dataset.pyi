from collections.abc import Iterator
from pathlib import Path

from pyarrow import RecordBatch, Schema, Table
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions

class CsvFileFormat:
    def __init__(
        self,
        *,
        parse_options: ParseOptions,
        read_options: ReadOptions,
        convert_options: ConvertOptions,
    ) -> None: ...

class Fragment:
    path: str
    def count_rows(self) -> int: ...
    def to_batches(
        self, *, columns: list[str], batch_size: int, batch_readahead: int
    ) -> Iterator[RecordBatch]: ...

class Dataset:
    schema: Schema
    def get_fragments(self) -> Iterator[Fragment]: ...
    def count_rows(self) -> int: ...
    def head(self, num_rows: int, *, columns: list[str] = ...) -> Table: ...

def dataset(source: str | Path, *, format: str | CsvFileFormat) -> Dataset: ...
