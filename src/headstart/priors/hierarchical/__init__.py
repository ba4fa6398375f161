"""Hierarchical: the prior with learned variances."""

from headstart.priors.hierarchical.estimator import Hierarchical
from headstart.priors.hierarchical.factors import Directions
from headstart.priors.hierarchical.isotropic import Variances

__all__ = ["Directions", "Hierarchical", "Variances"]
