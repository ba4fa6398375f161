"""Hierarchical: the prior with learned variances."""

from headstart.priors.hierarchical.estimator import Hierarchical, Variances

__all__ = ["Hierarchical", "Variances"]
