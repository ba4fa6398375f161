"""From a bandit's configuration to the model of live use, and what may change in it."""

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import msgspec

from headstart import checks, specs
from headstart.features import Features
from headstart.interfaces import LivePriorEstimator, Policy, PriorEstimator, n_about
from headstart.live import defaults
from headstart.live.inputs import Groups
from headstart.live.settings import Change, Settings, names
from headstart.live.stored import FeatureNames, Model
from headstart.service import schemas
from headstart.service.messages import (
    MOST_DIMENSIONS,
    BanditConfiguration,
    check_name,
    check_text,
    conflict,
    invalid,
)

# The range of rewards if a bandit has none. A larger reward would dominate every sum that the
# dashboard shows, for good.
REWARD_RANGE = (-1e9, 1e9)


_SETTINGS = names(stored=True)
# These say how to read the stored tasks, so they must not change.
_FIXED = ("prior", "about_names", *sorted({*_SETTINGS} - {*names(Change.ALWAYS, stored=True)}))


def dimension_of(configuration: BanditConfiguration) -> int:
    """The number of features."""
    schema = _schema_of(configuration)
    if schema is not None:
        return schema.dimension
    dimension, features = configuration.dimension, configuration.feature_names
    if features is None:
        if dimension is None:
            raise invalid("dimension, feature_names or features must be given, got none of them")
        return dimension
    if not features:
        raise invalid("feature_names must be at least one name, got none")
    if dimension not in (None, len(features)):
        raise invalid(f"feature_names must be dimension = {dimension} names, got {len(features)}")
    return len(features)


def _schema_of(configuration: BanditConfiguration) -> Features | None:
    """The schema of a configuration, which must not describe features in another way too."""
    try:
        schema = schemas.schema_of(configuration)
    except (ValueError, TypeError) as error:
        raise invalid(str(error)) from error
    if schema is not None:
        for name in ("dimension", "feature_names", "about_names"):
            if getattr(configuration, name):
                raise invalid(f"{name} must not be given with features, got both")
        if schema.dimension > MOST_DIMENSIONS:
            raise invalid(
                f"features must have at most {MOST_DIMENSIONS:,} columns, got {schema.dimension:,}"
            )
    return schema


def model_of(configuration: BanditConfiguration, clock: Callable[[], float]) -> Model:
    """The model of a configuration; raises an error of the request if it is wrong."""
    dimension = dimension_of(configuration)
    try:
        return _model(configuration, dimension, clock)
    except (ValueError, TypeError) as error:
        raise invalid(str(error)) from error


def _model(configuration: BanditConfiguration, dimension: int, clock: Callable[[], float]) -> Model:
    schema = _schema_of(configuration)
    size = len(configuration.about_names) if schema is None else schema.n_about
    policy: Any = defaults.POLICY
    if configuration.policy is not None:
        policy = specs.rebuild(configuration.policy, "policies", where="policy")
    prior: Any = defaults.prior_for(schema, len(configuration.about_names))
    if configuration.prior is not None:
        prior = specs.rebuild(configuration.prior, "priors", where="prior")
        if schema is None and getattr(prior, "n_about", None) == 0:  # it takes as many as named
            prior = dataclasses.replace(prior, n_about=size)
    if not isinstance(prior, LivePriorEstimator):
        raise ValueError(f"prior must support live use, got {configuration.prior}")
    taken = n_about(cast("PriorEstimator", prior))
    if schema is not None and taken not in (0, size):
        raise ValueError(
            f"prior must have n_about = {size}, the columns of the tasks' attributes, or 0, "
            f"got {taken}"
        )
    if schema is None and taken != size:
        raise ValueError(
            f"about_names must be the {taken} names that the prior takes (Hierarchical takes any), "
            f"got {configuration.about_names}"
        )
    options = {name: getattr(configuration, name) for name in _SETTINGS}
    if configuration.reward_range is None:
        options["reward_range"] = REWARD_RANGE
    if configuration.retention_seconds is not None:
        checks.positive("retention_seconds", configuration.retention_seconds)
    settings = Settings.from_options(clock, refresh="background", **options)
    names = FeatureNames(dimension, configuration.feature_names)
    if schema is not None:
        groups = Groups(schema.group_names, schema.groups)
        names = FeatureNames(dimension, schema.columns, groups)
    return Model(
        dimension=dimension,
        policy=cast("Policy", policy),
        prior=cast("PriorEstimator", prior),
        settings=settings,
        feature_names=names,
        unknown_about=schema.encode_about(None) if schema is not None and taken else None,
    )


def completed(
    wanted: BanditConfiguration, before: BanditConfiguration | None
) -> BanditConfiguration:
    """A configuration completed by its schema, and by what data have settled before.

    A schema scales its own numbers, so no scales are learned.
    """
    schema = _schema_of(wanted)
    if schema is None:
        return wanted
    known = None if before is None else schemas.schema_of(before)
    if known is not None:
        schema = schema.settled_as(known)
    return msgspec.structs.replace(wanted, features=schema.plain(), scales=None)


def check(configuration: BanditConfiguration) -> None:
    """Raise if the tasks of a bandit could not be stored, or its prior not be computed."""
    for what in ("feature_names", "about_names"):
        for name in getattr(configuration, what) or ():
            check_text(what, name)
    model = model_of(configuration, lambda: 0.0)
    schema = schemas.schema_of(configuration)
    if schema is not None:
        schemas.check(schema)
    try:
        model.check_storable()
    except ValueError as error:
        raise invalid(str(error)) from error
    _check_guardrails(configuration)


def _check_guardrails(configuration: BanditConfiguration) -> None:
    """Raise if guardrails could never be broken, or if two have the same name."""
    names = [guardrail.name for guardrail in configuration.guardrails]
    for name in names:
        check_name("guardrail", name)
    if len(set(names)) < len(names):
        raise invalid(f"guardrails must have different names, got {names}")
    if names and configuration.control_share == 0.0:
        raise invalid(
            "guardrails compare warm tasks with the control: control_share must be above 0, got 0"
        )


def check_change(before: BanditConfiguration, after: BanditConfiguration) -> None:
    """Raise if a change would make the stored tasks unreadable."""
    _check_same(schemas.schema_of(before), schemas.schema_of(after))
    if dimension_of(before) != dimension_of(after):
        raise conflict(
            f"dimension must stay {dimension_of(before)}, got {dimension_of(after)}: "
            "create another bandit"
        )
    for name in _FIXED:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            raise conflict(f"{name} must stay {old!r}, got {new!r}: create another bandit")


def _check_same(before: Features | None, after: Features | None) -> None:
    """Raise if two schemas would encode the same attributes differently."""
    if before == after:
        return
    if before is None or after is None:
        both = ["features" if each is not None else "numbers" for each in (before, after)]
        raise conflict(
            f"a bandit with {both[0]} must stay so, got {both[1]}: create another bandit"
        )
    names = dict.fromkeys([*before.attributes, *after.attributes])
    other = next((n for n in names if before.attributes.get(n) != after.attributes.get(n)), None)
    what = "other crosses or another order" if other is None else f"another {other!r}"
    raise conflict(f"features must not change, got {what}: create another bandit")
