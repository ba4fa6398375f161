"""Logs of past decisions, read in one pass into statistics per task."""

from headstart.logs.columns import ColumnNames, Columns, DecisionColumns, ItemColumn
from headstart.logs.decisions import LoggedDecisions, read_decisions
from headstart.logs.read import LogReading, check_log, n_features
from headstart.logs.report import LogReport, Scale
from headstart.logs.statistics import LoggedTask, LogStatistics

__all__ = [
    "ColumnNames",
    "Columns",
    "DecisionColumns",
    "ItemColumn",
    "LogReading",
    "LogReport",
    "LogStatistics",
    "LoggedDecisions",
    "LoggedTask",
    "Scale",
    "check_log",
    "n_features",
    "read_decisions",
]
