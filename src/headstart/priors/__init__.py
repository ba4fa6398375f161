"""What one task hands to the next."""

from headstart.priors.average import Average
from headstart.priors.fixed import Fixed
from headstart.priors.hierarchical import Hierarchical
from headstart.priors.pooled import Pooled

__all__ = ["Average", "Fixed", "Hierarchical", "Pooled"]
