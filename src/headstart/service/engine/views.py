"""Records: what is known of a task, and of the prior, as messages."""

import math
from typing import Any, Literal

import msgspec
import numpy as np
from sqlalchemy import Connection

from headstart.arrays import floats
from headstart.intervals import (
    Interval,
    Moments,
    rate,
    share_doubt,
    watched_difference,
    watched_until,
)
from headstart.live.stored import Model, StoredMemory, StoredTasks
from headstart.service.messages import (
    Comparison,
    Gain,
    GainDay,
    Guardrail,
    GuardrailView,
    ItemStatistics,
    LeftOut,
    PriorVersion,
    PriorView,
    ShadowView,
    TaskRecord,
    not_found,
)
from headstart.service.store import bandits, priors, sums, tasks
from headstart.service.store.bandits import BanditRow
from headstart.service.store.sums import COMPARED_ROUNDS, Compared, ItemSums


def task_record(connection: Connection, bandit: BanditRow, model: Model, name: str) -> TaskRecord:
    """What is known of a task."""
    row = tasks.state_of(connection, bandit.id, name)
    if row is None:
        raise not_found(f"bandit {bandit.name!r} has no task {name!r}")
    rows = StoredTasks(model)
    about = None if row.about is None else floats(row.about)
    rows.load(row.id, row.state, about=about)
    view = rows.view(row.id)
    estimate = view.estimate
    spread = view.noise_scale * estimate.widths(np.eye(model.dimension))
    return TaskRecord(
        task=row.name,
        control=row.control,
        start=row.start,
        opened=row.opened,
        last_used=row.last_used,
        n_rewards=row.n_rewards,
        reward_sum=row.reward_sum,
        feature_names=bandit.feature_names,
        parameter=estimate.parameter.tolist(),
        prior_mean=estimate.prior.bias.tolist(),
        spread=spread.tolist(),
        noise_scale=view.noise_scale,
        about=None if about is None else about.tolist(),
    )


def item_effects(connection: Connection, bandit: BanditRow, model: Model) -> dict[str, float]:
    """What items earn beyond what their features explain, by id, in the latest prior."""
    latest = priors.latest_memory(connection, bandit.id)
    if latest is None:
        return {}
    effects = StoredMemory.from_bytes(latest.memory, model).effects(model)
    return {} if effects is None else {str(item): effects.effect(item) for item in effects.ids}


def item_statistics(
    connection: Connection, bandit: BanditRow, model: Model, first: int, last: int
) -> list[ItemStatistics]:
    """All items in numbers, over days since 1970; the most shown first.

    That is the catalogue's items, and chosen arms that were given in requests.
    """
    shown = sums.of_items(connection, bandit.id, first, last)
    effects = item_effects(connection, bandit, model)
    total = sum(one.shown for one in shown.values())
    items = dict.fromkeys([*shown, *bandits.item_ids(connection, bandit.id)])
    statistics = [
        _statistics(item, shown.get(item, ItemSums()), total, effects.get(item)) for item in items
    ]
    return sorted(statistics, key=lambda one: (-one.shown, one.item))


def _statistics(item: str, sums: ItemSums, total: int, effect: float | None) -> ItemStatistics:
    mean = rate(sums.rewards)
    return ItemStatistics(
        item=item,
        shown=sums.shown,
        share=sums.shown / total if total else 0.0,
        rewards=sums.rewards.n,
        reward_sum=sums.rewards.total,
        mean=_known(mean.mean),
        low=_known(mean.low),
        high=_known(mean.high),
        effect=effect,
    )


# Below this, chance does not explain the number of control tasks.
MISMATCH = 0.001


def ratio_doubt(compared: Compared) -> float:
    """How improbable the number of control tasks is, given the requested shares."""
    n = compared.warm.n + compared.control.n
    return share_doubt(compared.control.n, n, compared.log_chance)


