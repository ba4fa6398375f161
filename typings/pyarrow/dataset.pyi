from collections.abc import Iterator
from pathlib import Path

from pyarrow import RecordBatch, Table

class Schema:
    names: list[str]

class Dataset:
    schema: Schema
    def count_rows(self) -> int: ...
    def head(self, num_rows: int, *, columns: list[str]) -> Table: ...
    def to_batches(
        self, *, columns: list[str], batch_size: int, batch_readahead: int
    ) -> Iterator[RecordBatch]: ...

def dataset(source: str | Path, *, format: str) -> Dataset: ...
