"""Ratings as data: tables, the files they are read from, and where those files are."""

from headstart.datasets.locations import DataMissing
from headstart.datasets.table import RatingTable

__all__ = ["DataMissing", "RatingTable"]
