"""The policy and the prior of a bandit that was given none."""

from headstart.features import Features, Schema
from headstart.policies import BayesUCB
from headstart.priors import Hierarchical

# A live task may have no last round: a z that grows excludes no arm for good. And it is one of many
# tasks: what is uncertain of the mean task is explored for all of them.
POLICY = BayesUCB(z="slow", z_mean="arms")

# Side information of p numbers has p·d coefficients, and a fit takes (pd)³ steps.
_MOST_SIDE_COEFFICIENTS = 250

# What is tried first must not end all exploration by being alike.
_LEAST_SIGNAL = 0.1


def attributes_alone(schema: Schema) -> list[str]:
    """The names of the attributes of tasks that are in no cross."""
    if not isinstance(schema, Features):
        return []
    crossed = {name for pair in schema.cross for name in pair}
    return [attribute.name for attribute in schema.task if attribute.name not in crossed]


def prior_for(schema: Schema | None, n_side: int = 0) -> Hierarchical:
    """The prior for the features of a schema; None for features in numbers, with n_side of tasks.

    What is known of tasks counts by its crosses. Where an attribute of tasks is in none of them,
    it is side information: the prior learns what it says about every column, as long as those
    are few enough.
    """
    if schema is not None:
        few = schema.n_task * schema.dimension <= _MOST_SIDE_COEFFICIENTS
        n_side = schema.n_task if attributes_alone(schema) and few else 0
    return Hierarchical(n_side=n_side, least_signal=_LEAST_SIGNAL)
