"""The paper's theory, in numbers: radii, bounds, task moments, estimation errors, alignment.

A bound is a sum of terms, and CONSTANT is the factor C in front of its first two. The error of an
estimated bias has the TERMS below; `Term` is the type of their names.

Arguments are the paper's symbols. The leading axes … are independent; what a function returns has
them, and what it says of each task has an axis n, of each round an axis T.

    setting                            a Setting: d, T, L, S, λ, δ and R
    tasks, grams, counts               statistics of n tasks (…, n); V_j (…, n, d, d); T_j (…, n)
    parameters, parameter              w_j (…, n, d), the true ones; w* (…, d)
    mean_parameter, bias               w̄ and h, (…, d)
    bias_error, sampling_error         ‖w* − h‖ and H_ρ (measured, or `bennett_bound`), (…)
    variance, second_moment            Var_h, and Var_0, (…); deviation is Mar_h
    failure_probability, noise_scale   δ, and R: the noise is R-sub-Gaussian
    regularization, rounds             λ; t, by default T
    choices, rewards                   of one task, (…, T), with its `Task`, prior and memory

>>> hs.theory.CONSTANT
4.0
>>> hs.theory.TERMS
('sampling', 'bias', 'noise', 'ridge')
>>> hs.theory.Term.__args__ == hs.theory.TERMS
True
"""

from headstart.core.ridge import confidence_radius
from headstart.theory.alignment import (
    SharedBasis,
    misalignment,
    shared_basis,
    smallest_eigenvalues,
    smallest_global_eigenvalue,
    weighted_deviation,
)
from headstart.theory.bounds import (
    CONSTANT,
    RegretBound,
    bayes_regularization,
    fixed_bias_bound,
    fixed_bias_limit,
    itl_bound,
    low_variance_bound,
    oful_bound,
    oracle_bound,
    paper_regularization,
    transfer_bound,
)
from headstart.theory.estimation import (
    TERMS,
    ErrorTerms,
    Term,
    average_error,
    bennett_bound,
    estimation_error,
    gram_average,
    pool,
    pooled_error,
    sampling_error,
    task_average,
)
from headstart.theory.moments import (
    geometric_median,
    low_variance_ratio,
    mean_parameter,
    task_deviation,
    task_variance,
)
from headstart.theory.radii import biased_radius, fixed_bias_radius, pooled_radius, trace_radius
from headstart.theory.rates import (
    ErrorBound,
    TransferRate,
    average_error_bound,
    pooled_error_bound,
    transfer_rate,
)
from headstart.theory.setting import AssumptionWarning, Setting, violated_assumptions
from headstart.theory.trajectory import (
    LinearFit,
    Trajectory,
    ever,
    fit_means,
    running_prior,
    running_statistics,
)

__all__ = [
    "CONSTANT",
    "TERMS",
    "AssumptionWarning",
    "ErrorBound",
    "ErrorTerms",
    "LinearFit",
    "RegretBound",
    "Setting",
    "SharedBasis",
    "Term",
    "Trajectory",
    "TransferRate",
    "average_error",
    "average_error_bound",
    "bayes_regularization",
    "bennett_bound",
    "biased_radius",
    "confidence_radius",
    "estimation_error",
    "ever",
    "fit_means",
    "fixed_bias_bound",
    "fixed_bias_limit",
    "fixed_bias_radius",
    "geometric_median",
    "gram_average",
    "itl_bound",
    "low_variance_bound",
    "low_variance_ratio",
    "mean_parameter",
    "misalignment",
    "oful_bound",
    "oracle_bound",
    "paper_regularization",
    "pool",
    "pooled_error",
    "pooled_error_bound",
    "pooled_radius",
    "running_prior",
    "running_statistics",
    "sampling_error",
    "shared_basis",
    "smallest_eigenvalues",
    "smallest_global_eigenvalue",
    "task_average",
    "task_deviation",
    "task_variance",
    "trace_radius",
    "transfer_bound",
    "transfer_rate",
    "violated_assumptions",
    "weighted_deviation",
]
