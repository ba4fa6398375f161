"""Evaluation on a bandit's own decisions: other settings, on the arms that were on offer."""

import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from headstart import LoggedDecisions, MetaBandit, evaluate_logged
from headstart.arrays import Booleans, Floats, floats
from headstart.features import Features
from headstart.interfaces import n_about
from headstart.intervals import interval
from headstart.live.off_policy import LogTime
from headstart.progress import Progress
from headstart.service.engine.configuration import alternative_of
from headstart.service.jobs.evaluate import estimate_of
from headstart.service.jobs.work import Done, EvaluateWork, Steps
from headstart.service.messages import Alternative, Evaluated, OwnLogReport
from headstart.service.schemas import schema_of

# How many decisions are read, and how many features of all their arms.
_MOST_ROUNDS, _MOST_NUMBERS = 100_000, 1 << 26
_READ = (
    *("task", "arm", "slate", "observed", "time", "propensity", "reward"),
    *("catalogue", "offered", "about"),
)


def n_rounds(n_items: int, dimension: int) -> int:
    """How many of the latest decisions are used."""
    return max(min(_MOST_ROUNDS, _MOST_NUMBERS // (max(n_items, 1) * dimension)), 1)


def own_log(work: EvaluateWork, steps: Steps) -> Done:
    """Evaluate the current settings and alternatives."""
    steps.begin(0.0, "reading decisions")
    log, left_out = _logged(work)
    wanted = {"current": Alternative(), **work.request.alternatives}
    results = []
    for i, (name, given) in enumerate(wanted.items()):
        begin, end = (0.1 + 0.9 * k / len(wanted) for k in (i, i + 1))
        steps.begin(begin, f"{name}: playing the rounds")
        shown = name.replace("{", "{{").replace("}", "}}")  # the rest is a format
        progress = steps.within(begin, end, f"{shown}: {{done:,}} of {{total:,}} rounds")
        results.append(_evaluated(name, given, log, work, progress))
    return Done(
        report=OwnLogReport(
            rounds=len(log["rewards"]),
            tasks=len(set(log["tasks"])),
            left_out=left_out,
            logged=estimate_of(interval(log["rewards"])),
            settings=results,
        )
    )


def _evaluated(
    name: str, given: Alternative, log: Mapping[str, Any], work: EvaluateWork, progress: Progress
) -> Evaluated:
    clock = LogTime()
    model, kept = alternative_of(work.configuration, given, clock)
    prior: Any = model.prior
    bandit = MetaBandit(
        dimension=model.dimension,
        policy=model.policy,
        prior=replace(prior, n_about=0) if n_about(prior) else prior,
        seed=work.request.seed,
        clock=clock,
        **{**model.settings.plain(), "refresh": "inline"},
    )
    arms = log["arms"] if kept.all() else log["arms"] * kept
    try:
        logged = LoggedDecisions(**{**log, "arms": arms})
        seed = work.request.seed
        found = evaluate_logged(bandit, logged, learn="all", seed=seed, progress=progress)
    except ValueError as error:
        return Evaluated(name=name, cannot=str(error))
    return Evaluated(
        name=name,
        inverse_propensity=estimate_of(found.inverse_propensity),
        self_normalised=estimate_of(found.self_normalised),
        doubly_robust=estimate_of(found.doubly_robust),
        effective_sample_size=found.effective_sample_size,
    )


def _logged(work: EvaluateWork) -> tuple[dict[str, Any], dict[str, int]]:
    """The arguments of `LoggedDecisions` from usable decisions, and why others are not usable."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - a third of a second

    table = pq.read_table(io.BytesIO(work.log or b""))
    columns = {name: table.column(name).to_pylist() for name in _READ}
    x: Floats = table.column("features").combine_chunks().flatten().to_numpy()
    x = x.reshape(table.num_rows, table.schema.field("features").type.list_size)
    index = {item: i for i, item in enumerate(work.catalogue)}
    items = np.array(list(work.catalogue.values())).reshape(len(index), -1 if index else 0)
    schema = schema_of(work.configuration)
    in_context = schema is not None and not schema.is_fixed
    why: Counter[str] = Counter()
    places, arms = [], []
    for i in range(table.num_rows):
        row = {name: values[i] for name, values in columns.items()}
        reason = _unusable(row, index, work.digest)
        if reason is None and in_context:
            assert schema is not None
            shown = _in_context(schema, items, x[i], row["about"])
            if not np.array_equal(shown[index[row["arm"]]], x[i]):
                reason = "of tasks of which more became known later"
            else:
                arms.append(shown)
        if reason is None:
            places.append(i)
        else:
            why[reason] += 1
    n = len(places)
    if not n:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in why.most_common())
        raise ValueError(f"no decision of the bandit can be used: {reasons or 'none yet'}")
    kept = {name: [values[i] for i in places] for name, values in columns.items()}
    log = {
        "tasks": kept["task"],
        "arms": np.array(arms) if in_context else np.broadcast_to(items, (n, *items.shape)),
        "choices": np.array([index[arm] for arm in kept["arm"]]),
        "rewards": np.array(kept["reward"]),
        "propensities": np.array(kept["propensity"]),
        "allowed": np.array([_mask(bits, len(items)) for bits in kept["offered"]]),
        "times": np.array(kept["time"]),
    }
    return log, dict(why)


def _unusable(row: Mapping[str, Any], index: Mapping[str, int], digest: int) -> str | None:
    """Why a decision cannot be used; None if it can."""
    if row["observed"]:
        return "of choices that were made elsewhere"
    if row["slate"] is not None:
        return "of several arms at once"
    if row["catalogue"] != digest or row["arm"] not in index:
        return "of another catalogue, or of arms that calls brought"
    if row["propensity"] is None:
        return "without a propensity"
    return "without a reward" if row["reward"] is None else None


def _in_context(schema: Features, items: Floats, x: Floats, about: bytes | None) -> Floats:
    """The arms (K, d) of a decision, in the context shown by its arm's features."""
    context = x[schema.n_item : schema.n_item + schema.n_context]
    task = schema.encode_about(None) if about is None else floats(about)
    return schema.arms(items, np.array(context), np.array(task))


def _mask(bits: bytes | None, n: int) -> Booleans:
    if bits is None:
        return np.ones(n, dtype=np.bool_)
    return np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=n).astype(np.bool_)
