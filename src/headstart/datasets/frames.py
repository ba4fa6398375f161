"""Tables of ratings from data frames, CSV and Parquet files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from headstart.datasets.table import RatingTable


class Frame(Protocol):
    """The members of a data frame that are used; pandas and Polars have them."""

    @property
    def columns(self) -> Iterable[Any]:
        """The names of the columns."""
        ...

    def __getitem__(self, column: str, /) -> Any:
        """One column, with `to_numpy`."""
        ...


def from_frame(frame: Frame, *, user: str, item: str, rating: str) -> RatingTable:
    """The table in three columns of a pandas or Polars frame."""
    return _columns(frame, (user, item, rating), source="the frame", unit="row", first=0)


def from_file(path: str | Path, *, user: str, item: str, rating: str) -> RatingTable:
    """The table in three columns of a CSV file with a header, or of a Parquet file."""
    file = Path(path)
    endings = {".csv": _read_csv, ".parquet": _read_parquet}
    if file.suffix.lower() not in endings:
        raise ValueError(f"the file must end in .csv or .parquet, got {file}")
    if not file.is_file():
        raise FileNotFoundError(f"{file} must be a file of ratings, and it does not exist")
    return endings[file.suffix.lower()](file, (user, item, rating))


def _read_csv(file: Path, names: tuple[str, str, str]) -> RatingTable:
    import pandas as pd  # noqa: PLC0415 - slow, and only needed for files

    try:
        # Names are text, so that 007 is not 7; blank lines count, so that line numbers are right.
        frame = pd.read_csv(file, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{file} must have a header with {_listed(names)}, got nothing") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        problem = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ValueError(f"{file} must be a CSV file in UTF-8: {problem}") from error
    return _columns(frame, names, source=str(file), unit="line", first=2)


def _read_parquet(file: Path, names: tuple[str, str, str]) -> RatingTable:
    import pandas as pd  # noqa: PLC0415 - as above

    try:
        frame = pd.read_parquet(file)
    except ImportError as error:
        message = "reading Parquet needs pyarrow: pip install 'headstart[data]'"
        raise ImportError(message) from error
    except (ValueError, OSError) as error:
        raise ValueError(f"{file} must be a Parquet file: {error}") from error
    return _columns(frame, names, source=str(file), unit="row", first=0)


def _columns(
    frame: Frame, names: tuple[str, str, str], *, source: str, unit: str, first: int
) -> RatingTable:
    known = [str(name) for name in frame.columns]
    for name in names:
        if name not in known:
            hint = " (a wrong separator?)" if len(known) == 1 else ""
            raise ValueError(f"{source} must have a column {name!r}, got {_listed(known)}{hint}")
    users, items, ratings = (np.asarray(frame[name].to_numpy()) for name in names)
    return RatingTable.from_columns(users, items, ratings, source=source, unit=unit, first=first)


def _listed(names: Iterable[str]) -> str:
    return "columns " + ", ".join(repr(name) for name in names)
