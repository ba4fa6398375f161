"""Evidence: what a log shows about its columns, for a first proposal of a schema."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.features import values
from headstart.features.columns import Column

# How many rows are read, from the start of the log.
MOST_ROWS = 100_000
# From this share of missing values on, a column for missing values pays.
OFTEN = 0.02
# Nothing known before the reward explains this share of its variance.
_LEAK = 0.95
# With fewer repeated values, the variance within a value is not known.
_REPEATED = 0.25
# From this share of a column's variation between items on, it belongs to items though it changes.
_OF_ITEM = 0.7
# An id has more than this many values per row, item or task, and more than a category would; if
# every row has its own value, fewer are enough.
_ID, _MANY, _SOME = 0.5, 30, 7

# What pandas calls a column without a name, such as an index that was written to a CSV file.
_INDEX = re.compile(r"Unnamed: \d+|")
_ITEM_NAMES = ("item", "item_id", "arm", "arm_id", "product", "product_id", "sku", "movie")
_CONTEXT_WORDS = frozenset(
    (
        "browser", "channel", "context", "date", "day", "device", "dow", "hour", "locale", "minute",
        "month", "os", "page", "placement", "platform", "position", "query", "referrer", "request",
        "screen", "season", "session", "slot", "time", "weather", "weekday", "weekend",
    )
)  # fmt: skip
_ID_WORDS = frozenset(("id", "key", "uuid", "guid", "hash", "sku", "code"))


class Evidence:
    """What a log shows about its columns: their values, and which are functions of others."""

    def __init__(
        self, columns: Mapping[str, Any], reward: str, task: str, item: str | None
    ) -> None:
        self.columns = columns
        self.n_rows = len(next(iter(columns.values())))
        if self.n_rows == 0:
            raise ValueError("the log must have at least one row, got none")
        self._levels: dict[str, tuple[list[object], Integers]] = {}
        numbers = Column(columns[reward], is_text=True).booleans()
        if numbers is None:
            levels, codes = self.levels(reward)
            parsed = [float(bool(v)) if isinstance(v, bool) else np.nan for v in levels]
            numbers = np.array([*parsed, np.nan])[codes]
        if not np.isfinite(numbers).any():
            raise ValueError(f"reward {reward!r} must be a column of numbers")
        self.reward = np.where(np.isfinite(numbers), numbers, np.nanmean(numbers))
        self.reward_name, self.task = reward, task
        self.item = self._find_item() if item is None else item

    def levels(self, name: str) -> tuple[list[object], Integers]:
        """The different values of a column, and the code of each row, −1 for missing."""
        if name not in self._levels:
            levels, codes = Column(self.columns[name]).levels()
            here = np.array([not values.is_missing(level) for level in levels] + [False])
            index = np.cumsum(here) - 1
            kept = [level for level, there in zip(levels, here, strict=False) if there]
            self._levels[name] = kept, np.where(here[codes], index[codes], -1)
        return self._levels[name]

    def n_levels(self, name: str) -> int:
        """How many different values a column has."""
        return len(self.levels(name)[0])

    def missing(self, name: str) -> float:
        """The share of rows in which a column is missing."""
        return float((self.levels(name)[1] < 0).mean())

    def numbers(self, name: str) -> Floats | None:
        """A column as numbers, if it holds numbers."""
        return Column(self.columns[name]).numbers()

    def follows(self, name: str, other: str) -> bool:
        """Whether a column is a function of another."""
        codes, others = self.levels(name)[1], self.levels(other)[1]
        pairs = (others + 1) * (self.n_levels(name) + 1) + codes + 1
        return len(np.unique(pairs)) == len(np.unique(others))

    def explained(self, name: str, target: Floats) -> float:
        """The share of a target's variance between a column's levels, less the share by chance."""
        codes = self.levels(name)[1] + 1
        counts = np.bincount(codes)
        used = counts[counts > 0]
        if len(target) - len(used) < _REPEATED * len(target):
            return 0.0
        means = np.bincount(codes, target) / np.maximum(counts, 1)
        within = float(((target - means[codes]) ** 2).sum()) / (len(target) - len(used))
        whole = float(target.var(ddof=1)) if len(target) > 1 else 0.0
        return 1.0 - within / whole if whole > 0.0 else 0.0

    def _find_item(self) -> str | None:
        """The column that seems to name the item, if any: others are functions of it."""
        others = [name for name in self.columns if name not in (self.reward_name, self.task)]
        discrete = [
            name
            for name in others
            if 2 < self.n_levels(name) <= max(self.n_rows / 2, 3)
            and all(isinstance(level, str | int) for level in self.levels(name)[0])
            and not self.follows(name, self.task)
        ]
        for name in discrete:
            if name.lower() in _ITEM_NAMES:
                return name
        discrete = sorted(discrete, key=self.n_levels, reverse=True)[:4]
        scores = {
            name: sum(
                self.follows(other, name)
                for other in others
                if other != name and self.n_levels(other) > 1 and not self.follows(other, self.task)
            )
            for name in discrete
        }
        best = max(scores, key=lambda name: scores[name], default=None)
        return best if best is not None and scores[best] > 0 else None

    def side(self, name: str) -> str:
        """Whether a column belongs to items, to the context, or to tasks."""
        n_tasks = self.n_levels(self.task)
        repeated = n_tasks < self.n_rows
        if repeated and n_tasks > 1 and self.follows(name, self.task):
            return "about"
        if self.item is None:
            return "context" if words_of(name) & _CONTEXT_WORDS else "item"
        if self.follows(name, self.item):
            return "item"
        codes = self.levels(name)[1].astype(np.float64)
        numbers = self.numbers(name)
        if numbers is not None:
            codes = np.where(np.isfinite(numbers), numbers, np.nanmean(numbers))
        return "item" if self.explained(self.item, codes) >= _OF_ITEM else "context"

    def reasons_against(self, name: str) -> Iterator[str]:
        """Why a column is not a feature; empty if it may be one."""
        levels, share = self.levels(name)[0], self._explained_reward(name)
        if not levels:
            yield "it has no values"
        if len(levels) == 1 and self.missing(name) < OFTEN:
            yield "it has one value"
        if share >= _LEAK:
            yield f"it explains {share:.0%} of the reward's variance: it seems to follow from it"
        yield from self._ids(name, levels)

    def _ids(self, name: str, levels: Sequence[object]) -> Iterator[str]:
        """Whether a column is an id of rows, of items or of tasks."""
        named = bool(words_of(name) & _ID_WORDS)
        text = all(isinstance(level, str) for level in levels)
        if not text and not (named and all(isinstance(level, int) for level in levels)):
            return
        if are_divided(levels) or are_dates(levels):
            return
        n = len(levels)
        counted = [("rows", self.n_rows)]
        for what, other in (("items", self.item), ("tasks", self.task)):
            if other is not None and self.n_levels(other) > 2 and self.follows(name, other):
                counted.append((what, self.n_levels(other)))
        for what, of in counted:
            least = _MANY if n < of else _SOME  # each row has its own value
            if n > max(_ID * of, 2 if named else least):
                yield f"it is an id: {n:,} different values in {of:,} {what}"

    def _explained_reward(self, name: str) -> float:
        """The share of the reward's variance that a column explains, by levels or in a line."""
        shares = [self.explained(name, self.reward)]
        numbers = self.numbers(name)
        if numbers is not None:
            there = np.isfinite(numbers)
            x, y = numbers[there], self.reward[there]
            if len(x) > 2 and x.std() > 0 and y.std() > 0:
                shares.append(float(np.corrcoef(x, y)[0, 1]) ** 2)
        here = (self.levels(name)[1] >= 0).astype(np.float64)
        if here.std() > 0 and self.reward.std() > 0:
            shares.append(float(np.corrcoef(here, self.reward)[0, 1]) ** 2)
        return max(shares)


