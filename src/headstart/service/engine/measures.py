"""Measures: the state of each bandit, for /metrics."""

from sqlalchemy import Connection

from headstart.service.engine.views import gain_view
from headstart.service.store import bandits, decisions, jobs, sums, tasks

_DAY_SECONDS = 86_400.0

# The measures in words.
MEASURES = {
    "pending": "Decisions that wait for a reward, counted up to 10,000.",
    "prior_version": "The version of the prior.",
    "prior_lag_seconds": "How long the longest waiting task has waited for the prior to count it.",
    "top_item_share": "The share of the item that was shown most often, today and yesterday.",
    "gain": "What warm tasks earn more per round than the control.",
    "gain_low": "The lower end of the gain's 95 % interval, which holds at every look.",
    "gain_high": "The upper end of the gain's 95 % interval, which holds at every look.",
    "control_ratio_p": "How probable the share of control tasks is; below 0.001 it is wrong.",
    "guardrails_broken": "Guardrails that are broken.",
    "paused": "1 while a broken guardrail sends new tasks to the control, else 0.",
    "jobs_failed": "Jobs that failed within the last 24 hours.",
    "shadow": "1 in shadow mode, where the caller's own choice is served, else 0.",
    "shadow_agreement": "The share of shadow decisions that the service would have made too.",
}


def measured(connection: Connection, now: float) -> dict[str, dict[str, float]]:
    """The measures of all bandits by name; unknown ones are left out."""
    found = {}
    for row in bandits.all_bandits(connection):
        gain = gain_view(connection, row)
        in_shadow = row.configuration.shadow
        decided, agreed = sums.agreement(connection, row.id) if in_shadow else (0, 0)
        measures = {
            "pending": decisions.pending(connection, row.id)[0],
            "prior_version": row.prior_version,
            "prior_lag_seconds": prior_lag(connection, row.id, now),
            "top_item_share": sums.top_share(connection, row.id, now),
            "gain": gain.difference,
            "gain_low": gain.low,
            "gain_high": gain.high,
            "control_ratio_p": gain.ratio_p,
            "guardrails_broken": sum(each.status == "broken" for each in gain.guardrails),
            "paused": row.paused is not None,
            "jobs_failed": jobs.n_failed(connection, row.id, since=now - _DAY_SECONDS),
            "shadow": in_shadow,
            "shadow_agreement": agreed / decided if decided else None,
        }
        found[row.name] = {name: float(x) for name, x in measures.items() if x is not None}
    return found


def prior_lag(connection: Connection, bandit: int, now: float) -> float:
    """How many seconds the longest waiting task has waited for the prior to count it."""
    since = tasks.waiting_since(connection, bandit)
    return 0.0 if since is None else max(now - since, 0.0)
