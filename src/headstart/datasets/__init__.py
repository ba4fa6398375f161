"""Ratings as data: tables of them, the files they come from, and where those files are."""

from headstart.datasets.locations import DataMissing
from headstart.datasets.table import RatingTable

__all__ = ["DataMissing", "RatingTable"]
