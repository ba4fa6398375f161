"""Ratings as data: tables, their files, and where those files are."""

from headstart.datasets.locations import DataMissing
from headstart.datasets.table import RatingTable

__all__ = ["DataMissing", "RatingTable"]
