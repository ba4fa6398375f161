"""What an evaluation does: a bandit's mean reward on a log of decisions."""

import math
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from headstart import MetaBandit, evaluate_logged, specs
from headstart.intervals import Interval, interval
from headstart.live.off_policy import LogTime
from headstart.live.stored import Model
from headstart.logs import DecisionColumns, read_decisions
from headstart.service.engine.configuration import check, model_of
from headstart.service.jobs.files import estimated_rows
from headstart.service.jobs.work import Done, EvaluateWork, Steps
from headstart.service.messages import (
    BanditConfiguration,
    DecisionLogColumns,
    Estimate,
    EvaluateReport,
    EvaluateRequest,
)
from headstart.service.schemas import check_arm, schema_of

_ESTIMATES = ("replay", "inverse_propensity", "self_normalised", "doubly_robust", "mean_weight")


def columns_of(named: DecisionLogColumns) -> DecisionColumns:
    """The columns of a request."""
    return DecisionColumns(**msgspec.structs.asdict(named))


def model_to_evaluate(configuration: BanditConfiguration, request: EvaluateRequest) -> Model:
    """The model of the configuration, with the request's settings instead."""
    settings: dict[str, Any] = {
        name: getattr(request, name)
        for name in ("policy", "prior", "exploration")
        if getattr(request, name) is not None
    }
    wanted = msgspec.structs.replace(configuration, **settings)
    check(wanted)
    schema = schema_of(wanted)
    if schema is not None and request.columns.arm is not None:
        check_arm(request.columns.arm, schema)
    return model_of(wanted, time.time)


def evaluate(work: EvaluateWork, steps: Steps) -> Done:
    """Estimate the mean reward, or say why the log cannot tell."""
    request = work.request
    model = model_to_evaluate(work.configuration, request)
    steps.begin(0.0, "opening the files")
    total = estimated_rows(Path(work.folder), work.files)
    logged = read_decisions(
        work.files,
        columns_of(request.columns),
        model.dimension,
        catalogue={name: np.array(x) for name, x in work.catalogue.items()},
        progress=steps.within(0.0, 0.1, "reading rounds: {done:,}", total),
    )
    settings: dict[str, Any] = {**model.settings.plain(), "refresh": "inline"}
    schema = schema_of(work.configuration)
    bandit = MetaBandit(
        clock=LogTime(),
        dimension=model.dimension if schema is None else None,
        features=schema,
        policy=model.policy,
        prior=model.prior,
        seed=request.seed,
        **settings,
    )
    steps.begin(0.1, "playing the rounds")
    progress = steps.within(0.1, 1.0, "playing the rounds: {done:,} of {total:,}")
    estimates = evaluate_logged(bandit, logged, seed=request.seed, progress=progress)
    return Done(
        report=EvaluateReport(
            rounds=len(logged.rewards),
            tasks=len(set(logged.tasks)),
            accepted=int(estimates.accepted.sum()),
            logged=estimate_of(interval(logged.rewards)),
            effective_sample_size=estimates.effective_sample_size,
            overlap=estimates.overlap,
            policy=specs.describe(model.policy, "policies").plain(),
            prior=specs.describe(model.prior, "priors").plain(),
            start="cold",
            **{name: estimate_of(getattr(estimates, name)) for name in _ESTIMATES},
        )
    )


def estimate_of(of: Interval) -> Estimate:
    """An interval as a message."""
    mean, low, high = (
        value if math.isfinite(value) else None for value in (of.mean, of.low, of.high)
    )
    return Estimate(mean=mean, low=low, high=high)
