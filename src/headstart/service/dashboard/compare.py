"""Compare: two bandits side by side, in numbers and in the settings that differ."""

from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.intervals import watched_difference
from headstart.service.dashboard import page, settings
from headstart.service.dashboard.formats import MISSING, count, number, percent, rate
from headstart.service.engine.records import guardrail_views
from headstart.service.engine.service import Service
from headstart.service.store.queries import activity, bandits, item_days
from headstart.service.store.queries.bandits import BanditRow

_DAYS = 7


def compare(service: Service, request: Request) -> Response:
    """`GET /compare`: a bandit with another, over some days."""
    now, other = service.clock(), request.query_params.get("with", "")
    days = page.chosen_days(request, now) or page.latest_days(now, _DAYS)

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        names = [row.name for row in bandits.all_bandits(connection) if row.name != bandit.name]
        if not names:
            return {"other": None, "others": [], "days": days}
        second = bandits.named(connection, other or names[0])
        both = [bandit, second]
        tables = [settings.table(row.configuration) for row in both]
        return {
            "other": second.name,
            "others": names,
            "days": days,
            "rows": _joined([_numbers(connection, row, days) for row in both]),
            "settings": [
                (left["label"], left["value"], right["value"])
                for left, right in zip(*tables, strict=True)
                if left["value"] != right["value"]
            ],
        }

    return page.bandit_page(service, request, "overview", "compare.html", gather, live=30)


def _joined(tables: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    return [(label, value, tables[1][label]) for label, value in tables[0].items()]


def _numbers(connection: Connection, bandit: BanditRow, days: page.Days) -> dict[str, str]:
    """How a bandit stands, by label: since its creation, then over days."""
    compared = activity.early_means(connection, bandit)
    warm, control = compared.warm, compared.control
    gain = watched_difference(warm, control) if min(warm.n, control.n) > 1 else None
    guardrails = guardrail_views(connection, bandit)
    broken = [each.name for each in guardrails if each.status == "broken"]
    groups = activity.activity(
        connection,
        bandit.id,
        start=1440 * days.first,
        width=1440 * days.n,
        n=1,
        names=("opened", "decisions", "rewards", "reward_sum", "expired"),
    )
    sums = {name: sum(group.total(name) for group in groups) for name in groups[0].sums}
    shown = item_days.sums(connection, bandit.id, days.first, days.last)
    top = item_days.top_of({item: one.shown for item, one in shown.items()})
    words = MISSING
    if gain is not None:
        of = rate(gain)
        words = f"{of.mean} {of.unit}, {of.low} to {of.high}"
    return {
        "Gain of the warm start, 95 % interval": words,
        "Mean reward of warm tasks": number(warm.mean),
        "Mean reward of the control": number(control.mean),
        "Tasks compared, warm and control": f"{count(warm.n)} and {count(control.n)}",
        "Guardrails": ("broken: " + ", ".join(broken))
        if broken
        else f"{count(len(guardrails))}, none is broken"
        if guardrails
        else "none",
        "Version of the prior": count(bandit.prior_version),
        "Decisions": count(sums["decisions"]),
        "Rewards": count(sums["rewards"]),
        "Mean reward": number(sums["reward_sum"] / sums["rewards"] if sums["rewards"] else None),
        "New tasks": count(sums["opened"]),
        "Expired": count(sums["expired"]),
        "Items shown": count(len(shown)),
        "Top item": MISSING if top is None else f"{top.item}, {percent(top.share)}",
    }
