"""Where tasks come from."""

from headstart.datasets import DataMissing
from headstart.environments.clusters import Clusters
from headstart.environments.grouping import Everyone, Nearest
from headstart.environments.lastfm import LastFM
from headstart.environments.movielens import MovieLens
from headstart.environments.ratings import Ratings
from headstart.environments.synthetic import Synthetic

__all__ = [
    "Clusters",
    "DataMissing",
    "Everyone",
    "LastFM",
    "MovieLens",
    "Nearest",
    "Ratings",
    "Synthetic",
]
