"""Logs of past decisions, read in one pass into statistics per task."""

from headstart.logs.accumulate import LoggedTask, LogStatistics
from headstart.logs.columns import ColumnNames, Columns
from headstart.logs.decisions import DecisionColumns, DecisionRows, read_decisions
from headstart.logs.reader import n_features
from headstart.logs.reading import LogReading, check_log
from headstart.logs.report import LogReport, Scale

__all__ = [
    "ColumnNames",
    "Columns",
    "DecisionColumns",
    "DecisionRows",
    "LogReading",
    "LogReport",
    "LogStatistics",
    "LoggedTask",
    "Scale",
    "check_log",
    "n_features",
    "read_decisions",
]
