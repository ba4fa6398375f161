"""Environments from tables of ratings: one task per user."""

from headstart.environments.ratings.grouping import AllUsers, Clusters, Grouping, Nearest
from headstart.environments.ratings.ratings import PreparedRatings, Ratings

__all__ = [
    "AllUsers",
    "Clusters",
    "Grouping",
    "Nearest",
    "PreparedRatings",
    "Ratings",
]
