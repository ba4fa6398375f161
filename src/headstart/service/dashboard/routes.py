"""Routes: the addresses of the pages."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from headstart.service.dashboard.facade import Facade
from headstart.service.dashboard.pages import decisions, operations, overview, prior, quality, tasks
from headstart.service.dashboard.rendering import STATIC, page
from headstart.service.http import sessions
from headstart.service.messages import Problem, ServiceError, unavailable

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
_FORMS = {
    "/task/erase": tasks.erase,
}


def routes(service: Facade) -> list[BaseRoute]:
    """The pages, the forms that they send, the login page and static files."""
    return [
        *(Route(path, _page(service, made), methods=["GET"]) for path, made in _PAGES.items()),
        *(Route(path, _form(service, made), methods=["POST"]) for path, made in _FORMS.items()),
        Route("/login", _login, methods=["GET"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]


def _page(service: Facade, made: Callable[[Facade, Request], Response]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await _answered(request, made, service, request)

    return endpoint


def _form(service: Facade, made: Callable[[Facade, Request, dict[str, str]], Response]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        fields = parse_qsl((await request.body()).decode(), keep_blank_values=True)
        return await _answered(request, made, service, request, dict(fields))

    return endpoint


async def _answered(request: Request, made: Callable[..., Response], *given: Any) -> Response:
    """What a page answers, away from the event loop; an error as a page too."""
    try:
        return await run_in_threadpool(made, *given)
    except ServiceError as error:
        return _problem(request, error.problem)
    except DBAPIError:
        return _problem(request, unavailable("the store cannot be read now").problem)


def _problem(request: Request, problem: Problem) -> Response:
    return page(request, "problem.html", problem.status, problem=problem)


async def _login(request: Request) -> Response:
    return page(request, "login.html", visit=sessions.visit(request))
