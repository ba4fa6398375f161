"""What one task hands to the next."""

from headstart.priors.average import Average
from headstart.priors.fixed import Fixed
from headstart.priors.from_variance import FromVariance
from headstart.priors.hierarchical import Hierarchical
from headstart.priors.known_variances import KnownVariances
from headstart.priors.one_model import OneModel
from headstart.priors.pooled import Pooled

__all__ = [
    "Average",
    "Fixed",
    "FromVariance",
    "Hierarchical",
    "KnownVariances",
    "OneModel",
    "Pooled",
]
