"""Hierarchical: the prior that learns its own variances."""

from headstart.priors.hierarchical.estimator import Components, Hierarchical

__all__ = ["Components", "Hierarchical"]
