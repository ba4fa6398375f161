"""OFUL: optimism in the face of uncertainty over a confidence ellipsoid."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headstart import checks
from headstart.interfaces import Standing
from headstart.outlook import Outlook, confidence_radius, mixture_radius

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Split:
    """The paper's practical bound on the bias error: ‖h − w*‖ ≤ ‖h‖ + S (Section 6)."""

    parameter_bound: float

    def __post_init__(self) -> None:
        checks.nonnegative("parameter_bound", self.parameter_bound)


@dataclass(frozen=True, kw_only=True)
class OFUL:
    """Score xᵀŵ + β‖x‖ (Eq. 4) with β = scale·(R√(2 log(1/δ) + log det(I + Λ⁻¹V)) + √λ·bias_error).

    `radius_of="mixture"` takes the root of the sum of the two terms' squares in place of their sum:
    strictly smaller, and as safe for an h and Λ fixed beforehand (a mixture over N(h, R²Λ⁻¹) and
    Ville's inequality); a bias that the task's own rewards move needs the sum.

    `bias_error` stands for the unknown ‖h − w*‖ of Theorem 1: a number, or `Split(S)`. Only a true
    upper bound keeps the theorem's guarantee. The default of 0 gives it up, because any honest
    bound drowns what the bias transfers (docs/design.md).
    """

    noise_scale: float = 1.0
    failure_probability: float = 0.05
    bias_error: float | Split = 0.0
    scale: float = 1.0
    radius_of: Literal["sum", "mixture"] = "sum"

    def __post_init__(self) -> None:
        checks.nonnegative("noise_scale", self.noise_scale)
        checks.probability("failure_probability", self.failure_probability)
        checks.nonnegative("scale", self.scale)
        checks.one_of("radius_of", self.radius_of, ("sum", "mixture"))
        if not isinstance(self.bias_error, Split):
            checks.nonnegative("bias_error", self.bias_error)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """None: OFUL is deterministic."""
        return 0

    def radius(self, standing: Standing) -> Floats:
        """β, of shape (…)."""
        error = self.bias_error
        pull: Floats | float = 0.0
        if isinstance(error, Split):
            bound = np.linalg.norm(standing.bias, axis=-1) + error.parameter_bound
            pull = np.sqrt(standing.strength) * bound
        elif error:
            pull = np.sqrt(standing.strength) * error
        radius = confidence_radius if self.radius_of == "sum" else mixture_radius
        return self.scale * radius(
            standing.log_determinant,
            noise_scale=self.noise_scale,
            failure_probability=self.failure_probability,
            pull=pull,
        )

    def scores(self, outlook: Outlook, uniforms: Floats) -> Floats:
        """The upper confidence bounds, (…, K)."""
        bounds = self.radius(outlook)[..., None] * outlook.widths
        bounds += outlook.predictions
        return bounds
