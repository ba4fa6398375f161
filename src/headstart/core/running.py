"""A ridge estimate that is kept current while rewards arrive, in O(d²) a round."""

import math

import numpy as np

from headstart import kernels
from headstart.arrays import Floats, Integers
from headstart.core.arm_estimates import ArmEstimates
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics

# Observations wait in a block this long and join the statistics by one matrix product.
_SLOTS = 64


class RunningEstimate:
    """A cache of `RidgeEstimate`: the same numbers, brought forward by rank-one steps.

    The statistics are the truth; the inverse is derived from them and re-anchors itself to them
    before its rounding errors matter. Leading axes are those of the prior, kept flat inside.
    """

    def __init__(self, prior: Prior, statistics: TaskStatistics | None = None) -> None:
        self._prior = prior
        self._size, dimension = math.prod(prior.lead), prior.dimension
        start = statistics or TaskStatistics.zeros(dimension, prior.lead)
        self._counts = self._flat(start.count)
        self._observed = 0
        self._gram = self._flat(start.gram, dimension, dimension)
        self._moment = self._flat(start.moment, dimension)
        self._energy = self._flat(start.sum_of_squares)
        self._recent = np.empty((_SLOTS, self._size, dimension))
        self._earned = np.empty((_SLOTS, self._size))
        self._filled = 0
        side = 1 if prior.isotropic else dimension
        self._regularization = self._flat(prior.regularization, side, side)
        self._base = self._flat(prior.log_determinant)
        self._inverse = np.zeros_like(self._gram)
        self._ridge = np.zeros_like(self._moment)
        self._log_determinant = np.zeros(self._size)
        self._drift = np.full(self._size, np.inf)
        if statistics is None and prior.isotropic:
            diagonal = np.arange(dimension)
            self._inverse[:, diagonal, diagonal] = 1.0 / self._regularization[:, 0]
            self._drift[:] = 0.0
        else:
            self._anchor()
        self._bias = np.empty_like(self._moment)
        self._pull = np.empty_like(self._moment)
        self._pulled = False
        self.move(prior.bias)
        self._predictions = self._widths = np.empty((self._size, 0))
        self._surprise = np.zeros(self._size)
        if prior.learns_noise and statistics is not None:
            # From then on it is summed as rewards come: right for a bias that stands still.
            self._surprise = self._flat(RidgeEstimate(statistics, prior).surprise)
        self._scale, self._rounds = (
            self._flat(prior.noise_scale),
            self._flat(prior.noise_degrees_of_freedom),
        )
        self._strength = self._flat(prior.largest_eigenvalue)
        self._noise = np.array(prior.noise_scale)
        self._learn_noise()
        if prior.mixture is not None:
            self._wary = np.array(prior.mixture.components_differ).reshape(self._size)
            self._parts = prior.mixture.flat()

    def _flat(self, array: Floats, *shape: int) -> Floats:
        """A fresh array with one leading axis."""
        return np.array(array, dtype=np.float64, order="C").reshape(self._size, *shape)

    @property
    def statistics(self) -> TaskStatistics:
        """Everything observed so far, and what the estimate began with."""
        self._settle()
        lead, dimension = self._prior.lead, self._prior.dimension
        return TaskStatistics(
            gram=self._gram.reshape(*lead, dimension, dimension).copy(),
            moment=self._moment.reshape(*lead, dimension).copy(),
            count=self._counts.reshape(lead).copy(),
            sum_of_squares=self._energy.reshape(lead).copy(),
        )

    @property
    def ridge(self) -> Floats:
        """w₀ = (V + Λ)⁻¹b, of shape (…, d), as it is kept: the parameter if the bias is zero."""
        return self._ridge.reshape(*self._prior.lead, -1)

    @property
    def parameter(self) -> Floats:
        """ŵ = w₀ + (V + Λ)⁻¹Λh, of shape (…, d)."""
        parameter = self._ridge + (self._inverse @ self._pull[..., None])[..., 0]
        return parameter.reshape(*self._prior.lead, -1)

    @property
    def inverse(self) -> Floats:
        """(V + Λ)⁻¹, of shape (…, d, d), as it is kept."""
        return self._inverse.reshape(*self._prior.lead, *self._inverse.shape[1:])

    @property
    def noise_scale(self) -> Floats:
        """The scale of the noise, of shape (…), as it is kept."""
        return self._noise

    @property
    def log_determinant(self) -> Floats:
        """Log det(I + Λ⁻¹V), of shape (…), as it is kept."""
        return self._log_determinant.reshape(self._prior.lead)

    def move(self, bias: Floats) -> None:
        """Hold the estimate at another bias (…, d): the statistics stay, only Λh changes."""
        self._bias[:] = bias.reshape(self._bias.shape)
        if self._prior.isotropic:
            np.multiply(self._regularization[:, 0], self._bias, out=self._pull)
        else:
            self._pull[:] = (self._regularization @ self._bias[..., None])[..., 0]
        self._pulled = self._pulled or bool(bias.any())

    def face(self, n_arms: int) -> ArmEstimates:
        """Prepare to read K arms a round. The estimates is filled by `read`, each time in place.

        That costs nothing a round, which matters: a round takes less than a microsecond.
        """
        lead, dimension = self._prior.lead, self._prior.dimension
        self._projections = np.empty((self._size, n_arms, dimension))
        self._predictions = np.empty((self._size, n_arms))
        self._widths = np.empty((self._size, n_arms))
        return ArmEstimates(
            projections=self._projections.reshape(*lead, n_arms, dimension),
            predictions=self._predictions.reshape(*lead, n_arms),
            widths=self._widths.reshape(*lead, n_arms),
            log_determinant=self.log_determinant,
            bias=self._bias.reshape(*lead, dimension),
            largest_eigenvalue=self._strength.reshape(lead),
            inverse=self.inverse,
            noise_scale=self._noise,
            count=self._counts.reshape(lead),
        )

    def read(self, arms: Floats) -> None:
        """Fill the estimates for the arms (R, K, d) of a round."""
        kernels.read(
            self._inverse,
            self._ridge,
            self._pull,
            self._pulled,
            arms,
            self._projections,
            self._predictions,
            self._widths,
        )

    def observe_choice(
        self, arms: Floats, choices: Integers, rewards: Floats, then: Floats | None = None
    ) -> None:
        """Learn the rewards (R,) of choices (R,) among the arms just read, without a product.

        With the arms that come `then`, (R, K, d), those are read in the same go: `observe_choice`
        and `read` in less time than the two, for a bias that does not move in between.
        """
        if self._prior.learns_noise:
            kernels.surprise(self._predictions, self._widths, choices, rewards, self._surprise)
        worst = kernels.observe(
            self._inverse,
            self._ridge,
            self._log_determinant,
            self._drift,
            self._recent,
            self._earned,
            self._filled,
            arms,
            self._projections,
            choices,
            rewards,
            self._pull,
            self._pulled,
            arms if then is None else then,
            then is not None,
            self._predictions,
            self._widths,
        )
        self._observed += 1
        self._counts += 1.0
        self._filled += 1
        self._learn_noise()
        if self._filled == _SLOTS:
            self._settle()
        stale = worst > kernels.DRIFT_LIMIT
        if stale:
            self._anchor()
        if self._prior.mixture is not None and kernels.is_power_of_two(self._observed):
            stale |= self._reconsider()
        if stale and then is not None:
            self.read(then)

    def observe(self, features: Floats, rewards: Floats) -> None:
        """Learn the rewards (…) of any features (…, d)."""
        arms = features.reshape(self._size, 1, -1)
        if self._prior.learns_noise:
            self.face(1)
            self.read(arms)
        else:
            self._projections = np.empty_like(arms)
            kernels.project(self._inverse, arms, self._projections)
        only = np.zeros(self._size, dtype=np.int64)
        self.observe_choice(arms, only, rewards.reshape(self._size))

    def _reconsider(self) -> bool:
        """Second thoughts about the prior (`Prior.revised`); whether anybody had any."""
        self._settle()
        changed = kernels.reconsider(
            self._inverse,
            self._ridge,
            self._log_determinant,
            self._drift,
            self._gram,
            self._moment,
            self._energy,
            self._counts,
            self._bias,
            self._pull,
            self._regularization,
            self._base,
            self._scale,
            self._rounds,
            self._surprise,
            self._wary,
            *self._parts,
        )
        if changed:
            self._pulled = self._pulled or bool(self._bias.any())
            mended = np.linalg.eigvalsh(self._regularization[self._wary])
            self._strength[self._wary] = mended[:, -1]
            self._learn_noise()
        return bool(changed)

    def _learn_noise(self) -> None:
        if self._prior.learns_noise:
            kernels.noises_after(
                self._scale, self._rounds, self._surprise, self._counts, self._noise.reshape(-1)
            )

    def _settle(self) -> None:
        if self._filled:
            kernels.settle(
                self._gram, self._moment, self._energy, self._recent, self._earned, self._filled
            )
            self._filled = 0

    def _anchor(self) -> None:
        kernels.anchor(
            self._inverse,
            self._ridge,
            self._log_determinant,
            self._drift,
            self._gram,
            self._moment,
            self._recent,
            self._earned,
            self._filled,
            self._regularization,
            self._base,
        )
