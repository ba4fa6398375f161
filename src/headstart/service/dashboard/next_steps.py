"""Next steps: what a bandit still lacks, and the commands that give it."""

import json
import shlex
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection

from headstart.features import Category, Date, Flag, Number, Tags
from headstart.features.attributes import Attribute
from headstart.service.dashboard.settings import changed
from headstart.service.store.queries.bandits import BanditRow, item_ids

_SHARE = 0.05
_MOST_NUMBERS = 20  # of an example


@dataclass(frozen=True, kw_only=True)
class Step:
    """Something to do, why, and the command."""

    title: str
    why: str
    command: str
    done: bool


def next_steps(
    connection: Connection, bandit: BanditRow, begun: tuple[bool, bool], base: str, key: bool
) -> list[Step]:
    """All steps of a bandit that lacks something, in their order; none if it lacks nothing.

    begun: whether there was a decision, and a reward. base: the address of the service. key:
    whether calls need one.
    """
    decided, rewarded = begun
    ids = item_ids(connection, bandit.id)
    settings = bandit.configuration
    address = f"{base}v1/bandits/{quote(bandit.name, safe='')}"
    share = {**changed(settings), "control_share": _SHARE}
    steps = [
        Step(
            title="Fill the catalogue",
            why="Items are what the service chooses from. A decision may bring its arms instead.",
            command=_curl("PUT", f"{address}/items", [_item(bandit)], key),
            done=bool(ids) or decided,
        ),
        Step(
            title="Ask for a decision",
            why="The first decision of a name opens a task. The answer has the arm and an id.",
            command=_curl("POST", f"{address}/decisions", _decision(bandit, ids), key),
            done=decided,
        ),
        Step(
            title="Send its reward",
            why="The task learns from it at once, and the prior for the next tasks within seconds.",
            command=_curl("POST", f"{address}/rewards", {"decision": "ID", "value": 1.0}, key),
            done=rewarded,
        ),
        Step(
            title="Keep a control",
            why="A few tasks that do not start warm show what the warm start is worth.",
            command=_curl("PUT", address, share, key),
            done=settings.control_share > 0.0 or settings.shadow,
        ),
    ]
    return [] if all(step.done for step in steps) else steps


def _curl(method: str, address: str, body: object, key: bool) -> str:
    lines = [
        f"curl -X {method} {shlex.quote(address)}",
        "-H 'Content-Type: application/json'",
        *(['-H "Authorization: Bearer $KEY"'] if key else []),
        f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}",
    ]
    return " \\\n  ".join(lines)


def _item(bandit: BanditRow) -> dict[str, Any]:
    """An item such as the bandit takes."""
    if bandit.schema is not None:
        return {"id": "item-1", "attributes": {a.name: _example(a) for a in bandit.schema.item}}
    if bandit.dimension > _MOST_NUMBERS:
        return {"id": "item-1", "features": [1.0, f"… {bandit.dimension} numbers"]}
    return {"id": "item-1", "features": [1.0] + [0.0] * (bandit.dimension - 1)}


def _decision(bandit: BanditRow, ids: list[str]) -> dict[str, Any]:
    """A decision such as the bandit takes."""
    settings, item = bandit.configuration, _item(bandit)
    body: dict[str, Any] = {"task": "user-1"}
    if not ids:
        body["arms"] = {item["id"]: item.get("attributes") or item.get("features")}
    if settings.about_names:
        body["about"] = [0.0] * len(settings.about_names)
    if settings.shadow or settings.control == "own":
        body["own"] = ids[0] if ids else item["id"]
    return body


def _example(attribute: Attribute) -> object:
    """A value of an attribute."""
    if isinstance(attribute, Category):
        return attribute.levels[0] if attribute.levels else "a"
    if isinstance(attribute, Tags):
        return [attribute.levels[0] if attribute.levels else "a"]
    if isinstance(attribute, Flag):
        return True
    if isinstance(attribute, Date):
        return "2026-03-01"
    return 1.0 if isinstance(attribute, Number) else [1.0] * len(attribute.columns)
