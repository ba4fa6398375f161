"""Simulated comparisons of agents on the same tasks.

Simulations compare `Agents`: a sequence of them, or a function that makes it from the prepared
environment, so that an Oracle can start from a mean task drawn there. An agent carries a `State`
from task to task: named arrays with the replications on the first axis.

>>> learner = hs.learners.rr_oful(regularization=1.0)
>>> state = learner.begin(dimension=3, replications=2)
>>> {name: array.shape for name, array in state.items()}
{'gram': (2, 3, 3), 'moment': (2, 3), 'count': (2,), 'sum_of_squares': (2,)}
"""

from headstart.simulation.agent import Agent, Agents, InformedAgent, State
from headstart.simulation.comparison import evaluate, simulate
from headstart.simulation.learner import Learner, Optimal
from headstart.simulation.results import Results
from headstart.simulation.rounds import Rounds
from headstart.simulation.run import cores

__all__ = [
    "Agent",
    "Agents",
    "InformedAgent",
    "Learner",
    "Optimal",
    "Results",
    "Rounds",
    "State",
    "cores",
    "evaluate",
    "simulate",
]
