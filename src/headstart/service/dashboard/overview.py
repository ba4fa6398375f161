"""Overview: whether the warm start pays, what guards it, and how much the service does."""

from math import inf
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headstart.arrays import Floats
from headstart.intervals import Interval, Moments, watched_difference
from headstart.service.dashboard import attributes, charts, page
from headstart.service.dashboard.formats import (
    MISSING,
    count,
    interval_words,
    number,
    percent,
    plain,
    rate,
)
from headstart.service.dashboard.page import link
from headstart.service.engine.service import Service
from headstart.service.engine.views import MISMATCH, guardrail_views, ratio_doubt, shadow_view
from headstart.service.messages import BanditConfiguration, GuardrailView, ShadowView
from headstart.service.store import decisions, sums
from headstart.service.store.bandits import BanditRow
from headstart.service.store.sums import COMPARED_ROUNDS, Compared

# The parts over which "now" is measured, in minutes.
_RECENT = 5
_FEW_TASKS = 5
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
        guardrails = guardrail_views(connection, bandit)
        return {
            **_gain(connection, bandit),
            "begun": sums.begun(connection, bandit.id),
            "guardrails": [guardrail_row(each) for each in guardrails],
            "broken": [each.name for each in guardrails if each.status == "broken"],
            "shadow": shadow_sentence(view),
            "shadow_on": view.on,
            **_rates(connection, bandit, window, now),
            **_recent(connection, bandit, now),
            "window": window,
            "windows": page.WINDOWS.values(),
            "attributes": [] if bandit.schema is None else attributes.table(bandit.schema),
            "settings": settings_of(bandit.configuration),
            "dimension": bandit.dimension,
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


def guardrail_row(view: GuardrailView) -> dict[str, Any]:
    """A guardrail in words."""
    known = view.difference is not None and view.low is not None and view.high is not None
    words = [MISSING] * 3
    if known:
        assert view.difference is not None
        assert view.low is not None
        assert view.high is not None
        words[:] = interval_words(Interval(view.difference, inf, view.low, view.high, 2))
    bound = f"by more than {plain(view.margin)}" if view.margin else "at all"
    return {
        "view": view,
        "bound": f"not {view.worse} {bound}",
        "difference": words[0],
        "interval": f"{words[1]} to {words[2]}" if known else MISSING,
    }


def _gain(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
    compared = sums.early_means(connection, bandit)
    warm, control = compared.warm, compared.control
    gain = watched_difference(warm, control) if min(warm.n, control.n) > 1 else None
    share, control_name = bandit.configuration.control_share, bandit.configuration.control
    by_round = sums.by_round(connection, bandit)
    return {
        "sentence": gain_sentence(gain, warm, control, share),
        "mismatch": mismatch_sentence(compared, share),
        "served": _SERVED[control_name],
        "gain": gain,
        "gain_words": None if gain is None else rate(gain),
        "verdict": _verdict(gain),
        "whisker": None if gain is None else _whisker(gain),
        "warm": warm,
        "control": control,
        "early_rounds": COMPARED_ROUNDS,
        "relative": None if gain is None or control.mean <= 0 else gain.mean / control.mean,
        "rounds_chart": _rounds_chart(*by_round),
        "default": bandit.configuration.default_reward,
    }


def shadow_sentence(view: ShadowView) -> str | None:
    """How shadow mode stands; None where it never was on."""
    if view.decisions:
        return (
            f"The service would have chosen the same arm in "
            f"{percent(view.agreed / view.decisions)} of {count(view.decisions)} decisions."
        )
    return "The application's own choices are served, and none has come yet." if view.on else None


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
    shown = rate(gain)
    tasks = f"{count(warm.n)} tasks against {count(control.n)}"
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
    """What happened in a window; the chart leaves out the part that has not ended."""
    parts = page.stretch(window, now, bandit.created)
    both = sums.activity(connection, bandit.id, start=parts.start, width=parts.width, n=parts.n + 1)
    found = {name: both[0].sums[name] + both[1].sums[name] for name in sums.COUNTS}
    total = {name: float(each.sum()) for name, each in found.items()}
    before = np.arange(parts.n) < parts.created_in

    def per_second(name: str) -> Floats:
        return np.where(before, np.nan, found[name][:-1] / (60.0 * parts.width))

    mean = total["reward_sum"] / total["rewards"] if total["rewards"] else None
    return {
        "totals": [
            ("Decisions", count(total["decisions"]), ""),
            ("Rewards", count(total["rewards"]), ""),
            ("Mean reward", number(mean), ""),
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
