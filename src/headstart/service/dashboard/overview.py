"""Overview: whether the warm start pays, and how much the service does."""

from math import inf
from typing import Any

import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.arrays import Floats
from headstart.intervals import Interval, Moments, watched_difference
from headstart.service.dashboard import attributes, charts, page
from headstart.service.dashboard.formats import count, fixed, interval_words, percent
from headstart.service.engine.records import MISMATCH, ratio_doubt, shadow_view
from headstart.service.engine.service import Service
from headstart.service.messages import Estimate, ShadowView
from headstart.service.store.queries import activity, decisions
from headstart.service.store.queries.activity import COMPARED_ROUNDS, Compared
from headstart.service.store.queries.bandits import BanditRow

# The parts over which "now" is measured, in minutes.
_RECENT = 5
_FEW_TASKS = 5


def overview(service: Service, request: Request) -> Response:
    """`GET /`."""
    window = page.chosen_window(request)
    now = service.clock()

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        return {
            **_gain(connection, bandit),
            "shadow": shadow_sentences(shadow_view(connection, bandit)),
            **_rates(connection, bandit, window, now),
            **_recent(connection, bandit, now),
            "window": window,
            "windows": page.WINDOWS.values(),
            "attributes": [] if bandit.schema is None else attributes.table(bandit.schema),
            "dimension": bandit.dimension,
        }

    return page.bandit_page(service, request, "overview", "overview.html", gather, live=window.live)


