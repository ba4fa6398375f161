"""Hierarchical: the prior that learns its own variances."""

from headstart.priors.hierarchical.estimator import Hierarchical, Variances

__all__ = ["Hierarchical", "Variances"]
