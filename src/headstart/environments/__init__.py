"""Environments: where tasks come from."""

from headstart.datasets import DataMissing
from headstart.environments.ratings import AllUsers, Clusters, LastFM, MovieLens, Nearest, Ratings
from headstart.environments.synthetic import Synthetic

__all__ = [
    "AllUsers",
    "Clusters",
    "DataMissing",
    "LastFM",
    "MovieLens",
    "Nearest",
    "Ratings",
    "Synthetic",
]
