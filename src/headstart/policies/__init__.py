"""How an arm is chosen from an estimate."""

from headstart.policies.bayes_ucb import BayesUCB
from headstart.policies.greedy import Greedy
from headstart.policies.oful import OFUL, NormBound
from headstart.policies.thompson import Thompson
from headstart.policies.uniform import Uniform

__all__ = [
    "OFUL",
    "BayesUCB",
    "Greedy",
    "NormBound",
    "Thompson",
    "Uniform",
]
