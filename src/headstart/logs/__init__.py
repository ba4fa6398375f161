"""Logs of past decisions, read in one pass into statistics per task."""

from headstart.logs.accumulate import LogStatistics, grouped_by_task, statistics
from headstart.logs.reader import Columns, n_features

__all__ = [
    "Columns",
    "LogStatistics",
    "grouped_by_task",
    "n_features",
    "statistics",
]
