"""Live use: a bandit for an application."""

from headstart.live.bandit import MetaBandit
from headstart.live.catalogue import Catalogue
from headstart.live.decision import Decision, Decisions, Learned, TaskView
from headstart.live.explanation import Explanation
from headstart.live.off_policy import OffPolicy, evaluate_logged
from headstart.live.outcomes import Outcome
from headstart.live.settings import Settings
from headstart.logs import LoggedDecisions

__all__ = [
    "Catalogue",
    "Decision",
    "Decisions",
    "Explanation",
    "Learned",
    "LoggedDecisions",
    "MetaBandit",
    "OffPolicy",
    "Outcome",
    "Settings",
    "TaskView",
    "evaluate_logged",
]
