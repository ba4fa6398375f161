"""The policy and the prior of a bandit that was given none."""

from headstart.features import Features, Schema
from headstart.policies import BayesUCB
from headstart.priors import Hierarchical

# A live task may have no last round: a quantile that grows excludes no arm for good. And it is one
# of many tasks: what is uncertain of the mean task is explored for all of them.
POLICY = BayesUCB(z="growing", z_mean="arms")


def prior_for(schema: Schema | None) -> Hierarchical:
    """The prior for the features of a schema; None for features in numbers.

    What is known of tasks counts by its crosses. Where an attribute of tasks is in none of them,
    it is side information: the prior learns what it says about every column.
    """
    if isinstance(schema, Features):
        crossed = {name for pair in schema.cross for name in pair}
        if all(attribute.name in crossed for attribute in schema.task):
            return Hierarchical()
    return Hierarchical(n_side=0 if schema is None else schema.n_task)
