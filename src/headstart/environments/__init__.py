"""Where tasks come from."""

from headstart.datasets import DataMissing
from headstart.environments.ratings.clusters import Clusters
from headstart.environments.ratings.grouping import Everyone, Nearest
from headstart.environments.ratings.lastfm import LastFM
from headstart.environments.ratings.movielens import MovieLens
from headstart.environments.ratings.ratings import Ratings
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
