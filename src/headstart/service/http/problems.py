"""Problems: errors as application/problem+json, with one sentence that names what is wrong."""

import msgspec
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from starlette.exceptions import HTTPException

from headstart.service.messages import Problem, ServiceError, not_found, unavailable

CONTENT_TYPE = b"application/problem+json"
# How long a client should wait before it sends the same again.
RETRY_SECONDS = 1
_encode = msgspec.json.Encoder().encode
_TITLES = {400: "Bad request", 403: "Forbidden", 404: "Not found", 405: "Method not allowed"}


class MethodError(ServiceError):
    """The path is known, but has other methods."""

    def __init__(self, method: str, path: str, allowed: list[str]) -> None:
        self.allowed = ", ".join(allowed)
        super().__init__(
            405, "Method not allowed", f"the method of {path} must be {self.allowed}, got {method}"
        )


def no_path(path: str) -> ServiceError:
    """Nothing answers at a path."""
    return not_found(f"there is no path {path[:200]!r}: /openapi.json has all that there are")


def too_large(most_bytes: int) -> ServiceError:
    """The body is too long; its full length is not known."""
    return ServiceError(
        413, "Content too large", f"the body must have at most {most_bytes} bytes, got more"
    )


def too_many() -> ServiceError:
    """More requests wait than the service can answer soon."""
    return unavailable("too many requests are waiting: send this one again later")


def from_exception(error: Exception) -> ServiceError | None:
    """The problem of an exception; None if the exception is unexpected."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, HTTPException):
        title = _TITLES.get(error.status_code, "Error")
        return ServiceError(error.status_code, title, str(error.detail))
    if isinstance(error, DBAPIError | SQLAlchemyError):
        return unavailable("the store cannot be reached or written now: send the request again")
    return None


def internal(request_id: str) -> ServiceError:
    """An error of the service itself; the log says what happened."""
    detail = f"the service failed to answer; its log has the reason under request id {request_id}"
    return ServiceError(500, "Internal server error", detail)


def content_of(problem: Problem) -> bytes:
    """A problem as JSON."""
    return _encode(problem)


def headers_of(error: ServiceError) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that is a problem."""
    headers = [(b"content-type", CONTENT_TYPE)]
    status = error.problem.status
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    elif isinstance(error, MethodError):
        headers.append((b"allow", error.allowed.encode()))
    elif status in (429, 503):
        seconds = RETRY_SECONDS if status == 503 else 60
        headers.append((b"retry-after", str(seconds).encode()))
    return headers
