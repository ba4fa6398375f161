"""RunningEstimate: a ridge estimate that is updated as rewards arrive, O(d²) per round."""

import math

import numpy as np

from headstart import checks, kernels
from headstart.arrays import Floats, Integers
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.kernels import state as columns

# Observations wait in a buffer of this length and join the statistics by one matrix product.
_BUFFER = 64


class RunningEstimate:
    """A cache of `RidgeEstimate`: the same numbers, by rank-one updates.

    The statistics are exact; the inverse is derived from them, and computed again before its
    rounding errors matter. Leading axes are the prior's, flattened inside. A prior with a mixture
    is revised as rewards come.
    """

    def __init__(self, prior: Prior, statistics: TaskStatistics | None = None) -> None:
        self._prior = prior
        self._size, dimension = math.prod(prior.lead), prior.dimension
        size = 1 if prior.isotropic else dimension
        self._bias = self._flat(prior.bias, dimension)
        self._start_bias = self._bias  # h₀ of `kernels.TaskState`, until the bias moves
        self._regularization = self._flat(prior.regularization, size, size)
        self._gram = np.zeros((self._size, dimension, dimension))
        self._moment = np.zeros((self._size, dimension))
        self._buffer = kernels.Buffer(
            np.empty((_BUFFER, self._size, dimension)), np.empty((_BUFFER, self._size))
        )
        self._filled = 0
        self._reading = self._one_arm = _reading(self._size, 1, dimension)
        self._mean_covariance: Floats | None = None
        self._mean_widths = np.empty((self._size, 1))
        self._first = np.zeros(self._size, dtype=np.int64)
        scalars = prior.initial_scalars().reshape(self._size, columns.N_SCALARS)
        self._state = kernels.TaskState(
            inverse=np.zeros_like(self._gram),
            parameter=np.empty_like(self._moment),
            shift=np.empty((0, dimension)),
            scalars=scalars,
        )
        kernels.start(self._state, self._bias, self._regularization)
        if statistics is not None:
            self._begin_with(statistics)
        kernels.update_noises(scalars)
        self._components = None if prior.mixture is None else prior.mixture.components()

    def _begin_with(self, statistics: TaskStatistics) -> None:
        scalars = self._state.scalars
        self._gram[:] = statistics.gram.reshape(self._gram.shape)
        self._moment[:] = statistics.moment.reshape(self._moment.shape)
        scalars[:, columns.COUNT] = statistics.count.reshape(-1)
        scalars[:, columns.SUM_OF_SQUARES] = statistics.sum_of_squares.reshape(-1)
        if self._prior.learns_noise:
            # From then on it is summed as rewards come, which is right for a bias that does not
            # move.
            surprise = RidgeEstimate(statistics, self._prior).surprise
            scalars[:, columns.SURPRISE] = surprise.reshape(-1)
        self._refactorise(-1.0)

    def _flat(self, array: Floats, *shape: int) -> Floats:
        """A fresh array with one leading axis."""
        return np.array(array, dtype=np.float64, order="C").reshape(self._size, *shape)

    @property
    def statistics(self) -> TaskStatistics:
        """The statistics of all rewards so far, including those that the estimate began with."""
        self._flush()
        lead, dimension = self._prior.lead, self._prior.dimension
        scalars = self._state.scalars
        return checks.trusted(
            TaskStatistics,
            gram=self._gram.reshape(*lead, dimension, dimension).copy(),
            moment=self._moment.reshape(*lead, dimension).copy(),
            count=scalars[:, columns.COUNT].reshape(lead).copy(),
            sum_of_squares=scalars[:, columns.SUM_OF_SQUARES].reshape(lead).copy(),
        )

    @property
    def prior(self) -> Prior:
        """The present prior: the bias may have moved, the mixture may have been revised."""
        lead, scalars = self._prior.lead, self._state.scalars
        return checks.trusted(
            Prior,
            bias=self.bias.copy(),
            regularization=self.regularization.copy(),
            noise_scale=scalars[:, columns.PRIOR_NOISE_SCALE].reshape(lead).copy(),
            noise_degrees_of_freedom=self._prior.noise_degrees_of_freedom,
            mixture=self._prior.mixture,
            mean_covariance=self._prior.mean_covariance,
        )

    @property
    def parameter(self) -> Floats:
        """ŵ = (V + Λ)⁻¹(b + Λh), of shape (…, d), from the cache."""
        parameter = self._state.parameter
        if len(self._state.shift):
            shift = self._state.shift[..., None]
            parameter = parameter + (self._state.inverse @ shift)[..., 0]
        return parameter.reshape(*self._prior.lead, -1)

    @property
    def inverse(self) -> Floats:
        """(V + Λ)⁻¹, of shape (…, d, d), from the cache."""
        inverse = self._state.inverse
        return inverse.reshape(*self._prior.lead, *inverse.shape[1:])

    @property
    def bias(self) -> Floats:
        """The bias h now, of shape (…, d)."""
        return self._bias.reshape(self._prior.bias.shape)

    @property
    def regularization(self) -> Floats:
        """Λ now, of shape (…) or (…, d, d)."""
        return self._regularization.reshape(self._prior.regularization.shape)

    @property
    def summary(self) -> EstimateSummary:
        """What a policy may see, independent of the arms; it follows the rewards."""
        scalars = self._state.scalars.reshape(*self._prior.lead, columns.N_SCALARS)
        return EstimateSummary(scalars, self.bias, lambda: self.regularization)

    def move(self, bias: Floats) -> None:
        """Move the estimate to another bias (…, d): the statistics stay, only Λh changes."""
        if not len(self._state.shift):
            if self._components is not None:
                raise ValueError("the bias of a prior with a mixture must not move within a task")
            self._start_bias = self._bias.copy()
            self._state = self._state._replace(shift=np.empty_like(self._bias))
        self._bias[:] = bias.reshape(self._bias.shape)
        gap = self._bias - self._start_bias
        if self._prior.isotropic:
            np.multiply(self._regularization[:, 0], gap, out=self._state.shift)
        else:
            self._state.shift[:] = (self._regularization @ gap[..., None])[..., 0]

    def prepare(self, n_arms: int, *, mean_widths: bool = False) -> ArmEstimates:
        """Prepare to read K arms per round; `read` fills the estimates, each time in place.

        With `mean_widths`, also these, if the prior knows the uncertainty of the mean task.
        """
        lead, dimension = self._prior.lead, self._prior.dimension
        self._reading = _reading(self._size, n_arms, dimension)
        if mean_widths and self._prior.mean_covariance is not None:
            covariance = self._prior.mean_covariance
            self._mean_covariance = self._flat(covariance, dimension, dimension)
            self._mean_widths = np.empty((self._size, n_arms))
        return ArmEstimates(
            projections=self._reading.projections.reshape(*lead, n_arms, dimension),
            predictions=self._reading.predictions.reshape(*lead, n_arms),
            widths=self._reading.widths.reshape(*lead, n_arms),
            inverse=self.inverse,
            summary=self.summary,
            mean_widths=(
                None if self._mean_covariance is None else self._mean_widths.reshape(*lead, n_arms)
            ),
        )

    def read(self, arms: Floats) -> None:
        """Fill the estimates for the arms (R, K, d) of a round."""
        kernels.read(self._state, arms, self._reading)
        self._read_mean(arms)

    def _read_mean(self, arms: Floats) -> None:
        if self._mean_covariance is not None:
            kernels.read_mean(self._mean_covariance, arms, self._reading, self._mean_widths)

    def learn_choices(
        self, arms: Floats, choices: Integers, rewards: Floats, next_arms: Floats | None = None
    ) -> None:
        """Learn the rewards (R,) of choices (R,) among the arms just read.

        The next arms, (R, K, d), if given, are read in the same pass, provided that the bias does
        not move in between.
        """
        status = kernels.learn_choices(
            self._state,
            self._buffer,
            self._filled,
            arms,
            self._reading,
            choices,
            rewards,
            arms if next_arms is None else next_arms,
            next_arms is not None,
        )
        read_again = self._after(status)
        if next_arms is not None:
            if read_again:
                self.read(next_arms)
            else:
                self._read_mean(next_arms)

    def observe(self, features: Floats, rewards: Floats) -> None:
        """Learn the rewards (…) of any features (…, d)."""
        arms = np.ascontiguousarray(features).reshape(self._size, 1, -1)
        prepared, self._reading = self._reading, self._one_arm
        kernels.project_features(self._state, arms, self._reading.projections)
        self.learn_choices(arms, self._first, np.ascontiguousarray(rewards).reshape(self._size))
        self._reading = prepared

    def _after(self, status: int) -> bool:
        """Refactorise and revise where due. Returns whether any estimate was computed again."""
        self._filled += 1
        if self._filled == _BUFFER:
            self._flush()
        if status & columns.REFACTORISE:
            self._refactorise(kernels.DRIFT_LIMIT)
        if status & columns.REVISE and self._components is not None:
            self._flush()
            kernels.revise_due(
                self._state,
                self._gram,
                self._moment,
                self._components,
                self._bias,
                self._regularization,
            )
        return status > 0

    def _refactorise(self, limit: float) -> None:
        """Compute estimates again whose error exceeds the limit."""
        kernels.refactorise_drifted(
            self._state,
            limit,
            self._gram,
            self._moment,
            self._start_bias,
            self._regularization,
            self._buffer,
            self._filled,
        )

    def _flush(self) -> None:
        if self._filled:
            kernels.flush(self._gram, self._moment, self._buffer, self._filled)
            self._filled = 0


def _reading(size: int, n_arms: int, dimension: int) -> kernels.Reading:
    """Arrays for the estimates of K arms per task."""
    shape = (size, n_arms)
    return kernels.Reading(np.empty((*shape, dimension)), np.empty(shape), np.empty(shape))
