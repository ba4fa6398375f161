"""Hierarchical: the prior with learned variances."""

from headstart.priors.hierarchical.estimator import Hierarchical
from headstart.priors.hierarchical.factors import Directions

__all__ = ["Directions", "Hierarchical"]
