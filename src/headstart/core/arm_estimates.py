"""ArmEstimates: all that a policy may see, and the radii that OFUL draws from it."""

from dataclasses import dataclass

from headstart.arrays import Floats


@dataclass(frozen=True, eq=False)
class ArmEstimates:
    """What an estimate says about the arms at hand: all that a policy may see."""

    projections: Floats  # (…, K, d), rows x(V + Λ)⁻¹
    predictions: Floats  # (…, K), xᵀŵ
    widths: Floats  # (…, K), ‖x‖ in the norm of (V + Λ)⁻¹
    log_determinant: Floats  # (…), log det(I + Λ⁻¹V)
    bias: Floats  # (…, d)
    largest_eigenvalue: Floats  # (…), the largest eigenvalue of Λ
    inverse: Floats  # (…, d, d), (V + Λ)⁻¹
    noise_scale: Floats  # (…), s: what the prior says of it, and the rewards since
    count: Floats  # (…), T: how many rewards count so far
