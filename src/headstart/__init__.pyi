"""What `headstart` offers, by the module where it is: for type checkers, and for `__init__`."""

from headstart import environments as environments
from headstart import learners as learners
from headstart import policies as policies
from headstart import priors as priors
from headstart import theory as theory
from headstart.core.prior import Mixture as Mixture
from headstart.core.prior import Prior as Prior
from headstart.core.ridge import RidgeEstimate as RidgeEstimate
from headstart.core.statistics import TaskStatistics as TaskStatistics
from headstart.core.task import Episode as Episode
from headstart.core.task import Task as Task
from headstart.features import Category as Category
from headstart.features import Date as Date
from headstart.features import Features as Features
from headstart.features import Flag as Flag
from headstart.features import Number as Number
from headstart.features import Tags as Tags
from headstart.features import Vector as Vector
from headstart.live import Catalogue as Catalogue
from headstart.live import Decision as Decision
from headstart.live import Decisions as Decisions
from headstart.live import Explanation as Explanation
from headstart.live import LoggedDecisions as LoggedDecisions
from headstart.live import MetaBandit as MetaBandit
from headstart.live import Outcome as Outcome
from headstart.live import evaluate_logged as evaluate_logged
from headstart.simulation import Agent as Agent
from headstart.simulation import InformedAgent as InformedAgent
from headstart.simulation import Learner as Learner
from headstart.simulation import Optimal as Optimal
from headstart.simulation import Rounds as Rounds
from headstart.simulation import evaluate as evaluate
from headstart.simulation import simulate as simulate
from headstart.studies.comparisons import compare as compare
from headstart.trials.page import Trial as Trial
from headstart.trials.trial import trial as trial

__version__: str
__all__: list[str]
