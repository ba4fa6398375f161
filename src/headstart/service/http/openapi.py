"""OpenAPI: the description of the interface, from the table of routes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from headstart import __version__
from headstart.service.http.routes import VERSION, Route
from headstart.service.messages import LONGEST_NAME, MOST_ROWS, Problem

_REF = "#/components/schemas/{name}"
_PHRASES = {
    200: "Done.",
    202: "Begun.",
    204: "Done.",
    400: "The body is not JSON.",
    401: "The key is missing or wrong.",
    403: "The key has not the role.",
    404: "There is no such thing.",
    409: "The request contradicts what is there.",
    413: "The body is too large.",
    415: "The body is not said to be JSON.",
    422: "Something in the request is wrong.",
    503: "The service cannot answer now; the request may be sent again.",
}
_NAME_IN_PATH = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}


def describe(routes: Sequence[Route], prefix: str = "") -> dict[str, Any]:
    """The document in OpenAPI 3.1; prefix: before every path, by a proxy."""
    schemas = _Schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "headstart decision service",
            "version": __version__,
            "description": f"The interface, version {VERSION}. Answers may gain fields; requests "
            "keep every field that they have.",
        },
        "servers": [{"url": prefix or "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Schemas:
    """The schema of every type, by reference where it has a name."""

    def __init__(self, routes: Sequence[Route]) -> None:
        kinds: list[Any] = [Problem]
        for route in routes:
            kinds += [k for k in (route.row, route.body, route.answer) if k is not None]
        schemas, components = msgspec.json.schema_components(
            kinds, schema_hook=_any_json, ref_template=_REF
        )
        self.components = _for_generators(components)
        self._by_kind = list(zip(kinds, schemas, strict=True))  # not all kinds can be hashed

    def of(self, kind: Any) -> dict[str, Any]:
        return next(schema for other, schema in self._by_kind if other == kind)

    def row_or_rows(self, *kinds: Any) -> dict[str, Any]:
        """One, or a list of them."""
        one = [self.of(kind) for kind in kinds]
        row = one[0] if len(one) == 1 else {"anyOf": one}
        return {"anyOf": [one[0], {"type": "array", "items": row, "maxItems": MOST_ROWS}]}


def _any_json(kind: type) -> dict[str, Any]:
    """The schema of `object`: the named class checks a policy or prior."""
    if kind is object:
        return {"description": "any JSON"}
    raise NotImplementedError


def _for_generators(schema: Any) -> Any:
    """A schema as generators of clients take it, with the same meaning.

    openapi-python-client knows no tuples; openapi-typescript requires whatever has a default, so
    defaults are said in words.
    """
    if isinstance(schema, list):
        return [_for_generators(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _for_generators(each) for name, each in schema.items()}
    if "prefixItems" in found:  # of one kind
        found["items"] = found.pop("prefixItems")[0]
    if "default" in found and found.keys() & {"anyOf", "type", "enum", "$ref"}:
        usual = msgspec.json.encode(found.pop("default")).decode()
        found["description"] = f"{usual} if it is left out"
    return found


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": route.name, "summary": route.summary}
    if route.role is not None:
        operation["description"] = f"Needs a key with the role {route.role} or admin."
        operation["security"] = [{"key": []}]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _NAME_IN_PATH}
        for name in route.names
    ]
    if route.query is not None:
        parameters += _query(route.query)
    if parameters:
        operation["parameters"] = parameters
    if route.row is not None or route.body is not None:
        schema = schemas.of(route.body) if route.row is None else schemas.row_or_rows(route.row)
        operation["requestBody"] = {
            "required": not route.body_optional,
            "content": {"application/json": {"schema": schema}},
        }
    operation["responses"] = _responses(route, schemas)
    return operation


def _responses(route: Route, schemas: _Schemas) -> dict[str, Any]:
    good: dict[str, Any] = {"description": _PHRASES[route.status]}
    if route.row is not None:
        schema = schemas.row_or_rows(route.answer, Problem)
        good["content"] = {"application/json": {"schema": schema}}
    elif route.answer is not None:
        good["content"] = {"application/json": {"schema": schemas.of(route.answer)}}
    elif route.status == 200:
        good["content"] = {route.media: {}}
    responses = {str(route.status): good}
    statuses = set(route.errors)
    if route.role is not None:
        statuses |= {401, 403, 503}
    if route.names or route.query is not None:
        statuses |= {422}
    if route.row is not None or route.body is not None:
        statuses |= {400, 413, 415, 422}
    problem = {"application/problem+json": {"schema": schemas.of(Problem)}}
    for status in sorted(statuses):
        responses[str(status)] = {"description": _PHRASES[status], "content": problem}
    return responses


def _query(kind: type[msgspec.Struct]) -> list[dict[str, Any]]:
    _, components = msgspec.json.schema_components([kind])
    properties = components[kind.__name__]["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(schema)}
        for name, schema in properties.items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query has no null: missing values are absent."""
    some = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    return some[0] if len(some) == 1 else {k: v for k, v in schema.items() if v is not None}
