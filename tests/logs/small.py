"""A small log that tests change, and its statistics summed row by row."""

from typing import Any

import numpy as np
import pandas as pd

from headstart.logs import Columns, LoggedTask, LogReading

NAMES = ["x0", "x1"]
COLUMNS = Columns(task="user", features=NAMES)


def small_log(rows: int = 60, users: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((rows, 2)), columns=NAMES)
    frame["user"] = [f"u{i}" for i in rng.integers(users, size=rows)]
    frame["reward"] = rng.standard_normal(rows)
    return frame


def read(logs: Any, columns: Columns = COLUMNS, **settings: Any) -> dict[str | int, LoggedTask]:
    return {task.name: task for task in LogReading(logs, columns, 2, **settings)}


def assert_sums(tasks: dict[str | int, LoggedTask], frame: pd.DataFrame) -> None:
    """The tasks are those of the frame, and so are their statistics."""
    assert list(tasks) == list(frame["user"].unique())
    for name, rows in frame.groupby("user"):
        x, y = rows[NAMES].to_numpy(dtype=float), rows["reward"].to_numpy(dtype=float)
        found = tasks[name].statistics  # type: ignore[index]
        np.testing.assert_allclose(found.gram, x.T @ x, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.moment, x.T @ y, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.sum_of_squares, y @ y)
        assert found.count == len(y)
