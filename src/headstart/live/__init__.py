"""Live use: a bandit for an application."""

from headstart.live.bandit import MetaBandit
from headstart.live.catalogue import Catalogue
from headstart.live.decision import Decision, Decisions, TaskView
from headstart.live.explanation import Explanation
from headstart.live.off_policy import LoggedDecisions, OffPolicy, evaluate_logged

__all__ = [
    "Catalogue",
    "Decision",
    "Decisions",
    "Explanation",
    "LoggedDecisions",
    "MetaBandit",
    "OffPolicy",
    "TaskView",
    "evaluate_logged",
]
