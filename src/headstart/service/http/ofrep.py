"""OFREP: bandits as flags, for the providers of OpenFeature in every language.

The flag is a bandit, the targeting key a task, and the value the item that was chosen. Every
evaluation is a decision; `metadata` has its id, by which the reward is reported at `/v1`.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from headstart.service.engine.service import Service
from headstart.service.http.decoding import Headers
from headstart.service.http.routes import JSON, Route, Text, Wait, route
from headstart.service.messages import (
    Attributes,
    DecisionAnswer,
    LooseDecisionRequest,
    ServiceError,
    invalid,
)

FLAGS = "/ofrep/v1/evaluate/flags"
ROUTES: list[Route] = []
_CODES = {400: "PARSE_ERROR", 404: "FLAG_NOT_FOUND", 422: "INVALID_CONTEXT"}
_FIELDS = ("idempotency_key", "own")  # fields of a decision that a context may have
_encode = msgspec.json.Encoder(order="sorted").encode


class TargetingKeyError(ServiceError):
    """The context does not say for whom the flag is evaluated."""

    def __init__(self) -> None:
        super().__init__(400, "Bad request", "context must have a targetingKey, got none")


class EvaluationRequest(msgspec.Struct):
    """The context of an evaluation; the protocol may add fields to it."""

    context: Attributes = {}


class Evaluated(msgspec.Struct):
    """A flag that was evaluated."""

    key: str
    value: str
    variant: str
    reason: str
    metadata: dict[str, str | float | bool]


class Failed(msgspec.Struct, rename="camel"):
    """A flag that could not be evaluated."""

    key: str
    error_code: str
    error_details: str


def refusal(error: ServiceError, names: Mapping[str, str]) -> tuple[int, bytes]:
    """An error in OFREP's form; wrong values have the one status that it knows."""
    status = error.problem.status
    return 400 if status == 422 else status, _encode(_failed(names.get("bandit", ""), error))


_post = partial(route, "POST", role="decide", to=ROUTES, refusal=refusal)


@_post(f"{FLAGS}/{{bandit}}")
async def evaluate(service: Service, wait: Wait, bandit: str, body: EvaluationRequest) -> Evaluated:
    """Choose an item for the targeting key."""
    (answer,) = await wait(service.decide(bandit, [_request(body.context)]))
    if isinstance(answer, ServiceError):
        raise answer
    return _evaluated(bandit, answer)


@_post(FLAGS)
async def evaluate_all(
    service: Service, wait: Wait, headers: Headers, body: EvaluationRequest
) -> Text:
    """Choose an item of every bandit, unless the caller already has them for this context."""
    request = _request(body.context)
    versions = await asyncio.to_thread(service.versions)
    digest = hashlib.blake2b(_encode([versions, request]), digest_size=16).hexdigest()
    tag = [(b"etag", f'"{digest}"'.encode())]
    if digest.encode() in headers.get(b"if-none-match", b""):
        return Text(b"", JSON, status=304, headers=tag)
    futures = {bandit: service.decide(bandit, [request]) for bandit in versions}
    flags: list[Evaluated | Failed] = []
    for bandit, future in futures.items():
        try:
            (answer,) = await wait(future)
        except ServiceError as error:
            answer = error
        if not isinstance(answer, ServiceError):
            flags.append(_evaluated(bandit, answer))
        elif answer.problem.status < 500:
            flags.append(_failed(bandit, answer))
        else:
            raise answer
    return Text(_encode({"flags": flags}), JSON, headers=tag)


def _request(context: dict[str, Any]) -> LooseDecisionRequest:
    told = dict(context)
    given = {"task": told.pop("targetingKey", None), "told": told}
    if given["task"] in (None, ""):
        raise TargetingKeyError
    given |= {name: told.pop(name) for name in _FIELDS if name in told}
    try:
        return msgspec.convert(given, LooseDecisionRequest)
    except msgspec.ValidationError as error:
        where = str(error).replace("$.task", "$.targetingKey").replace("$.told", "$")
        raise invalid(where.replace("$", "$.context")) from None


def _evaluated(bandit: str, answer: DecisionAnswer) -> Evaluated:
    arm = answer.arms[0]
    known = {"decision": answer.id, "propensity": arm.propensity, "control": answer.control}
    return Evaluated(
        key=bandit,
        value=arm.arm,
        variant=arm.arm,
        reason="SPLIT" if answer.control else "TARGETING_MATCH",
        metadata={name: value for name, value in known.items() if value is not None},
    )


def _failed(bandit: str, error: ServiceError) -> Failed:
    code = _CODES.get(error.problem.status, "GENERAL")
    if isinstance(error, TargetingKeyError):
        code = "TARGETING_KEY_MISSING"
    return Failed(key=bandit, error_code=code, error_details=error.problem.detail)