def are_dates(levels: Sequence[object]) -> bool:
    """Whether values are dates or times, possibly as text."""
    for level in levels[:100]:
        if isinstance(level, int | float):
            return False
        if isinstance(level, str) and not re.match(r"\d{4}-\d\d", level):
            return False
        try:
            values.seconds("", level)
        except ValueError:
            return False
    return bool(levels)


def are_divided(levels: Sequence[object]) -> bool:
    """Whether values are texts, of which one in five contains the same separator of tags."""
    texts = [level for level in levels if isinstance(level, str)]
    return len(texts) == len(levels) and any(
        sum(separator in text for text in texts) >= len(texts) / 5
        for separator in values.SEPARATORS
    )


def words_of(name: str) -> set[str]:
    """The words in a name: `dayOf_Week` has day, of and week."""
    parts = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).lower()
    return set(re.split(r"[^a-z0-9]+", parts))


def read_columns(log: Any) -> tuple[dict[str, Any], bool]:
    """The columns of the first rows that have a name, and whether there are more rows."""
    columns, more = _first_rows(log)
    return {name: each for name, each in columns.items() if not _INDEX.fullmatch(name)}, more


def _first_rows(log: Any) -> tuple[dict[str, Any], bool]:
    import pandas as pd  # noqa: PLC0415 - slow, and only needed here

    if isinstance(log, str | Path):
        frame = _read_file(Path(log))
    elif isinstance(log, Mapping):
        frame = pd.DataFrame(log)
    elif isinstance(log, list | tuple):
        frame = pd.DataFrame([values.flat(row, "log") for row in log])
    elif hasattr(log, "column_names") or hasattr(log, "to_physical") or hasattr(log, "columns"):
        names = list(getattr(log, "column_names", None) or log.columns)
        head = (
            log[: MOST_ROWS + 1]
            if not hasattr(log, "column_names")
            else log.slice(0, MOST_ROWS + 1)
        )
        columns = {str(name): head[name] for name in names}
        n_rows = len(next(iter(columns.values()))) if columns else 0
        return {name: column[:MOST_ROWS] for name, column in columns.items()}, n_rows > MOST_ROWS
    else:
        raise ValueError(
            f"the log must be a CSV or Parquet file, a frame or columns, got {checks.short(log)}"
        )
    more = len(frame) > MOST_ROWS
    return {str(name): frame[name][:MOST_ROWS] for name in frame.columns}, more


