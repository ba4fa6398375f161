"""Environments: where tasks come from."""

from headstart.datasets import DataMissing
from headstart.environments.hierarchy import Hierarchy
from headstart.environments.non_stochastic import BeliefAdversary, NonStochastic
from headstart.environments.ratings import AllUsers, Clusters, Nearest, Ratings
from headstart.environments.shop import Shop, ShopWorld
from headstart.environments.synthetic import Synthetic
from headstart.environments.task_distributions import Basis, Gaussian, Kinds

__all__ = [
    "AllUsers",
    "Basis",
    "BeliefAdversary",
    "Clusters",
    "DataMissing",
    "Gaussian",
    "Hierarchy",
    "Kinds",
    "Nearest",
    "NonStochastic",
    "Ratings",
    "Shop",
    "ShopWorld",
    "Synthetic",
]
