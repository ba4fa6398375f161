"""Regret bounds with explicit constants, term by term, and the λ that they suggest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.theory.setting import Setting

# The paper's C: 4 as in Theorem 3 of Abbasi-Yadkori et al.; 2√2 would suffice.
CONSTANT = 4.0


@dataclass(frozen=True, eq=False)
class RegretBound:
    """A bound on the regret of T rounds, as a sum of three terms.

    Parameters
    ----------
    bias : ndarray of shape (…)
        From h ≠ w*.
    noise : ndarray of shape (…)
        From the noise of the rewards.
    failure : ndarray of shape (…)
        From the event that a confidence set does not contain w*.

    Examples
    --------
    >>> bound = hs.theory.oracle_bound(hs.theory.Setting(dimension=2, horizon=50))
    >>> round(float(bound.noise), 1), round(float(bound.failure), 1), round(float(bound.total), 1)
    (273.4, 2.0, 275.4)
    """

    bias: Floats
    noise: Floats
    failure: Floats

    @property
    def total(self) -> Floats:
        """The bound."""
        return self.bias + self.noise + self.failure


def oful_bound(setting: Setting) -> RegretBound:
    """OFUL's regret with probability 1 − δ (Theorem 3 of Abbasi-Yadkori et al.).

    4 √(T d log(1 + TL²/(λd))) (√λ S + R √(2 log(1/δ) + d log(1 + TL²/(λd)))). Needs
    R-sub-Gaussian noise, ‖x‖ ≤ L, ‖w‖ ≤ S and λ ≥ max(1, L²).

    Examples
    --------
    >>> bound = hs.theory.oful_bound(hs.theory.Setting(dimension=2, horizon=50))
    >>> round(float(bound.total), 1)
    345.6
    """
    setting.demand_regularization("Theorem 3 of OFUL")
    setting.demand_bounded_tasks("Theorem 3 of OFUL")
    bound = _terms(setting, setting.parameter_bound)
    return replace(bound, failure=np.zeros_like(bound.total))


def fixed_bias_bound(setting: Setting, *, bias_error: ArrayLike) -> RegretBound:
    """Lemma 1: the expected regret of BIAS-OFUL with a bias at a distance ‖w* − h‖.

    4 √(T d log(1 + TL²/(λd))) (√λ ‖w* − h‖ + R √(2 log(1/δ) + d log(1 + TL²/(λd)))) + 2BTδ, where B
    bounds |xᵀw| (1 in the paper) and δ = 1/T: the last term, 2, is what the paper's C hides. Needs
    R-sub-Gaussian noise, ‖x‖ ≤ L, |xᵀw| ≤ B, λ ≥ max(1, L²), a frozen h, and a policy that plays
    Theorem 1's radius.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=2, horizon=50)
    >>> bound = hs.theory.fixed_bias_bound(setting, bias_error=[0.0, 0.5, 1.0])
    >>> bound.total.round(1)
    array([275.4, 311.5, 347.6])
    """
    setting.demand_regularization("Lemma 1")
    setting.demand_frozen_bias("Lemma 1")
    return _terms(setting, bias_error)


def itl_bound(setting: Setting) -> RegretBound:
    """Corollary 1 (i): Lemma 1 at h = 0, where ‖w* − h‖ ≤ S. Of order d√T for a fixed λ only.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=2, horizon=50, parameter_bound=2.0)
    >>> round(float(hs.theory.itl_bound(setting).bias), 1)
    144.4
    """
    setting.demand_bounded_tasks("Corollary 1")
    return fixed_bias_bound(setting, bias_error=setting.parameter_bound)


def oracle_bound(setting: Setting) -> RegretBound:
    """Corollary 1 (ii): Lemma 1 at h = w*.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=2, horizon=50, regularization=[1.0, 100.0])
    >>> hs.theory.oracle_bound(setting).total.round(1)
    array([275.4,  56.3])
    """
    return fixed_bias_bound(setting, bias_error=0.0)


def fixed_bias_limit(setting: Setting, *, bias_error: ArrayLike) -> RegretBound:
    """The limit of Lemma 1 as λ → ∞: 4TL‖w* − h‖ + 2BTδ.

    The first term is 0 for the Oracle and 4TSL for ITL (the paper's C·T·S·√L; L is right). With a
    δ that shrinks with λ the failure term vanishes as well.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=2, horizon=50)
    >>> float(hs.theory.fixed_bias_limit(setting, bias_error=0.1).total)
    22.0
    """
    error = np.asarray(bias_error, dtype=np.float64)
    bias = CONSTANT * setting.horizon * setting.feature_bound * error
    return RegretBound(bias, np.zeros_like(bias), np.full_like(bias, _failure(setting)))


def transfer_bound(
    setting: Setting, *, deviation: ArrayLike | None = None, variance: ArrayLike | None = None
) -> RegretBound:
    """Lemma 2: the expected regret over tasks, from Mar_h or, looser, from Var_h.

    Lemma 1 with E‖w − h‖ in place of ‖w − h‖; Var_h enters by Jensen, as √Var_h. For a learned h
    that does not depend on the new task, Var_h = Var_w̄ + ε.

    Raises
    ------
    ValueError
        If not exactly one of `deviation` and `variance` is given.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=2, horizon=50)
    >>> round(float(hs.theory.transfer_bound(setting, variance=0.04).total), 1)
    289.9
    """
    if (deviation is None) == (variance is None):
        raise ValueError("transfer_bound takes either deviation (Mar_h) or variance (Var_h)")
    if variance is not None:
        deviation = np.sqrt(np.asarray(variance, dtype=np.float64))
    assert deviation is not None
    setting.demand_bounded_tasks("Lemma 2")
    return fixed_bias_bound(setting, bias_error=deviation)


def low_variance_bound(setting: Setting, *, variance: float) -> RegretBound:
    """Corollary 2: Lemma 2 at λ = 1/(T Var_h).

    Includes the R, the additive term and the logarithm that the paper drops. Lemma 1 needs λ ≥ 1,
    so the paper's λ is covered only if Var_h ≤ 1/T; otherwise this warns.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=2, horizon=50)
    >>> round(float(hs.theory.low_variance_bound(setting, variance=0.01).total), 1)
    244.1
    """
    checks.positive("variance", variance)
    chosen = paper_regularization(horizon=setting.horizon, variance=variance)
    return transfer_bound(replace(setting, regularization=chosen), variance=variance)


def paper_regularization(*, horizon: int, variance: ArrayLike) -> Floats:
    """λ = 1/(T Var_h), of Corollary 2. Below 1, where Lemma 1 does not hold, unless Var_h ≤ 1/T.

    Examples
    --------
    >>> hs.theory.paper_regularization(horizon=50, variance=[0.01, 1.0])
    array([2.  , 0.02])
    """
    product = np.asarray(horizon, dtype=np.float64) * np.asarray(variance, dtype=np.float64)
    positive = product > 0.0
    return np.asarray(np.where(positive, 1.0 / np.where(positive, product, 1.0), np.inf))


def bayes_regularization(*, noise_scale: float, dimension: int, variance: ArrayLike) -> Floats:
    """λ = s²d/Var_w̄: the ridge whose estimate is the posterior mean for w ~ N(w̄, Var_w̄ I/d).

    ∞ if the variance is 0, that is, all tasks are the same.

    Examples
    --------
    >>> hs.theory.bayes_regularization(noise_scale=1.0, dimension=20, variance=[0.0, 1.0, 4.0])
    array([inf, 20.,  5.])
    """
    values = np.asarray(variance, dtype=np.float64)
    positive = np.where(values > 0, values, 1.0)
    return np.asarray(np.where(values > 0, noise_scale**2 * dimension / positive, np.inf))


def _terms(setting: Setting, bias_error: ArrayLike) -> RegretBound:
    log_determinant = setting.log_determinant()
    bias_term = np.sqrt(setting.ridge) * np.asarray(bias_error, dtype=np.float64)
    noise = setting.noise_scale * np.sqrt(2.0 * np.log(1.0 / setting.delta) + log_determinant)
    # Σ‖x‖² ≤ 2 log det needs ‖x‖ ≤ 1 in the norm of V⁻¹, hence λ ≥ L². Below, Σ min(1, ‖x‖²) ≤
    # 2 log det still holds, and the regret of a round is at most 2 max(β, B) min(1, ‖x‖).
    shortfall = np.maximum(setting.mean_bound - (bias_term + noise), 0.0)
    noise = noise + np.where(setting.small_regularization, shortfall, 0.0)
    rate = CONSTANT * np.sqrt(setting.horizon * log_determinant)
    failure = np.full(np.shape(rate * (bias_term + noise)), _failure(setting))
    return RegretBound(np.asarray(rate * bias_term), np.asarray(rate * noise), failure)


def _failure(setting: Setting) -> float:
    return 2.0 * setting.mean_bound * setting.horizon * setting.delta
