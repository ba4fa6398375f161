from collections.abc import Mapping, Sequence

from pyarrow import DataType

class ParseOptions:
    def __init__(self, *, delimiter: str, newlines_in_values: bool) -> None: ...

class ReadOptions:
    def __init__(self, *, block_size: int) -> None: ...

class ConvertOptions:
    def __init__(
        self,
        *,
        column_types: Mapping[str, DataType],
        strings_can_be_null: bool,
        null_values: Sequence[str] | None = None,
    ) -> None: ...
