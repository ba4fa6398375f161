"""From a bandit's configuration to the model of live use, and what may change in it."""

from collections.abc import Callable
from typing import Any, cast

from headstart import checks, specs
from headstart.interfaces import LivePriorEstimator, Policy, PriorEstimator, n_side
from headstart.live import defaults
from headstart.live.settings import Change, Settings, names
from headstart.live.stored import FeatureNames, Model
from headstart.priors import Hierarchical
from headstart.service.messages import BanditConfiguration, conflict, invalid

# Rewards are within it where a bandit has no range of its own. One that is larger would be most of
# every sum that the dashboard shows, for good.
REWARD_RANGE = (-1e9, 1e9)

_LEAST_SCALE = 1e-9

_SETTINGS = names(stored=True)
# What says how the tasks that are stored are to be read: it stays as it is.
_FIXED = ("prior", "side_names", *sorted({*_SETTINGS} - {*names(Change.ALWAYS, stored=True)}))


def dimension_of(configuration: BanditConfiguration) -> int:
    """The number of features."""
    dimension, features = configuration.dimension, configuration.feature_names
    if features is None:
        if dimension is None:
            raise invalid("dimension or feature_names must be given, got neither")
        return dimension
    if not features:
        raise invalid("feature_names must be at least one name, got none")
    if dimension not in (None, len(features)):
        raise invalid(f"feature_names must be dimension = {dimension} names, got {len(features)}")
    return len(features)


def model_of(configuration: BanditConfiguration, clock: Callable[[], float]) -> Model:
    """The model of a configuration; what is wrong with it is an error of the request."""
    dimension = dimension_of(configuration)
    try:
        return _model(configuration, dimension, clock)
    except (ValueError, TypeError) as error:
        raise invalid(str(error)) from error


def _model(configuration: BanditConfiguration, dimension: int, clock: Callable[[], float]) -> Model:
    policy: Any = defaults.POLICY
    if configuration.policy is not None:
        policy = specs.rebuild(configuration.policy, "policies", where="policy")
    prior: Any = Hierarchical(n_side=len(configuration.side_names))
    if configuration.prior is not None:
        prior = specs.rebuild(configuration.prior, "priors", where="prior")
    if not isinstance(prior, LivePriorEstimator):
        raise ValueError(f"prior must be one for live use, got {configuration.prior}")
    if n_side(cast("PriorEstimator", prior)) != len(configuration.side_names):
        raise ValueError(
            f"side_names must be the {n_side(prior)} names that the prior takes, "
            f"got {configuration.side_names}"
        )
    options = {name: getattr(configuration, name) for name in _SETTINGS}
    if configuration.reward_range is None:
        options["reward_range"] = REWARD_RANGE
    if configuration.retention_seconds is not None:
        checks.positive("retention_seconds", configuration.retention_seconds)
    settings = Settings.from_options(dimension, clock, refresh="background", **options)
    return Model(
        dimension=dimension,
        policy=cast("Policy", policy),
        prior=cast("PriorEstimator", prior),
        settings=settings,
        feature_names=FeatureNames(dimension, configuration.feature_names),
    )


def check(configuration: BanditConfiguration) -> None:
    """Raise where the tasks of a bandit could not be stored, or its prior not be computed."""
    model = model_of(configuration, lambda: 0.0)
    try:
        model.check_storable()
    except ValueError as error:
        raise invalid(str(error)) from error
    scales = configuration.scales
    for value in scales if isinstance(scales, list) else ():
        if not _LEAST_SCALE <= value <= 1.0 / _LEAST_SCALE:
            raise invalid(
                f"scales must be between {_LEAST_SCALE:g} and {1.0 / _LEAST_SCALE:g}, got {value:g}"
            )


def check_change(before: BanditConfiguration, after: BanditConfiguration) -> None:
    """Raise where a change would make the stored tasks unreadable."""
    if dimension_of(before) != dimension_of(after):
        raise conflict(
            f"dimension must stay {dimension_of(before)}, got {dimension_of(after)}: "
            "create another bandit"
        )
    for name in _FIXED:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            raise conflict(f"{name} must stay {old!r}, got {new!r}: create another bandit")