def _read_file(file: Path) -> Any:
    import pandas as pd  # noqa: PLC0415

    if not file.is_file():
        raise ValueError(f"no such file: {str(file)!r}")
    name = file.name.lower()
    if name.endswith((".parquet", ".pq")):
        from pyarrow import dataset  # noqa: PLC0415 (an optional extra)

        return dataset.dataset(str(file), format="parquet").head(MOST_ROWS + 1).to_pandas()
    if ".csv" in name or ".tsv" in name:
        separator = "\t" if ".tsv" in name else ","
        # As `fit` reads it: only empty text is a missing level, since NA may be Namibia.
        frame = pd.read_csv(
            file, nrows=MOST_ROWS + 1, sep=separator, keep_default_na=False, na_values=[""]
        )
        return frame.apply(_as_numbers)
    raise ValueError(f"the log must be a CSV or Parquet file, got {str(file)!r}")


def _as_numbers(column: Any) -> Any:
    """A column of a text file as numbers, if all its values are numbers or missing."""
    import pandas as pd  # noqa: PLC0415

    if pd.api.types.is_numeric_dtype(column):
        return column
    there = column.notna() & ~column.astype(str).str.lower().isin(values.NO_NUMBERS)
    numbers = pd.to_numeric(column.where(there), errors="coerce")
    return numbers if there.any() and numbers[there].notna().all() else column
