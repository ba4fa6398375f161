"""Linear bandits that start warm.

Everything here is imported when it is first used, so that `import headstart` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headstart import environments, learners, policies, priors, schedules, theory
    from headstart.core.prior import Mixture, Prior
    from headstart.core.ridge import RidgeEstimate
    from headstart.core.statistics import TaskStatistics
    from headstart.core.task import Episode, Task
    from headstart.features import (
        Category,
        Date,
        Features,
        Flag,
        Number,
        Tags,
        Vector,
    )
    from headstart.live import (
        Catalogue,
        Decision,
        Decisions,
        Explanation,
        LoggedDecisions,
        MetaBandit,
        Outcome,
        evaluate_logged,
    )
    from headstart.simulation import (
        Agent,
        InformedAgent,
        JointAgent,
        Learner,
        Optimal,
        Rounds,
        Turns,
        evaluate,
        simulate,
    )
    from headstart.studies.comparisons import compare

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Catalogue",
    "Category",
    "Date",
    "Decision",
    "Decisions",
    "Episode",
    "Explanation",
    "Features",
    "Flag",
    "InformedAgent",
    "JointAgent",
    "Learner",
    "LoggedDecisions",
    "MetaBandit",
    "Mixture",
    "Number",
    "Optimal",
    "Outcome",
    "Prior",
    "RidgeEstimate",
    "Rounds",
    "Tags",
    "Task",
    "TaskStatistics",
    "Turns",
    "Vector",
    "compare",
    "environments",
    "evaluate",
    "evaluate_logged",
    "learners",
    "policies",
    "priors",
    "schedules",
    "simulate",
    "theory",
]

_HOME = {
    "Agent": "simulation",
    "Catalogue": "live",
    "Category": "features",
    "Date": "features",
    "Decision": "live",
    "Decisions": "live",
    "Explanation": "live",
    "Episode": "core.task",
    "Features": "features",
    "Flag": "features",
    "InformedAgent": "simulation",
    "JointAgent": "simulation",
    "Learner": "simulation",
    "LoggedDecisions": "live",
    "MetaBandit": "live",
    "Mixture": "core.prior",
    "Number": "features",
    "Optimal": "simulation",
    "Outcome": "live",
    "Prior": "core.prior",
    "RidgeEstimate": "core.ridge",
    "Rounds": "simulation",
    "Tags": "features",
    "Task": "core.task",
    "TaskStatistics": "core.statistics",
    "Turns": "simulation",
    "Vector": "features",
    "compare": "studies.comparisons",
    "evaluate": "simulation",
    "evaluate_logged": "live",
    "simulate": "simulation",
}


# Found as attributes like those of __all__, but not taken by `from headstart import *`.
_MODULES = (
    "datasets", "diagnosis", "features", "interfaces", "live", "logs", "plotting", "simulation",
    "studies",
)  # fmt: skip


# Where classes are that one may look for here.
_PACKAGES = ("policies", "priors", "environments", "learners", "studies")


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"headstart.{_HOME[name]}"), name)
    if name in __all__ or name in _MODULES:
        return import_module(f"headstart.{name}")
    for package in _PACKAGES if name[:1].isupper() else ():
        if hasattr(import_module(f"headstart.{package}"), name):
            raise AttributeError(f"{name} is in a module: write headstart.{package}.{name}")
    raise AttributeError(f"module 'headstart' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
