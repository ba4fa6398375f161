"""The reference of an HTTP interface, generated from its OpenAPI document."""

import asyncio
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")


def service_document() -> dict[str, Any]:
    """The OpenAPI document of headstart's service, as it answers with it."""
    # With the extra `serve` only.
    import httpx  # noqa: PLC0415

    from headstart.service.engine.service import Service  # noqa: PLC0415
    from headstart.service.http.app import Application  # noqa: PLC0415

    async def ask(app: Application) -> httpx.Response:
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/openapi.json")

    with TemporaryDirectory() as folder:
        service = Service.open(Path(folder) / "store.db")
        try:
            answer = asyncio.run(ask(Application(service, log_requests=False)))
        finally:
            service.stop()
    return dict(answer.raise_for_status().json())


def openapi_page(document: Mapping[str, Any]) -> str:
    """Every path and every schema of an OpenAPI 3 document, as Markdown."""
    information = document.get("info", {})
    lines = [f"# {information.get('title', 'Interface')}\n"]
    lines += [f"{text}\n" for text in [information.get("description", "").strip()] if text]
    for path, operations in document.get("paths", {}).items():
        for method in METHODS:
            if method in operations:
                lines += _operation(method, path, operations[method])
    schemas = document.get("components", {}).get("schemas", {})
    if schemas:
        lines.append("## Schemas\n")
    for name, schema in schemas.items():
        lines += _schema(name, schema)
    return "\n".join(lines)


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {method.upper()} {path}\n"
    for key in ("summary", "description"):
        text = str(operation.get(key, "")).strip()
        if text:
            yield f"{text}\n"
    parameters = operation.get("parameters", [])
    if parameters:
        yield "| parameter | in | type | |\n|---|---|---|---|"
        for given in parameters:
            kind, text = _kind(given.get("schema", {})), _line(given.get("description"))
            needed = "" if given.get("required") else " (optional)"
            yield f"| `{given['name']}` | {given['in']}{needed} | {kind} | {text} |"
        yield ""
    body = operation.get("requestBody", {}).get("content", {})
    if body:
        yield f"Body: {_content(body)}\n"
    yield "| status | answer | |\n|---|---|---|"
    for status, answer in operation.get("responses", {}).items():
        content = _content(answer.get("content", {}))
        yield f"| {status} | {content} | {_line(answer.get('description'))} |"
    yield ""


def _content(content: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{_kind(given.get('schema', {}))} as `{media}`" for media, given in content.items()
    )


def _schema(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"({anchor(name)})=\n### {name}\n"
    if schema.get("description"):
        yield f"{inspect.cleandoc(schema['description'])}\n"
    if "enum" in schema:
        yield "One of " + ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"]) + ".\n"
    properties = schema.get("properties", {})
    if properties:
        required = set(schema.get("required", []))
        yield "| field | type | default | |\n|---|---|---|---|"
        for field, given in properties.items():
            default = f"`{json.dumps(given['default'])}`" if "default" in given else ""
            needed = "required" if field in required else default
            yield f"| `{field}` | {_kind(given)} | {needed} | {_line(given.get('description'))} |"
        yield ""


def anchor(name: str) -> str:
    """The label of a schema, by which types link to it."""
    return "schema-" + name.lower().replace("_", "-")


def _kind(schema: Mapping[str, Any] | bool) -> str:
    """A JSON schema in a few words, with links to named ones; true and false are schemas too."""
    if isinstance(schema, bool):
        return "any" if schema else "nothing"
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{anchor(name)})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(_kind(option) for option in schema[key])
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if values:
        return " or ".join(f"`{json.dumps(value)}`" for value in values)
    if schema.get("type") == "array":
        items = schema.get("prefixItems") or [schema.get("items", {})]
        return "array of " + ", ".join(_kind(item) for item in items)
    return str(schema.get("type", "any"))


def _line(text: object) -> str:
    return " ".join(str(text or "").split()).replace("|", "\\|")
