"""How an arm is chosen from an estimate."""

from headstart.policies.credible import Credible
from headstart.policies.greedy import Greedy
from headstart.policies.oful import OFUL, Split
from headstart.policies.thompson import Thompson
from headstart.policies.uniform import Uniform

__all__ = ["OFUL", "Credible", "Greedy", "Split", "Thompson", "Uniform"]