def _gain(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
    compared = activity.early_means(connection, bandit)
    warm, control = compared.warm, compared.control
    gain = watched_difference(warm, control) if min(warm.n, control.n) > 1 else None
    share, control_name = bandit.configuration.control_share, bandit.configuration.control
    by_round = activity.by_round(connection, bandit)
    return {
        "sentence": gain_sentence(gain, warm, control, share),
        "mismatch": mismatch_sentence(compared, share),
        "served": SERVED[control_name],
        "gain": gain,
        "gain_words": None if gain is None else interval_words(gain),
        "verdict": _verdict(gain),
        "whisker": None if gain is None else _whisker(gain),
        "warm": warm,
        "control": control,
        "early_rounds": COMPARED_ROUNDS,
        "relative": None if gain is None or control.mean <= 0 else gain.mean / control.mean,
        "rounds_chart": _rounds_chart(*by_round),
        "default": bandit.configuration.default_reward,
    }


# What control tasks are served, in words.
SERVED = {
    "cold": "Control tasks start cold.",
    "random": "Control tasks are served any arm at random.",
    "own": "Control tasks are served the application's own choice.",
}


def shadow_sentences(view: ShadowView) -> list[str]:
    """How shadow mode stands; nothing where it never was on."""
    if not view.decisions:
        on = "Shadow mode is on: the application's own choices are served, and none has come yet."
        return [on] if view.on else []
    sentences = [
        f"The service would have chosen the same arm in {percent(view.agreed / view.decisions)} of "
        f"{count(view.decisions)} decisions."
    ]
    if view.cannot is not None:
        return [*sentences, f"What it would have earned cannot be said: {view.cannot}."]
    own, service, difference = (
        interval_words(_interval(each, view.tasks))
        for each in (view.own, view.self_normalised, view.difference)
    )
    return [
        *sentences,
        f"It would have earned {service[0]} per round where the application's choices earned "
        f"{own[0]}: a difference of {difference[0]}, 95 % interval {difference[1]} to "
        f"{difference[2]}, which holds however often you look; {count(view.tasks)} tasks, worth "
        f"{count(view.effective_tasks)} by their weights.",
    ]


def _interval(of: Estimate, n: int) -> Interval:
    assert of.mean is not None
    ends = (of.low, of.high) if of.low is not None and of.high is not None else (-inf, inf)
    return Interval(of.mean, inf, *ends, n)


def gain_sentence(gain: Interval | None, warm: Moments, control: Moments, share: float) -> str:
    """Whether the warm start pays, or why that cannot be said."""
    if share == 0.0 and control.n == 0:
        return (
            "The gain is not measured: no task starts cold. Set control_share, to 0.05 for "
            "instance, and a small share of new tasks becomes the control."
        )
    if gain is None:
        return (
            f"Too little data for the gain yet: it compares the first {COMPARED_ROUNDS} rounds of "
            f"at least two warm and two control tasks that were opened when there was a prior, and "
            f"there are {count(warm.n)} and {count(control.n)}."
        )
    mean, low, high = interval_words(gain)
    tasks = f"{count(warm.n)} tasks against {count(control.n)}"
    if gain.low > 0.0:
        return (
            f"Tasks that start warm earn {mean} more per round than the control, 95 % interval "
            f"{low} to {high}; {tasks}."
        )
    if gain.high < 0.0:
        less, least, most = interval_words(-gain)
        return (
            f"Tasks that start warm earn {less} less per round than the control, 95 % interval "
            f"{least} to {most}; {tasks}."
        )
    return (
        "Warm tasks and the control cannot be told apart yet: the difference is "
        f"{mean} per round, 95 % interval {low} to {high}; {tasks}."
    )


def mismatch_sentence(compared: Compared, share: float) -> str | None:
    """What is wrong with the shares of the groups, if chance does not explain them."""
    doubt = ratio_doubt(compared)
    if doubt >= MISMATCH:
        return None
    found = compared.control.n / (compared.warm.n + compared.control.n)
    return (
        f"{percent(found)} of the tasks that are compared are control, and {percent(share)} were "
        f"asked for: chance makes such a difference once in {count(1.0 / doubt)} times. Something "
        "treats the groups differently before their first reward; do not trust the gain until it "
        "is found."
    )


def _whisker(gain: Interval) -> dict[str, float]:
    """Where the gain, its ends and zero lie."""
    scale = charts.symmetric_scale(np.array([gain.low]), np.array([gain.high]))
    return {
        "zero": scale.at(0.0),
        "low": scale.at(gain.low),
        "at": scale.at(gain.mean),
        "high": scale.at(gain.high),
    }


def _verdict(gain: Interval | None) -> str:
    if gain is None:
        return "unknown"
    if gain.low > 0:
        return "gain"
    return "loss" if gain.high < 0 else "unclear"


def _rounds_chart(warm: list[Moments], control: list[Moments]) -> charts.LineChart | None:
    # Late rounds that few tasks reached would hide the others behind their wide intervals.
    few = [min(_FEW_TASKS, group[0].n) for group in (warm, control)]
    n = max(
        i + 1
        for i in range(len(warm))
        if i == 0 or warm[i].n >= max(few[0], 1) or control[i].n >= max(few[1], 1)
    )
    if n < 2:
        return None
    ticks = sorted({0, *range(4 if n <= 25 else 9, n, 5 if n <= 25 else 10)})
    return charts.line_chart(
        "Mean reward by round of a task, with 95 % intervals",
        [
            _by_round("Control", "control", control[:n], few[1]),
            _by_round("Warm", "warm", warm[:n], few[0]),
        ],
        names=[f"Round {i + 1}" for i in range(n)],
        column="Round",
        ticks=ticks,
        tick_names=[str(i + 1) for i in ticks],
        from_zero=False,
        spell=lambda value: fixed(value, 3),
    )


def _by_round(name: str, kind: str, sums: list[Moments], few: int) -> charts.Series:
    intervals = [s.interval if s.n >= max(few, 1) else None for s in sums]

    def values(of: str) -> Floats:
        numbers = np.array([np.nan if i is None else getattr(i, of) for i in intervals])
        return np.where(np.isfinite(numbers), numbers, np.nan)

    return charts.Series(
        name=name, kind=kind, y=values("mean"), low=values("low"), high=values("high")
    )


def _rates(
    connection: Connection, bandit: BanditRow, window: page.Window, now: float
) -> dict[str, Any]:
    parts = page.stretch(window, now, bandit.created)
    both = activity.activity(
        connection,
        bandit.id,
        start=parts.start,
        width=parts.width,
        n=parts.n,
        names=("opened", "decisions", "rewards", "expired"),
    )
    seconds = np.array(parts.seconds)
    before = np.arange(parts.n) < parts.created_in

    def rate(name: str) -> Floats:
        per_second = (both[0].sums[name] + both[1].sums[name]) / seconds
        return np.where(before, np.nan, per_second)

    return {
        "rate_chart": charts.line_chart(
            f"Decisions and rewards per second over the last {window.name}",
            [
                charts.Series(name="Decisions", kind="decisions", y=rate("decisions")),
                charts.Series(name="Rewards", kind="rewards", y=rate("rewards")),
            ],
            names=parts.names,
            column="Time",
            ticks=parts.ticks,
            tick_names=parts.tick_names,
        ),
        "expired": both[0].total("expired") + both[1].total("expired"),
        "opened": both[0].total("opened") + both[1].total("opened"),
        "decided": both[0].total("decisions") + both[1].total("decisions"),
        "rewarded": both[0].total("rewards") + both[1].total("rewards"),
    }


def _recent(connection: Connection, bandit: BanditRow, now: float) -> dict[str, Any]:
    """Rates over the last minutes, and what waits for a reward."""
    start = int(now // 60) - _RECENT + 1
    names = ("decisions", "rewards")
    both = activity.activity(connection, bandit.id, start=start, width=_RECENT, n=1, names=names)
    seconds = max(min(now - start * 60.0, now - bandit.created), 1.0)
    n, more, oldest = decisions.pending(connection, bandit.id)
    return {
        "decisions_rate": (both[0].total("decisions") + both[1].total("decisions")) / seconds,
        "rewards_rate": (both[0].total("rewards") + both[1].total("rewards")) / seconds,
        "pending": n,
        "pending_more": more,
        "pending_oldest": None if oldest is None else now - oldest,
        "deadline": bandit.configuration.deadline_seconds,
    }
