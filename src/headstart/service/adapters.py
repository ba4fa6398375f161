"""OFREP and Azure Personalizer before a service: an application that calls its interface, `/v1`.

    HEADSTART_ADDRESS=http://127.0.0.1:8000 uvicorn --factory headstart.service.adapters:application

A caller's key goes on to the service. To know which attributes a bandit has, the application reads
the bandit's configuration by a key of its own with the role `read`, HEADSTART_READ_KEY.
"""

import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headstart.features.values import flat

EVERYONE = "everyone"  # the task of Personalizer's calls that name none
# How long a bandit's configuration is taken to be the same, and how many events are remembered.
_KNOWN_SECONDS, _MOST_EVENTS = 10.0, 100_000
_KEYS = ("x-api-key", "ocp-apim-subscription-key")  # the headers of OFREP and of Personalizer
_CODES = {400: "PARSE_ERROR", 404: "FLAG_NOT_FOUND", 422: "INVALID_CONTEXT"}

Endpoint = Callable[[Request], Awaitable[Response]]


class RefusedError(Exception):
    """A call that the service, or this application, refuses."""

    def __init__(self, status: int, detail: str, code: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.code = status, detail, code


class Interface:
    """The interface of a service, called with the key of the caller."""

    def __init__(self, http: httpx.AsyncClient, read_key: str | None) -> None:
        self._http = http
        self._read_key = read_key
        self._sides: dict[str, tuple[float, dict[str, Any]]] = {}

    async def call(self, key: str | None, method: str, *names: str, body: object = None) -> Any:
        """The answer of a call below /v1/bandits."""
        path = "/".join(["/v1/bandits", *(quote(name, safe="") for name in names)])
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        try:
            found = await self._http.request(method, path, json=body, headers=headers)
        except httpx.TransportError as error:
            raise RefusedError(503, f"the service does not answer: {error}") from None
        answer = found.json() if found.content else None
        if found.status_code >= 300:
            raise RefusedError(found.status_code, str((answer or {}).get("detail", "")))
        return answer

    async def configuration(self, bandit: str, key: str | None) -> dict[str, Any]:
        """The configuration of a bandit, as of the last seconds."""
        when, known = self._sides.get(bandit, (0.0, {}))
        if not known or time.monotonic() - when > _KNOWN_SECONDS:
            view = await self.call(self._read_key or key, "GET", bandit)
            known = view["configuration"]
            self._sides[bandit] = time.monotonic(), known
        return known

    async def decide(
        self,
        bandit: str,
        key: str | None,
        known: Mapping[str, Any],
        arms: Mapping[str, dict[str, Any]] | list[str] | None = None,
        **given: object,
    ) -> Any:
        """A decision by what is known of context and task together; unknown names are left out."""
        settings = await self.configuration(bandit, key)
        schema = settings.get("features")
        body = {name: value for name, value in given.items() if value is not None}
        if schema is not None:
            parts = {
                each["name"]: part
                for part in ("item", "context", "about")
                for each in schema.get(part, ())
            }
            for part in ("context", "about"):
                body[part] = {n: value for n, value in known.items() if parts.get(n) == part}
            if isinstance(arms, Mapping):
                arms = {
                    arm: {n: value for n, value in row.items() if parts.get(n) == "item"}
                    for arm, row in arms.items()
                }
        elif (names := settings.get("about_names")) and all(name in known for name in names):
            body["about"] = [known[name] for name in names]
        if arms is not None:
            body["arms"] = arms
        return await self.call(key, "POST", bandit, "decisions", body=body)


class Events:
    """The decisions of Personalizer's events, by bandit and the caller's id; the latest ones."""

    def __init__(self) -> None:
        self._decisions: OrderedDict[tuple[str, str], str] = OrderedDict()

    def note(self, bandit: str, event: str, decision: str) -> None:
        """Remember an event."""
        self._decisions[bandit, event] = decision
        if len(self._decisions) > _MOST_EVENTS:
            self._decisions.popitem(last=False)

    def decision(self, bandit: str, event: str) -> str:
        """The decision of an event; an id that was not noted is the decision's own."""
        return self._decisions.get((bandit, event), event)


class Adapters:
    """The calls of other protocols."""

    def __init__(self, interface: Interface) -> None:
        self._interface = interface
        self._events = Events()

    async def evaluate(self, request: Request) -> Response:
        """OFREP: an item of one bandit for the targeting key; the caller asks to show it."""
        bandit = request.path_params["bandit"]
        body = await _json(request)
        context = body.get("context") if isinstance(body, dict) else None
        known = _flat(context if context is not None else {}, "context")
        task = known.pop("targetingKey", None)
        if task in (None, ""):
            raise RefusedError(
                400, "context must have a targetingKey, got none", "TARGETING_KEY_MISSING"
            )
        given = {name: known.pop(name, None) for name in ("idempotency_key", "own")}
        answer = await self._interface.decide(bandit, _key(request), known, task=task, **given)
        arm = answer["arms"][0]
        found = {
            "decision": answer["id"],
            "propensity": arm["propensity"],
            "control": answer["control"],
        }
        return JSONResponse(
            {
                "key": bandit,
                "value": arm["arm"],
                "variant": arm["arm"],
                "reason": "SPLIT" if answer["control"] else "TARGETING_MATCH",
                "metadata": {name: value for name, value in found.items() if value is not None},
            }
        )

    async def rank(self, request: Request) -> Response:
        """Personalizer: one of the actions. The first is the caller's own choice."""
        bandit, body = request.path_params["bandit"], await _json(request)
        actions = body.get("actions") if isinstance(body, dict) else None
        if not isinstance(actions, list) or not actions or not all(map(_is_action, actions)):
            raise RefusedError(422, "actions must be at least one action with an id")
        ids = [action["id"] for action in actions]
        if len(set(ids)) < len(ids):
            raise RefusedError(422, "actions must have different ids, got one more than once")
        known = _flat(body.get("contextFeatures"), "contextFeatures")
        rows = {each["id"]: _flat(each.get("features"), each["id"]) for each in actions}
        excluded, event = body.get("excludedActions") or [], body.get("eventId")
        bare = not any(rows.values())
        key = _key(request)
        if body.get("deferActivation"):
            settings = await self._interface.configuration(bandit, key)
            if settings.get("default_reward") is not None:
                raise RefusedError(
                    422,
                    "a decision may be deferred only without a default_reward, which it would "
                    f"count as, got {settings['default_reward']:g}",
                )
        answer = await self._interface.decide(
            bandit,
            key,
            {name: value for name, value in known.items() if name != "task"},
            ids if bare else rows,
            task=known.get("task", EVERYONE),
            exclude=excluded,
            own=next((each for each in ids if each not in excluded), None),
            idempotency_key=event,
        )
        chosen = answer["arms"][0]
        if event is not None:
            self._events.note(bandit, event, answer["id"])
        others = [
            {"id": each, "probability": 0.0 if each in excluded else None}
            for each in ids
            if each != chosen["arm"]
        ]
        first = {"id": chosen["arm"], "probability": chosen["propensity"]}
        found = {
            "ranking": [first, *others],
            "eventId": event or answer["id"],
            "rewardActionId": chosen["arm"],
        }
        return JSONResponse(found, 201)

    async def reward(self, request: Request) -> Response:
        """Personalizer: an event's reward; a late or second one changes nothing."""
        bandit, event = (request.path_params[name] for name in ("bandit", "event"))
        body = await _json(request)
        value = body.get("value") if isinstance(body, dict) else None
        decision = self._events.decision(bandit, event)
        paid = {"decision": decision, "value": value}
        answer = await self._interface.call(_key(request), "POST", bandit, "rewards", body=paid)
        if answer["outcome"] == "unknown":
            raise RefusedError(404, f"eventId must be a recent one of {bandit!r}, got {event!r}")
        if answer["outcome"] == "out_of_range":
            raise RefusedError(422, f"value must be within the bandit's reward_range, got {value}")
        return Response(status_code=204)


async def activate(_: Request) -> Response:
    """Personalizer: an event's action was shown, which changes nothing: a reward teaches."""
    return Response(status_code=204)


async def multi_slot(_: Request) -> Response:
    """Personalizer: calls with several slots are refused."""
    raise RefusedError(422, "rank must be for one slot, got a multi-slot call")


def application(address: str | None = None, *, read_key: str | None = None) -> Starlette:
    """The application; without arguments, by the environment."""
    address = address or os.environ.get("HEADSTART_ADDRESS", "http://127.0.0.1:8000")
    http = httpx.AsyncClient(base_url=address, timeout=30.0)
    adapters = Adapters(Interface(http, read_key or os.environ.get("HEADSTART_READ_KEY")))
    flag = _guarded(adapters.evaluate, _flag_error)
    routes = [Route("/ofrep/v1/evaluate/flags/{bandit}", flag, methods=["POST"])]
    for version in ("", "/{version}"):
        for path, endpoint in (
            ("multislot/{rest:path}", multi_slot),
            ("rank", adapters.rank),
            ("events/{event:path}/reward", adapters.reward),
            ("events/{event:path}/activate", activate),
        ):
            address = f"/personalizer/{{bandit}}/personalizer{version}/{path}"
            routes.append(Route(address, _guarded(endpoint, _rank_error), methods=["POST"]))

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with http:
            yield

    return Starlette(routes=routes, lifespan=running)


def _guarded(endpoint: Endpoint, refusal: Callable[[Request, RefusedError], Response]) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except RefusedError as error:
            return refusal(request, error)

    return answer


def _flag_error(request: Request, error: RefusedError) -> Response:
    """An error in OFREP's form; wrong values have the one status that it knows."""
    code = error.code or _CODES.get(error.status, "GENERAL")
    found = {"key": request.path_params["bandit"], "errorCode": code, "errorDetails": error.detail}
    return JSONResponse(found, 400 if error.status == 422 else error.status)


def _rank_error(_: Request, error: RefusedError) -> Response:
    """An error in Personalizer's form."""
    status = 400 if error.status == 422 else error.status
    code = {400: "BadRequest", 401: "Unauthorized", 404: "ResourceNotFound"}.get(status, "Error")
    return JSONResponse({"error": {"code": code, "message": error.detail}}, status)


def _key(request: Request) -> str | None:
    """The key of a caller."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and text:
        return text.strip()
    return next((request.headers[name] for name in _KEYS if name in request.headers), None)


async def _json(request: Request) -> Any:
    try:
        return msgspec.json.decode(await request.body())
    except msgspec.DecodeError as error:
        raise RefusedError(400, f"the body must be JSON, and it is not: {error}") from None


def _flat(row: object, what: str) -> dict[str, Any]:
    try:
        return flat(row, what)
    except ValueError as error:
        raise RefusedError(422, str(error)) from None


def _is_action(action: object) -> bool:
    return isinstance(action, dict) and isinstance(action.get("id"), str)
