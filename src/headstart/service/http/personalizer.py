"""Personalizer: rank, reward and activate as Azure Personalizer had them, for its clients.

A client is given the address `…/personalizer/{bandit}`. Its events are decisions, and the id of an
event is their idempotency key. The task is the context's feature `task`; without it, all calls
belong to one task, as in Personalizer. The first action is the caller's own choice.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from headstart.features.values import flat
from headstart.live.outcomes import Outcome
from headstart.service.engine.service import Service
from headstart.service.http.routes import Route, Wait, route
from headstart.service.messages import (
    MOST_ARMS,
    Attributes,
    LooseDecisionRequest,
    Name,
    Names,
    RewardRequest,
    ServiceError,
    TaskName,
    invalid,
    not_found,
)

# Clients add /personalizer to their address, and some a version.
ADDRESSES = tuple(f"/personalizer/{{bandit}}/personalizer{each}" for each in ("", "/{version}"))
EVERYONE = "everyone"
ROUTES: list[Route] = []
_encode = msgspec.json.Encoder().encode


class Action(msgspec.Struct):
    """An item with attributes; without any, it is in the catalogue."""

    id: Name
    features: list[Attributes] | None = None


class RankRequest(msgspec.Struct, rename="camel"):
    """Actions to choose one from."""

    actions: Annotated[list[Action], Meta(min_length=1, max_length=MOST_ARMS)]
    context_features: list[Attributes] | None = None
    excluded_actions: Names | None = None
    event_id: Name | None = None
    defer_activation: bool | None = False


class RankedAction(msgspec.Struct):
    """An action and its probability, which is known for the chosen and the excluded ones."""

    id: str
    probability: float | None


class RankResponse(msgspec.Struct, rename="camel"):
    """The chosen action first, the others in their given order."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class Reward(msgspec.Struct):
    """The reward of an event, as a number."""

    value: float


def refusal(error: ServiceError, _: Mapping[str, str]) -> tuple[int, bytes]:
    """An error in Personalizer's form."""
    status = 400 if error.problem.status == 422 else error.problem.status
    code = {400: "BadRequest", 404: "ResourceNotFound", 500: "InternalServerError"}.get(
        status, error.problem.title.title().replace(" ", "")
    )
    return status, _encode({"error": {"code": code, "message": error.problem.detail}})


async def rank(
    service: Service, wait: Wait, bandit: str, body: RankRequest, version: str = ""
) -> RankResponse:
    """Choose one of the actions."""
    excluded = body.excluded_actions or []
    ids = [action.id for action in body.actions]
    if len(set(ids)) < len(ids):
        raise invalid("actions must have different ids, got one of them more than once")
    try:
        told = flat(body.context_features, "contextFeatures")
        arms = {each.id: flat(each.features, f"features of {each.id!r}") for each in body.actions}
        task = msgspec.convert(told.pop("task", EVERYONE), TaskName)
    except ValueError as error:
        raise invalid(str(error)) from None
    request = LooseDecisionRequest(
        task=task,
        arms={**arms} if any(arms.values()) else ids,
        exclude=excluded,
        own=next((each for each in ids if each not in excluded), None),
        idempotency_key=body.event_id,
        told=told,
        deferred=bool(body.defer_activation),
    )
    (answer,) = await wait(service.decide(bandit, [request]))
    if isinstance(answer, ServiceError):
        raise answer
    chosen = answer.arms[0]
    others = [
        RankedAction(id=each, probability=0.0 if each in excluded else None)
        for each in ids
        if each != chosen.arm
    ]
    return RankResponse(
        ranking=[RankedAction(id=chosen.arm, probability=chosen.propensity), *others],
        event_id=body.event_id or answer.id,
        reward_action_id=chosen.arm,
    )


async def reward(
    service: Service, wait: Wait, bandit: str, event: str, body: Reward, version: str = ""
) -> None:
    """Pay an event's reward; a late or second reward changes nothing."""
    decision = await asyncio.to_thread(service.decision_of_key, bandit, event)
    request = RewardRequest(decision=decision or event, value=body.value)
    (answer,) = await wait(service.reward(bandit, [request]))
    if isinstance(answer, ServiceError):
        raise answer
    if answer.outcome is Outcome.UNKNOWN:
        raise not_found(f"eventId must be one of the last days of bandit {bandit!r}, got {event!r}")
    if answer.outcome is Outcome.OUT_OF_RANGE:
        raise invalid(f"value must be within the bandit's reward_range, got {body.value:g}")


def activate(service: Service, bandit: str, event: str, version: str = "") -> None:
    """Accept that an event's action was shown, which changes nothing: only a reward teaches."""
    if service.decision_of_key(bandit, event) is None:
        service.decision(bandit, event)


def multi_slot(bandit: str, rest: str, version: str = "") -> None:
    """Refuse calls with several slots."""
    raise invalid("rank must be for one slot, got a multi-slot call: send one rank for each slot")


_post = partial(route, "POST", role="decide", to=ROUTES, refusal=refusal)
for _address in ADDRESSES:
    _post(f"{_address}/multislot/{{rest:path}}")(multi_slot)
    _post(f"{_address}/rank", status=201)(rank)
    _post(f"{_address}/events/{{event}}/reward", status=204)(reward)
    _post(f"{_address}/events/{{event}}/activate", status=204)(activate)
