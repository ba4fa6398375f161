"""Routes: the addresses of the pages."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from sqlalchemy.exc import DBAPIError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from headstart.service.dashboard.facade import Facade, Fits
from headstart.service.dashboard.pages import decisions, operations, overview, prior, quality, tasks
from headstart.service.dashboard.rendering import STATIC, page
from headstart.service.http import problems, sessions
from headstart.service.messages import Problem, ServiceError, invalid, not_found, unavailable

Endpoint = Callable[[Request], Awaitable[Response]]

_PAGES = {
    "/": overview.overview,
    "/prior": prior.prior,
    "/tasks": tasks.tasks,
    "/task": tasks.task,
    "/decisions": decisions.decisions,
    "/decision": decisions.decision,
    "/quality": quality.quality,
    "/jobs": operations.jobs,
    "/health": operations.health,
}


def routes(service: Facade, fits: Fits | None = None) -> list[BaseRoute]:
    """The pages, the forms that they send, the login page and static files."""
    forms: dict[str, Callable[[dict[str, str]], Response]] = {
        "/task/erase": partial(tasks.erase, service)
    }
    if fits is not None:
        forms["/fit/promote"] = partial(prior.promote, fits)
        forms["/fit/withdraw"] = partial(prior.withdraw, fits)
    return [
        *(Route(path, _page(service, made), methods=["GET"]) for path, made in _PAGES.items()),
        *(Route(path, _form(made), methods=["POST"]) for path, made in forms.items()),
        Route("/login", _login, methods=["GET"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]


def application(service: Facade, fits: Fits | None = None) -> Starlette:
    """The pages as an application; those who may see them are its caller's affair."""
    app = Starlette(routes=routes(service, fits), exception_handlers={404: _no_page})
    if fits is not None:
        app.state.fits = fits
    return app


def _page(service: Facade, made: Callable[[Facade, Request], Response]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await _answered(request, made, service, request)

    return endpoint


def _form(made: Callable[[dict[str, str]], Response]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace").replace("%00", "")
        return await _answered(request, made, dict(parse_qsl(body, keep_blank_values=True)))

    return endpoint


async def _answered(request: Request, made: Callable[..., Response], *given: Any) -> Response:
    """What a page answers, away from the event loop; an error as a page too."""
    try:
        _check(request.query_params.multi_items())
        return await run_in_threadpool(made, *given)
    except ServiceError as error:
        return _problem(request, error.problem)
    except DBAPIError:
        return _problem(request, unavailable("the store cannot be read now").problem)


def _check(fields: Iterable[tuple[str, str]]) -> None:
    """Refuse what no store can hold."""
    for name, value in fields:
        if "\x00" in value:
            raise invalid(f"{name[:50]} must not have NUL characters")


def _problem(request: Request, problem: Problem) -> Response:
    return page(request, "problem.html", problem.status, problem=problem)


async def _no_page(request: Request, _: Exception) -> Response:
    if "text/html" not in request.headers.get("accept", ""):  # not a browser that shows a page
        problem = problems.no_path(request.scope["path"]).problem
        kind = problems.CONTENT_TYPE.decode()
        return Response(problems.content_of(problem), 404, media_type=kind)
    return _problem(request, not_found("there is no page at this address").problem)


async def _login(request: Request) -> Response:
    return page(request, "login.html", visit=sessions.visit(request))
