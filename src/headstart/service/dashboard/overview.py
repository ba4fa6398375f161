"""Overview: whether the warm start pays, what guards it, and how much the service does."""

from math import inf
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headstart.arrays import Floats
from headstart.intervals import Interval, Moments
from headstart.intervals import rate as interval_of_mean
from headstart.service.dashboard import charts, page
from headstart.service.dashboard.formats import (
    MISSING,
    count,
    day,
    interval_words,
    number,
    percent,
    plain,
    rate,
    span,
)
from headstart.service.dashboard.page import link
from headstart.service.engine.service import Service
from headstart.service.engine.views import MISMATCH, gain_view, shadow_view
from headstart.service.messages import (
    BanditConfiguration,
    Comparison,
    Gain,
    GuardrailView,
    LeftOut,
    ShadowView,
)
from headstart.service.store import decisions, sums
from headstart.service.store.bandits import BanditRow

# The parts over which "now" is measured, in minutes.
_RECENT = 5
_FEW_TASKS = 5
# An open gain that needs longer than this is called small.
_NOT_SOON_DAYS = 365.0
# What control tasks are served, in words.
_SERVED = {
    "cold": "Control tasks start cold.",
    "own": "Control tasks are served the application's own choice.",
}
# Rewards that were not learned, and what many of them mean.
_REFUSED = {
    "duplicates": ("Duplicates", "the same reward again: retries"),
    "conflicts": ("Conflicts", "another value; the first stays"),
    "unknown": ("Unknown", "no such decision"),
    "late": ("Late", "their decisions had expired"),
    "out_of_range": ("Out of range", "not learned"),
}


def overview(service: Service, request: Request) -> Response:
    """`GET /`."""
    now = service.clock()
    window = page.chosen_window(request)

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        view = shadow_view(connection, bandit)
        return {
            **_gain(connection, bandit),
            "begun": sums.begun(connection, bandit.id),
            "shadow": shadow_sentence(view),
            "shadow_on": view.on,
            **_rates(connection, bandit, window, now),
            **_recent(connection, bandit, now),
            "window": window,
            "windows": page.WINDOWS.values(),
            "settings": settings_of(bandit.configuration),
        }

    return page.bandit_page(service, request, "overview", "overview.html", gather, live=window.live)


def resume(service: Service, form: dict[str, str]) -> Response:
    """`POST /resume`: new tasks start warm again."""
    bandit = form.get("bandit", "")
    service.resume(bandit)
    return RedirectResponse(link("/", bandit=bandit, notice="resumed"), 303)


def switch_over(service: Service, form: dict[str, str]) -> Response:
    """`POST /shadow/end`: the service's own choices are served."""
    bandit = form.get("bandit", "")
    service.end_shadow(bandit)
    return RedirectResponse(link("/", bandit=bandit, notice="switched"), 303)


def interval_of(view: Comparison) -> Interval | None:
    """The interval of a difference, if it is known."""
    if view.difference is None or view.low is None or view.high is None:
        return None
    n = view.warm_tasks + view.control_tasks
    return Interval(view.difference, inf, view.low, view.high, n)


def guardrail_row(view: GuardrailView) -> dict[str, Any]:
    """A guardrail in words."""
    known = interval_of(view)
    words = [MISSING] * 3 if known is None else interval_words(known)
    bound = f"by more than {plain(view.margin)}" if view.margin else "at all"
    return {
        "view": view,
        "bound": f"not {view.worse} {bound}",
        "difference": words[0],
        "interval": MISSING if known is None else f"{words[1]} to {words[2]}",
    }


