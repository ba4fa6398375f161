"""Rendering: templates and the answers made from them."""

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from headstart.service.dashboard import formats
from headstart.service.http import sessions

_HERE = Path(__file__).parent
STATIC = _HERE / "static"

# A page asks for its changing part by this header, and gets it as JSON.
FRAGMENT = "x-headstart-fragment"

_ASSETS = ("dashboard.css", "dashboard.js", "theme.js", "mark.svg")
_FILTERS = (
    "ago",
    "plain",
    "count",
    "number",
    "fixed",
    "signed",
    "percent",
    "moment",
    "clock",
    "brief",
    "iso",
    "span",
    "size",
    "report",
)

TABS = (
    ("overview", "/", "Overview"),
    ("prior", "/prior", "Prior"),
    ("tasks", "/tasks", "Tasks"),
    ("decisions", "/decisions", "Decisions"),
    ("quality", "/quality", "Data quality"),
    ("jobs", "/jobs", "Jobs"),
    ("health", "/health", "Health"),
)


def link(path: str, **query: object) -> str:
    """An address within the dashboard; what is None is left out."""
    given = {name: str(value) for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _asset(name: str) -> str:
    """The address of a static file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    for name in _FILTERS:
        environment.filters[name] = getattr(formats, name)
    assets = {name: _asset(name) for name in _ASSETS}
    environment.globals.update(link=link, tabs=TABS, asset=assets)
    return environment


_TEMPLATES = _environment()


def page(request: Request, template: str, code: int = 200, **context: Any) -> Response:
    """A page; or, where the page itself asks for it, its changing part as JSON."""
    given = {
        "tab": None,
        "bandit": None,
        "bandits": [],
        "live": 0,
        "session": sessions.current(request),
        "notice": request.query_params.get("notice"),
        **context,
    }
    found = _TEMPLATES.get_template(template)
    if FRAGMENT in request.headers:
        return JSONResponse({"html": found.render(given, layout="fragment.html")}, code)
    return HTMLResponse(found.render(given, layout="base.html"), code)
