"""Environments from tables of ratings: one task per user."""

from headstart.environments.ratings.clusters import Clusters
from headstart.environments.ratings.grouping import AllUsers, Grouping, Nearest
from headstart.environments.ratings.published import LastFM, MovieLens
from headstart.environments.ratings.ratings import PreparedRatings, Ratings

__all__ = [
    "AllUsers",
    "Clusters",
    "Grouping",
    "LastFM",
    "MovieLens",
    "Nearest",
    "PreparedRatings",
    "Ratings",
]
