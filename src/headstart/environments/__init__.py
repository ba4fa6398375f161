"""Environments: where tasks come from."""

from headstart.datasets import DataMissing
from headstart.environments.ellipsoid import Ellipsoid
from headstart.environments.hierarchy import Hierarchy
from headstart.environments.non_stochastic import BeliefAdversary, NonStochastic
from headstart.environments.ratings import AllUsers, Clusters, LastFM, MovieLens, Nearest, Ratings
from headstart.environments.shop import Shop, ShopWorld
from headstart.environments.synthetic import Synthetic

__all__ = [
    "AllUsers",
    "BeliefAdversary",
    "Clusters",
    "DataMissing",
    "Ellipsoid",
    "Hierarchy",
    "LastFM",
    "MovieLens",
    "Nearest",
    "NonStochastic",
    "Ratings",
    "Shop",
    "ShopWorld",
    "Synthetic",
]