def _gain(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
    view, settings = gain_view(connection, bandit), bandit.configuration
    gain = interval_of(view)
    by_round = sums.by_round(connection, bandit)
    return {
        "guardrails": [guardrail_row(each) for each in view.guardrails],
        "broken": [each.name for each in view.guardrails if each.status == "broken"],
        "sentence": gain_sentence(view, settings.control_share),
        "outlook": outlook_sentence(view),
        "left_out": left_out_sentence(view.left_out),
        "mismatch": mismatch_sentence(view, settings.control_share),
        "served": _SERVED[settings.control],
        "gain": gain,
        "gain_words": None if gain is None else rate(gain),
        "verdict": _verdict(gain),
        "whisker": None if gain is None else _whisker(gain),
        "warm_mean": view.warm_mean,
        "control_mean": view.control_mean,
        "early_rounds": view.rounds,
        "rounds_chart": _rounds_chart(*by_round, settings.reward_range),
        "days_chart": _days_chart(view),
        "default": settings.default_reward,
    }


def shadow_sentence(view: ShadowView) -> str | None:
    """How shadow mode stands; None where it never was on."""
    if view.decisions:
        return (
            f"The service would have chosen the same arm in "
            f"{percent(view.agreed / view.decisions)} of {count(view.decisions)} decisions."
        )
    return "The application's own choices are served, and none has come yet." if view.on else None


def gain_sentence(view: Gain, share: float) -> str:
    """Whether the warm start pays, or why that cannot be said."""
    gain = interval_of(view)
    if share == 0.0 and view.control_tasks == 0:
        return (
            "The gain is not measured: no task starts cold. Set control_share, to 0.05 for "
            "instance, and a small share of new tasks becomes the control."
        )
    if gain is None:
        return (
            f"Too little data for the gain yet: it compares the first {view.rounds} rounds of at "
            "least two warm and two control tasks that were opened when there was a prior, and "
            f"there are {count(view.warm_tasks)} and {count(view.control_tasks)}."
        )
    shown = rate(gain)
    tasks = f"{count(view.warm_tasks)} tasks against {count(view.control_tasks)}"
    if gain.low > 0.0:
        return (
            f"Tasks that start warm earn {shown.mean} more {shown.unit} than the control, 95 % "
            f"interval {shown.low} to {shown.high}; {tasks}."
        )
    if gain.high < 0.0:
        less = rate(-gain)
        return (
            f"Tasks that start warm earn {less.mean} less {less.unit} than the control, 95 % "
            f"interval {less.low} to {less.high}; {tasks}."
        )
    return (
        "Warm tasks and the control cannot be told apart yet: the difference is "
        f"{shown.mean} {shown.unit}, 95 % interval {shown.low} to {shown.high}; {tasks}."
    )


def outlook_sentence(view: Gain) -> str | None:
    """When an open difference will be decided."""
    if view.tasks_to_go is None or view.days_to_go is None:
        return None
    if view.days_to_go > _NOT_SOON_DAYS:
        return "At this difference it will not be decided within a year: it is small, if any."
    return (
        f"If the difference stays as it is, {count(view.tasks_to_go)} more tasks decide it: "
        f"{span(view.days_to_go * sums.DAY_SECONDS)} at the pace so far."
    )


def left_out_sentence(view: LeftOut) -> str | None:
    """How many tasks the gain leaves out, and why."""
    reasons = {
        "opened before there was a prior": view.no_prior,
        "opened while no task started cold": view.no_control,
        "opened in shadow mode": view.shadow,
        "compared with another control": view.other_control,
    }
    words = [f"{count(n)} {reason}" for reason, n in reasons.items() if n]
    return f"Left out: {', '.join(words)}." if words else None


def mismatch_sentence(view: Gain, share: float) -> str | None:
    """What is wrong with the shares of the groups, if chance does not explain them."""
    if view.ratio_p >= MISMATCH or view.control_share is None:
        return None
    return (
        f"{percent(view.control_share)} of the tasks that are compared are control, and "
        f"{percent(share)} were asked for: chance makes such a difference once in "
        f"{count(1.0 / view.ratio_p)} times. Something treats the groups differently before their "
        "first reward; do not trust the gain until it is found."
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


def _days_chart(view: Gain) -> charts.LineChart | None:
    """The gain as it was known on each day."""
    if len(view.days) < 2:
        return None
    differences, lows, highs = (
        np.array([getattr(each, name) for each in view.days])
        for name in ("difference", "low", "high")
    )
    names = [f"{each.day:%-d %b %Y}" for each in view.days]
    ticks = sorted({0, len(names) // 2, len(names) - 1})
    return charts.line_chart(
        "The gain as it was known at the end of each day, with its 95 % interval",
        [charts.Series(name="Gain", kind="warm", y=differences, low=lows, high=highs)],
        names=names,
        column="Day",
        ticks=ticks,
    )


def _rounds_chart(
    warm: list[Moments], control: list[Moments], bounds: tuple[float, float] | None
) -> charts.LineChart | None:
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
            _by_round("Control", "control", control[:n], few[1], bounds),
            _by_round("Warm", "warm", warm[:n], few[0], bounds),
        ],
        names=[f"Round {i + 1}" for i in range(n)],
        column="Round",
        ticks=ticks,
        tick_names=[str(i + 1) for i in ticks],
        from_zero=False,
    )


def _by_round(
    name: str, kind: str, sums: list[Moments], few: int, bounds: tuple[float, float] | None
) -> charts.Series:
    intervals = [interval_of_mean(s) if s.n >= max(few, 1) else None for s in sums]

    def values(of: str) -> Floats:
        numbers = np.array([np.nan if i is None else getattr(i, of) for i in intervals])
        return np.where(np.isfinite(numbers), numbers, np.nan)

    low, high = values("low"), values("high")
    if bounds is not None:  # no mean is outside of what rewards can be
        low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    return charts.Series(name=name, kind=kind, y=values("mean"), low=low, high=high)


def _rates(
    connection: Connection, bandit: BanditRow, window: page.Window, now: float
) -> dict[str, Any]:
    """What happened in a window; the chart leaves out the part that has not ended."""
    parts = page.stretch(window, now, bandit.created)
    both = sums.activity(connection, bandit.id, start=parts.start, width=parts.width, n=parts.n + 1)
    found = {name: both[0].sums[name] + both[1].sums[name] for name in sums.COUNTS}
    total = {name: float(each.sum()) for name, each in found.items()}
    before = np.arange(parts.n) < parts.created_in

    def per_second(name: str) -> Floats:
        return np.where(before, np.nan, found[name][:-1] / (60.0 * parts.width))

    first = int((now - 60.0 * window.width * window.n) // sums.DAY_SECONDS)
    mean = sums.earned(connection, bandit.id, first).mean
    return {
        "totals": [
            ("Decisions", count(total["decisions"]), ""),
            ("Rewards", count(total["rewards"]), ""),
            ("Mean reward", number(mean), f"decisions since {day(first * sums.DAY_SECONDS)}"),
            ("New tasks", count(total["opened"]), ""),
            ("Expired", count(total["expired"]), ""),
            *(
                (label, count(total[name]), note)
                for name, (label, note) in _REFUSED.items()
                if total[name]
            ),
        ],
        "rate_chart": charts.line_chart(
            f"Decisions and rewards per second, last {window.name}",
            [
                charts.Series(name="Decisions", kind="decisions", y=per_second("decisions")),
                charts.Series(name="Rewards", kind="rewards", y=per_second("rewards")),
            ],
            names=parts.names,
            column="Time",
            ticks=parts.ticks,
            tick_names=parts.tick_names,
        ),
    }


def settings_of(configuration: BanditConfiguration) -> str:
    """The settings that are not at their defaults, as JSON."""
    given: dict[str, Any] = msgspec.to_builtins(configuration)
    usual: dict[str, Any] = msgspec.to_builtins(BanditConfiguration())
    changed = {name: value for name, value in given.items() if value != usual[name]}
    return msgspec.json.format(msgspec.json.encode(changed), indent=2).decode()


def _recent(connection: Connection, bandit: BanditRow, now: float) -> dict[str, Any]:
    """Rates over the last minutes, and what waits for a reward."""
    start = int(now // 60) - _RECENT + 1
    names = ("decisions", "rewards")
    both = sums.activity(connection, bandit.id, start=start, width=_RECENT, n=1, names=names)
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
