"""The pages as an application: their addresses, the forms that they send, and their errors."""

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

from headstart.service.dashboard import (
    decisions,
    items,
    overview,
    prior,
    tasks,
)
from headstart.service.dashboard.page import STATIC, render
from headstart.service.engine.service import Service
from headstart.service.http import problems, sessions
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import Problem, ServiceError, invalid, not_found, unavailable

Endpoint = Callable[[Request], Awaitable[Response]]

_PAGES = {
    "/": overview.overview,
    "/prior": prior.prior,
    "/tasks": tasks.tasks,
    "/task": tasks.task,
    "/decisions": decisions.decisions,
    "/decision": decisions.decision,
    "/items": items.items,
}


def application(service: Service, jobs: Jobs) -> Starlette:
    """The pages as an application; those who may see them are its caller's affair."""
    forms: dict[str, Callable[[dict[str, str]], Response]] = {
        "/resume": partial(overview.resume, service),
        "/shadow/end": partial(overview.switch_over, service),
        "/task/erase": partial(tasks.erase, service),
        "/fit/promote": partial(prior.promote, jobs),
        "/fit/withdraw": partial(prior.withdraw, jobs),
    }
    routes: list[BaseRoute] = [
        *(Route(path, _page(service, view), methods=["GET"]) for path, view in _PAGES.items()),
        *(Route(path, _form(act), methods=["POST"]) for path, act in forms.items()),
        Route("/login", _login, methods=["GET"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Starlette(routes=routes, exception_handlers={404: _no_page})


def _page(service: Service, view: Callable[[Service, Request], Response]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await _answer(request, view, service, request)

    return endpoint


def _form(act: Callable[[dict[str, str]], Response]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace").replace("%00", "")
        return await _answer(request, act, dict(parse_qsl(body, keep_blank_values=True)))

    return endpoint


async def _answer(request: Request, view: Callable[..., Response], *arguments: Any) -> Response:
    """What a page answers, away from the event loop; an error as a page too."""
    try:
        _check(request.query_params.multi_items())
        return await run_in_threadpool(view, *arguments)
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
    return render(request, "problem.html", problem.status, problem=problem)


async def _no_page(request: Request, _: Exception) -> Response:
    if "text/html" not in request.headers.get("accept", ""):  # not a browser that shows a page
        problem = problems.no_path(request.scope["path"]).problem
        kind = problems.CONTENT_TYPE.decode()
        return Response(problems.content_of(problem), 404, media_type=kind)
    return _problem(request, not_found("there is no page at this address").problem)


async def _login(request: Request) -> Response:
    return render(request, "login.html", **sessions.login_of(request))
