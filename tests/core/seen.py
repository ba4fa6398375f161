"""All that a policy may see, by name, so that tests can compare it."""

from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary

SUMMARY = [name for name, kind in vars(EstimateSummary).items() if isinstance(kind, property)]


# Of another kind, and there only for a policy that asks for it.
_OTHER = ("summary", "mean_widths")


def seen(estimates: ArmEstimates) -> dict[str, Floats]:
    """Everything in the estimates of a round, and in their summary."""
    arms = {name: value for name, value in vars(estimates).items() if name not in _OTHER}
    return arms | {name: getattr(estimates.summary, name) for name in SUMMARY}
