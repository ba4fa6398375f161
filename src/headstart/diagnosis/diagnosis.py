"""Diagnosis: the measures of a recording."""

from dataclasses import dataclass
from functools import cached_property

import xarray as xr

from headstart.diagnosis.measures.alignment import Alignment
from headstart.diagnosis.measures.bias import BiasError
from headstart.diagnosis.measures.confidence_sets import ConfidenceSets
from headstart.diagnosis.measures.learners import Learners
from headstart.diagnosis.measures.regret import LateRegret
from headstart.diagnosis.measures.regularization import Regularization
from headstart.diagnosis.measures.tasks import TaskMoments
from headstart.diagnosis.recording import Recording


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The theory's measures of a recording (`record`, `replay`), by subject.

    >>> from headstart import diagnosis
    >>> recording = diagnosis.record(
    ...     hs.environments.Synthetic(dimension=3, reward="linear"),
    ...     [hs.learners.itl(regularization=1.0), hs.learners.rr_oful(regularization=1.0)],
    ...     n_tasks=4,
    ...     horizon=10,
    ...     noise_scale=1.0,
    ...     replications=5,
    ... )
    >>> found = diagnosis.Diagnosis(recording)
    >>> found.tasks.ratio.mean < 0.9
    True
    """

    dataset: xr.Dataset

    @cached_property
    def recording(self) -> Recording:
        """The recorded arrays."""
        return Recording(self.dataset)

    @cached_property
    def learners(self) -> Learners:
        """The role of every learner."""
        return Learners(self.recording)

    @cached_property
    def tasks(self) -> TaskMoments:
        """How far tasks are from their mean and from 0."""
        return TaskMoments(self.recording)

    @cached_property
    def regret(self) -> LateRegret:
        """The regret on late tasks, and its bound."""
        return LateRegret(self.recording)

    @cached_property
    def bias(self) -> BiasError:
        """The error of the biases, and its terms."""
        return BiasError(self.recording)

    @cached_property
    def alignment(self) -> Alignment:
        """Whether tasks share a basis."""
        return Alignment(self.recording)

    @cached_property
    def confidence_sets(self) -> ConfidenceSets:
        """How often the true parameter is outside of the confidence sets."""
        return ConfidenceSets(self.recording)

    @cached_property
    def regularization(self) -> Regularization:
        """Three choices of λ."""
        return Regularization(self.recording)
