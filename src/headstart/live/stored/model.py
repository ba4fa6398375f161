"""Model: what a bandit is made of, without its data."""

from dataclasses import dataclass

from headstart.interfaces import Policy, PriorEstimator
from headstart.live.feature_names import FeatureNames
from headstart.live.settings import Settings
from headstart.live.tasks.all_tasks import Tasks


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """A policy, a prior estimator and settings for d features."""

    dimension: int
    policy: Policy
    prior: PriorEstimator
    settings: Settings
    feature_names: FeatureNames

    def tasks(self) -> Tasks:
        """Tasks of this model, none of them yet, with an empty memory."""
        return Tasks(self.dimension, self.prior, self.settings, self.feature_names)
