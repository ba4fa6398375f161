"""The default policy and prior of a bandit."""

from headstart.features import Features
from headstart.features.inference import MOST_ABOUT_COEFFICIENTS
from headstart.policies import BayesUCB
from headstart.priors import Hierarchical

# A live task may have no last round, and with a z that grows no arm is excluded for good. And it is
# one of many tasks: exploring the mean task serves all of them.
POLICY = BayesUCB(z="slow", z_mean="arms")

# The share of the noise's variance that the mean task explains at least. If arms stay the same and
# rewards are rare, the first arms tried may look alike by chance; a mean task as small as that
# suggests would end all exploration.
_LEAST_SIGNAL = 0.1


def attributes_alone(schema: Features) -> list[str]:
    """The names of the attributes of tasks that are in no cross."""
    crossed = {name for pair in schema.cross for name in pair}
    return [attribute.name for attribute in schema.about if attribute.name not in crossed]


def prior_for(schema: Features | None, n_about: int = 0) -> Hierarchical:
    """The prior for a schema (None: features are numbers), with n_about for attributes of tasks.

    Attributes of tasks count through their crosses. An attribute of tasks in no cross is about
    information: the prior learns what it says about every column, if columns are few enough.
    """
    if schema is not None:
        few = schema.n_about * schema.dimension <= MOST_ABOUT_COEFFICIENTS
        n_about = schema.n_about if attributes_alone(schema) and few else 0
    return Hierarchical(n_about=n_about, _least_signal=_LEAST_SIGNAL)
