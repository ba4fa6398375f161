"""A page: its template and answer, the bandit that its address names, and stretches of time."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from headstart.service.dashboard import formats
from headstart.service.dashboard.formats import day, hour
from headstart.service.engine.service import Service
from headstart.service.http import sessions
from headstart.service.http.proxy import prefix
from headstart.service.store import bandits
from headstart.service.store.bandits import BanditRow
from headstart.service.store.sums import DAY_SECONDS

_HERE = Path(__file__).parent
STATIC = _HERE / "static"

# A page asks for its changing part by this header, and gets it as JSON.
FRAGMENT = "x-headstart-fragment"
LIVE_SECONDS = 3  # between refreshes

_FILTERS = (
    "ago",
    "plain",
    "count",
    "number",
    "fixed",
    "signed",
    "percent",
    "tenths",
    "moment",
    "clock",
    "brief",
    "iso",
    "span",
)

TABS = (
    ("overview", "/", "Overview"),
    ("prior", "/prior", "Prior"),
    ("tasks", "/tasks", "Tasks"),
    ("decisions", "/decisions", "Decisions"),
    ("items", "/items", "Items"),
)


def link(path: str, **query: object) -> str:
    """An address within the dashboard; what is None is left out."""
    fields = {name: str(value) for name, value in query.items() if value is not None}
    path = prefix.get() + path
    return f"{path}?{urlencode(fields)}" if fields else path


def base_of(request: Request) -> str:
    """The address of the service, as its caller wrote it."""
    return f"{str(request.base_url).rstrip('/')}{link('/')}"


@cache
def _digest(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


def _asset(name: str) -> str:
    """The address of a static file, which changes with its content."""
    return link(f"/static/{name}", v=_digest(name))


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
    environment.globals.update(link=link, tabs=TABS, asset=_asset)
    return environment


_TEMPLATES = _environment()


def render(request: Request, template: str, code: int = 200, **context: Any) -> Response:
    """A page; or, where the page itself asks for it, its changing part as JSON."""
    values = {
        "tab": None,
        "bandit": None,
        "bandits": [],
        "live": 0,
        "key": sessions.key_of(request),
        "notice": request.query_params.get("notice"),
        **context,
    }
    html = _TEMPLATES.get_template(template)
    if FRAGMENT in request.headers:
        return JSONResponse({"html": html.render(values, layout="fragment.html")}, code)
    return HTMLResponse(html.render(values, layout="base.html"), code)


def bandit_page(
    service: Service,
    request: Request,
    tab: str,
    template: str,
    gather: Callable[[Connection, BanditRow], dict[str, Any]],
    afterwards: Callable[[BanditRow], dict[str, Any]] = lambda _: {},
    *,
    live: int = LIVE_SECONDS,
) -> Response:
    """A page about one bandit: the one that the address names, or the first.

    gather: reads what the template shows, in one short transaction. afterwards: asks the service
    for more, which has transactions of its own. live: seconds between refreshes, 0 for none.
    """
    with service.database.reading() as connection:
        names = [bandit.name for bandit in bandits.all_bandits(connection)]
        name = request.query_params.get("bandit") or (names[0] if names else None)
        bandit = None if name is None else bandits.named(connection, name)
        context = {} if bandit is None else gather(connection, bandit)
    if bandit is None:
        return render(request, "welcome.html", tab=tab, live=LIVE_SECONDS, base=base_of(request))
    return render(
        request,
        template,
        tab=tab,
        bandit=bandit,
        bandits=names,
        live=live,
        now=service.clock(),
        **context,
        **afterwards(bandit),
    )


def whole(request: Request, name: str) -> int:
    """A whole number of an address, 0 if there is none."""
    text = request.query_params.get(name, "")
    return min(int(text), 10**9) if text.isascii() and text.isdigit() and len(text) < 12 else 0


@dataclass(frozen=True, kw_only=True)
class Window:
    """The latest stretch of time, which a chart shows in n parts of `width` minutes."""

    name: str
    label: str
    width: int
    n: int
    live: int  # seconds between refreshes


WINDOWS = {
    window.name: window
    for window in (
        Window(name="hour", label="Hour", width=1, n=60, live=LIVE_SECONDS),
        Window(name="day", label="Day", width=15, n=96, live=10),
        Window(name="week", label="Week", width=120, n=84, live=30),
        Window(name="month", label="Month", width=480, n=90, live=60),
    )
}
_FEWEST = 10  # parts that are shown of a young bandit
_TICK_SECONDS = tuple(60 * m for m in (1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720))
_TICK_SECONDS += tuple(DAY_SECONDS * n for n in (1, 2, 7, 14))
_MOST_TICKS = 7


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The parts of a window that may have data, the present one left out."""

    start: int  # minute since 1970
    width: int
    created_in: int  # the part in which the bandit was created; 0 if before
    names: list[str]  # (n,)
    ticks: list[int]
    tick_names: list[str]

    @property
    def n(self) -> int:
        """How many parts."""
        return len(self.names)


def chosen_window(request: Request) -> Window:
    """The window that an address asks for, the hour if it asks for none."""
    return WINDOWS.get(request.query_params.get("window", ""), WINDOWS["hour"])


def stretch(window: Window, now: float, created: float) -> Stretch:
    """The whole parts of a window up to now, from its start or the bandit's creation."""
    width = window.width * 60
    last = int(now // width) - 1
    first = max(last - window.n + 1, min(int(created // width), last - _FEWEST + 1))
    n = last - first + 1
    starts = [(first + i) * width for i in range(n)]
    every = next((s for s in _TICK_SECONDS if n * width <= _MOST_TICKS * s), _TICK_SECONDS[-1])
    ticks = [i for i in range(n) if starts[i] % every == 0]
    spell = day if every >= DAY_SECONDS else hour
    return Stretch(
        start=first * window.width,
        width=window.width,
        created_in=max(int(created // width) - first, 0),
        names=[f"{day(start)}, {hour(start)}" for start in starts],
        ticks=ticks,
        tick_names=[spell(starts[i]) for i in ticks],
    )