def gain_view(connection: Connection, bandit: BanditRow) -> Gain:
    """What the warm start is worth, as far as it is known."""
    compared = sums.early_means(connection, bandit)
    warm, control = compared.warm, compared.control
    difference = watched_difference(warm, control)
    n = warm.n + control.n
    left = watched_until(difference) - n
    is_open = difference.low <= 0.0 <= difference.high and math.isfinite(left)
    spent = compared.days[-1][0] - compared.days[0][0] + 1 if compared.days else 0
    return Gain(
        rounds=COMPARED_ROUNDS,
        control=bandit.configuration.control,
        **_compared(warm, control, difference),
        control_share=control.n / n if n else None,
        ratio_p=ratio_doubt(compared),
        left_out=LeftOut(**compared.left_out),
        tasks_to_go=math.ceil(left) if is_open else None,
        days_to_go=left / n * spent if is_open else None,
        days=_course(compared),
        guardrails=guardrail_views(connection, bandit),
    )


def _compared(warm: Moments, control: Moments, difference: Interval) -> dict[str, Any]:
    """The fields of a `Comparison`."""
    compared = Comparison(
        warm_tasks=warm.n,
        control_tasks=control.n,
        warm_mean=_known(warm.mean),
        control_mean=_known(control.mean),
        difference=_known(difference.mean),
        low=_known(difference.low),
        high=_known(difference.high),
    )
    return msgspec.structs.asdict(compared)


def _course(compared: Compared) -> list[GainDay]:
    """The gain at the end of each day on which it was known."""
    known = [
        (day, watched_difference(warm, control))
        for day, warm, control in compared.days
        if min(warm.n, control.n) > 1
    ]
    return [
        GainDay(day=sums.day_of(day), difference=one.mean, low=one.low, high=one.high)
        for day, one in known
    ]


def guardrail_views(connection: Connection, bandit: BanditRow) -> list[GuardrailView]:
    """How warm tasks compare with the control in each metric that has a bound."""
    guardrails = bandit.configuration.guardrails
    if not guardrails:
        return []
    found = sums.metric_means(connection, bandit)
    return [_guardrail(each, *found.get(each.name, [Moments(), Moments()])) for each in guardrails]


def _guardrail(guardrail: Guardrail, warm: Moments, control: Moments) -> GuardrailView:
    difference = watched_difference(warm, control)
    return GuardrailView(
        name=guardrail.name,
        worse=guardrail.worse,
        margin=guardrail.margin,
        status=_status(
            difference if guardrail.worse == "higher" else -difference, guardrail.margin
        ),
        **_compared(warm, control, difference),
    )


def _status(worse: Interval, margin: float) -> Literal["broken", "holds", "unclear"]:
    """The status of a guardrail, from the interval of how much worse warm tasks are."""
    if worse.low > margin:
        return "broken"
    return "holds" if worse.high <= margin else "unclear"


def shadow_view(connection: Connection, bandit: BanditRow) -> ShadowView:
    """How often the service agreed in shadow mode."""
    decisions, agreed = sums.agreement(connection, bandit.id)
    return ShadowView(on=bandit.configuration.shadow, decisions=decisions, agreed=agreed)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def prior_view(connection: Connection, bandit: BanditRow, model: Model, history: int) -> PriorView:
    """The current prior, and the latest versions."""
    versions = priors.versions(connection, bandit.id, max(history, 1))
    current = versions[0] if versions else _first(model, bandit.created)
    fields = {name: getattr(current, name) for name in PriorVersion.__struct_fields__}
    return PriorView(feature_names=bandit.feature_names, history=versions[:history], **fields)


def _first(model: Model, time: float) -> PriorVersion:
    """The prior before any task."""
    learned = StoredMemory.empty(model).learned(model)
    return PriorVersion(
        version=0,
        time=time,
        mean=learned.mean.tolist(),
        spread=learned.spread.tolist(),
        noise_scale=learned.noise_scale,
        n_tasks=0,
        effective_tasks=0.0,
        source="start",
    )
