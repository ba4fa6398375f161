"""The table of routes: the whole interface."""

from collections.abc import Callable
from typing import Any

from headstart import __version__
from headstart.service.engine.service import Service
from headstart.service.http.interface.answers import (
    Health,
    HistoryQuery,
    ItemChanges,
    ItemQuery,
    Items,
    Readiness,
)
from headstart.service.http.interface.routing import VERSION, Call, Route, Rows
from headstart.service.messages import (
    BanditConfiguration,
    BanditView,
    DecisionAnswer,
    DecisionRecord,
    DecisionRequest,
    Erased,
    Item,
    ItemChange,
    ItemCount,
    ItemPage,
    Names,
    ObservationAnswer,
    ObservationRequest,
    PriorView,
    RewardAnswer,
    RewardRequest,
    TaskRecord,
    unavailable,
)

_ALL = f"/{VERSION}/bandits"
_ONE = f"{_ALL}/{{bandit}}"
_ITEMS = f"{_ONE}/items"
_TASK = f"{_ONE}/tasks/{{task}}"


def _bandit(work: Callable[[Service, str], Any]) -> Callable[[Call], Any]:
    return lambda call: work(call.service, call.names["bandit"])


def _item_page(call: Call) -> ItemPage:
    query: ItemQuery = call.query
    found = call.service.items(call.names["bandit"], after=query.after, limit=query.limit)
    full = len(found) == query.limit
    return ItemPage(items=found, next=found[-1].id if full else None)


def _patch(call: Call) -> ItemCount:
    """A change that brings everything is an item, which may be new."""
    given: list[ItemChange] = call.body
    items = [
        Item(id=c.id, features=c.features, tags=c.tags)
        if c.features is not None and c.tags is not None
        else c
        for c in given
    ]
    return ItemCount(items=call.service.patch_items(call.names["bandit"], items))


def _ready(call: Call) -> Readiness:
    if not call.service.ready:
        raise unavailable("the service is not ready: it compiles, or its store does not answer")
    return Readiness(ready=True)


HOT = (
    Route(
        method="POST",
        path=f"{_ONE}/decisions",
        name="decide",
        summary="Choose arms for a task, or for a list of tasks.",
        role="decide",
        rows=Rows(
            request=DecisionRequest,
            answer=DecisionAnswer,
            submit=lambda service, bandit, rows: service.decide(bandit, rows),
        ),
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{_ONE}/rewards",
        name="reward",
        summary="Give the reward of a decision, or a list of rewards; each counts once.",
        role="decide",
        rows=Rows(
            request=RewardRequest,
            answer=RewardAnswer,
            submit=lambda service, bandit, rows: service.reward(bandit, rows),
        ),
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{_ONE}/observations",
        name="observe",
        summary="Give the reward of a choice that was made elsewhere, or a list of them.",
        role="decide",
        rows=Rows(
            request=ObservationRequest,
            answer=ObservationAnswer,
            submit=lambda service, bandit, rows: service.observe(bandit, rows),
        ),
        errors=(404, 409),
    ),
)

BANDITS = (
    Route(
        method="GET",
        path=_ALL,
        name="list_bandits",
        summary="All bandits.",
        role="read",
        read=lambda call: call.service.bandits(),
        answer=list[BanditView],
    ),
    Route(
        method="PUT",
        path=_ONE,
        name="put_bandit",
        summary="Create or change a bandit.",
        role="admin",
        body=BanditConfiguration,
        read=lambda call: call.service.put_bandit(call.names["bandit"], call.body),
        answer=BanditView,
        errors=(409,),
    ),
    Route(
        method="GET",
        path=_ONE,
        name="get_bandit",
        summary="A bandit as it is.",
        role="read",
        read=_bandit(lambda service, bandit: service.bandit(bandit)),
        answer=BanditView,
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=_ONE,
        name="delete_bandit",
        summary="Delete a bandit with all its tasks and decisions.",
        role="admin",
        read=_bandit(lambda service, bandit: service.delete_bandit(bandit)),
        status=204,
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{_ONE}/prior",
        name="get_prior",
        summary="What the tasks so far say about the next: the prior, and its history.",
        role="read",
        query=HistoryQuery,
        read=lambda call: call.service.prior(call.names["bandit"], history=call.query.history),
        answer=PriorView,
        errors=(404,),
    ),
)

ITEMS = (
    Route(
        method="GET",
        path=_ITEMS,
        name="list_items",
        summary="The catalogue, page by page.",
        role="read",
        query=ItemQuery,
        read=_item_page,
        answer=ItemPage,
        errors=(404,),
    ),
    Route(
        method="PUT",
        path=_ITEMS,
        name="put_items",
        summary="Replace the whole catalogue.",
        role="admin",
        body=Items,
        read=lambda call: ItemCount(items=call.service.put_items(call.names["bandit"], call.body)),
        answer=ItemCount,
        errors=(404,),
    ),
    Route(
        method="PATCH",
        path=_ITEMS,
        name="patch_items",
        summary="Add items to the catalogue, or change some; what is null stays.",
        role="admin",
        body=ItemChanges,
        read=_patch,
        answer=ItemCount,
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=_ITEMS,
        name="delete_items",
        summary="Remove items by their ids; without a body, all.",
        role="admin",
        body=Names,
        body_optional=True,
        read=lambda call: ItemCount(
            items=call.service.delete_items(call.names["bandit"], call.body)
        ),
        answer=ItemCount,
        errors=(404,),
    ),
)

RECORDS = (
    Route(
        method="GET",
        path=f"{_ONE}/decisions/{{decision}}",
        name="get_decision",
        summary="A decision as it was made: why this arm, and what became of it.",
        role="read",
        read=lambda call: call.service.decision(call.names["bandit"], call.names["decision"]),
        answer=DecisionRecord,
        errors=(404,),
    ),
    Route(
        method="GET",
        path=_TASK,
        name="get_task",
        summary="What is known of a task.",
        role="read",
        read=lambda call: call.service.task(call.names["bandit"], call.names["task"]),
        answer=TaskRecord,
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=_TASK,
        name="erase_task",
        summary="Erase a task and its decisions, from the prior too.",
        role="admin",
        read=lambda call: Erased(
            prior_version=call.service.erase(call.names["bandit"], call.names["task"])
        ),
        answer=Erased,
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{_TASK}/finish",
        name="finish_task",
        summary="Finish a task; rarely needed, since open tasks count as they are.",
        role="decide",
        submit=lambda call: call.service.finish(call.names["bandit"], call.names["task"]),
        status=204,
        errors=(404,),
    ),
)

PROBES = (
    Route(
        method="GET",
        path="/healthz",
        name="health",
        summary="Whether the process answers.",
        role=None,
        read=lambda call: Health(status="ok", version=__version__, interfaces=[VERSION]),
        answer=Health,
    ),
    Route(
        method="GET",
        path="/readyz",
        name="readiness",
        summary="Whether calls are answered: 503 until all is compiled and the store answers.",
        role=None,
        read=_ready,
        answer=Readiness,
        errors=(503,),
    ),
)
