"""A page: its template and answer, the bandit that its address names, and stretches of time."""

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from headstart.service.dashboard import formats
from headstart.service.dashboard.formats import day, hour
from headstart.service.engine.export import cell
from headstart.service.engine.service import Service
from headstart.service.http import sessions
from headstart.service.http.proxy import prefix
from headstart.service.store.queries import bandits
from headstart.service.store.queries.bandits import BanditRow
from headstart.service.store.queries.item_days import DAY_SECONDS, number_of

_LATEST = date(5000, 1, 1)  # its minutes since 1970 are an integer of the database
_HERE = Path(__file__).parent
STATIC = _HERE / "static"

# A page asks for its changing part by this header, and gets it as JSON.
FRAGMENT = "x-headstart-fragment"
LIVE_SECONDS = 3  # between refreshes
_MOST_DAYS = 400  # of a chart

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
    "size",
    "report",
)

TABS = (
    ("overview", "/", "Overview"),
    ("prior", "/prior", "Prior"),
    ("tasks", "/tasks", "Tasks"),
    ("decisions", "/decisions", "Decisions"),
    ("items", "/items", "Items"),
    ("quality", "/quality", "Data quality"),
    ("jobs", "/jobs", "Jobs"),
    ("health", "/health", "Health"),
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
        "session": sessions.current(request),
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


def table_file(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    """A table as a CSV file of this name."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(head)
    writer.writerows([cell(value) for value in row] for row in rows)
    named = f"attachment; filename*=UTF-8''{quote(name, safe='')}.csv"
    headers = {"content-disposition": named}
    return Response(file.getvalue(), media_type="text/csv", headers=headers)


def whole(request: Request, name: str) -> int:
    """A whole number of an address, 0 if there is none."""
    text = request.query_params.get(name, "")
    return min(int(text), 10**9) if text.isascii() and text.isdigit() and len(text) < 12 else 0


@dataclass(frozen=True, kw_only=True)
class Days:
    """Whole days in UTC, both ends included."""

    since: date
    until: date

    @property
    def n(self) -> int:
        """How many days."""
        return (self.until - self.since).days + 1

    @property
    def first(self) -> int:
        """The number of the first day, since 1970."""
        return number_of(self.since)

    @property
    def last(self) -> int:
        """The number of the last day, since 1970."""
        return number_of(self.until)

    @property
    def query(self) -> dict[str, date]:
        """Itself in an address."""
        return {"since": self.since, "until": self.until}

    @property
    def words(self) -> str:
        """1 Mar to 7 Mar 2026."""
        since, until = (f"{day:%-d %b}" for day in (self.since, self.until))
        return f"{until} {self.until:%Y}" if self.n == 1 else f"{since} to {until} {self.until:%Y}"

    @property
    def before(self) -> "Days":
        """As many days before these."""
        first = max(self.since.toordinal() - self.n, 1)
        return Days(
            since=date.fromordinal(first),
            until=date.fromordinal(max(self.since.toordinal() - 1, 1)),
        )


def latest_days(now: float, n: int) -> Days:
    """The latest n days, today included."""
    today = datetime.fromtimestamp(now, UTC).date()
    return Days(since=date.fromordinal(today.toordinal() - n + 1), until=today)


def chosen_days(request: Request, now: float) -> Days | None:
    """The days that an address asks for, by one end or both; None if it asks for none."""
    since, until = (_date(request.query_params.get(name)) for name in ("since", "until"))
    today = latest_days(now, 1).until
    if since is None and until is None:
        return None
    first, last = sorted((since or min(until or today, today), until or today))
    return Days(since=first, until=last)


def _date(text: str | None) -> date | None:
    try:
        return min(date.fromisoformat(text or ""), _LATEST)
    except ValueError:
        return None


@dataclass(frozen=True, kw_only=True)
class Window:
    """A stretch of time that a chart shows, in n parts of `width` minutes, up to its end."""

    name: str
    label: str
    width: int
    n: int
    live: int  # seconds between refreshes
    days: Days | None = None  # that were asked for; None for the latest

    def end(self, now: float) -> float:
        """When it ends, in seconds since 1970."""
        if self.days is None:
            return now
        return min(max(DAY_SECONDS * (self.days.last + 1.0) - 1.0, 1.0), now)

    @property
    def words(self) -> str:
        """The last hour."""
        return f"last {self.name}" if self.days is None else self.days.words

    @property
    def words_before(self) -> str:
        """What it is compared with."""
        return f"the {self.name if self.days is None else 'days'} before"

    @property
    def query(self) -> dict[str, object]:
        """Itself in an address."""
        return {"window": self.name} if self.days is None else dict(self.days.query)


WINDOWS = {
    window.name: window
    for window in (
        Window(name="hour", label="Hour", width=1, n=60, live=LIVE_SECONDS),
        Window(name="day", label="Day", width=15, n=96, live=10),
        Window(name="week", label="Week", width=120, n=84, live=30),
        Window(name="month", label="Month", width=480, n=90, live=60),
    )
}
# Of days that were asked for: in minutes, the first that makes no more parts than this.
_WIDTHS, _MOST_PARTS = (15, 60, 120, 480, 1440), 100
_FEWEST = 10  # parts that are shown of a young bandit
_TICK_SECONDS = tuple(60 * m for m in (1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720))
_TICK_SECONDS += tuple(DAY_SECONDS * n for n in (1, 2, 7, 14, 28, 91))
_MOST_TICKS = 7


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The parts of a window that may have data, and the seconds that passed of each."""

    start: int  # minute since 1970
    width: int
    seconds: list[float]  # (n,)
    created_in: int  # the part in which the bandit was created; 0 if before
    names: list[str]  # (n,)
    ticks: list[int]
    tick_names: list[str]

    @property
    def n(self) -> int:
        """How many parts."""
        return len(self.seconds)


def chosen_window(request: Request, now: float) -> Window:
    """The window or the days that an address asks for, the hour if it asks for none."""
    days = chosen_days(request, now)
    if days is None:
        return WINDOWS.get(request.query_params.get("window", ""), WINDOWS["hour"])
    minutes = 1440 * min(days.n, _MOST_DAYS)
    width = next((w for w in _WIDTHS if minutes <= _MOST_PARTS * w), 1440)
    return Window(name="days", label="", width=width, n=minutes // width, live=60, days=days)


def stretch(window: Window, now: float, created: float) -> Stretch:
    """The parts up to a window's end, from its start or the bandit's creation."""
    width, end = window.width * 60, window.end(now)
    last = int(end // width)
    first = max(last - window.n + 1, min(int(created // width), last - _FEWEST + 1))
    if window.days is not None:
        first = min(max(window.days.first * DAY_SECONDS // width, last - window.n + 1), last)
    n = last - first + 1
    starts = [(first + i) * width for i in range(n)]
    every = next((s for s in _TICK_SECONDS if n * width <= _MOST_TICKS * s), _TICK_SECONDS[-1])
    ticks = [i for i in range(n) if starts[i] % every == 0]
    spell = day if every >= DAY_SECONDS else hour
    return Stretch(
        start=first * window.width,
        width=window.width,
        created_in=max(int(created // width) - first, 0),
        seconds=[float(width)] * (n - 1) + [max(end - starts[-1], 1.0)],
        names=[
            day(start) if width == DAY_SECONDS else f"{day(start)}, {hour(start)}"
            for start in starts
        ],
        ticks=ticks,
        tick_names=[spell(starts[i]) for i in ticks],
    )
