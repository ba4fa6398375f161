"""Prior estimators: the prior of the next task, learned from completed ones."""

from headstart.priors.average import Average
from headstart.priors.fixed import Fixed
from headstart.priors.hierarchical import Hierarchical
from headstart.priors.known_variances import KnownVariances
from headstart.priors.pooled import Pooled
from headstart.priors.single_model import SingleModel

__all__ = [
    "Average",
    "Fixed",
    "Hierarchical",
    "KnownVariances",
    "Pooled",
    "SingleModel",
]
