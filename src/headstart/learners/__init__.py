"""Learners by their names in the literature, one call each.

`MetaLinEXP3` and `MetaTS` are agents; the functions return agents with a method's
usual settings.
"""

from headstart.learners.bayesian import (
    ada_ts,
    bayes_oracle,
    headstart,
    hier_bayes_ucb,
    lin_ts,
    meta_ts,
)
from headstart.learners.exponential_weights import lin_exp3, meta_lin_exp3
from headstart.learners.meta_lin_exp3 import MetaLinEXP3
from headstart.learners.meta_ts import MetaTS
from headstart.learners.oful import (
    avg_oful,
    itl,
    oracle,
    pooled_oful,
    rr_oful,
)

__all__ = [
    "MetaLinEXP3",
    "MetaTS",
    "ada_ts",
    "avg_oful",
    "bayes_oracle",
    "headstart",
    "hier_bayes_ucb",
    "itl",
    "lin_exp3",
    "lin_ts",
    "meta_lin_exp3",
    "meta_ts",
    "oracle",
    "pooled_oful",
    "rr_oful",
]
