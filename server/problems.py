"""Turn errors into HTTP answers: one table from error class to status, and one body for all of them."""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response

from memoria.errors import (
    ConflictError,
    ContentTooLargeError,
    ForbiddenError,
    InvalidInputError,
    MemoriaError,
    NotFoundError,
    UnavailableError,
)

JSON = "application/json"
UNAVAILABLE_RETRY_SECONDS = 2


class MalformedRequestError(MemoriaError):
    """Say that a body is not JSON, or not declared as JSON."""

    code = "MALFORMED_REQUEST"


class UnauthorizedError(MemoriaError):
    """Say that a request shows no key, or one that does not open."""

    code = "UNAUTHORIZED"


class MethodNotAllowedError(MemoriaError):
    """Say that a path does not answer a method; `allowed` lists those it answers."""

    code = "METHOD_NOT_ALLOWED"

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        super().__init__(f"This path does not answer {method[:20]}.", allowed=list(allowed))
        self.allowed = allowed


class RateLimitedError(MemoriaError):
    """Say that a key calls faster than it may, and in how many seconds it may again."""

    code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, retry_after_seconds: float) -> None:
        self.retry_after_seconds = max(1, math.ceil(retry_after_seconds))
        super().__init__(
            f"Too many requests: try again in {self.retry_after_seconds} s.",
            retry_after_seconds=self.retry_after_seconds,
        )


STATUS_OF: Mapping[type[MemoriaError], int] = {
    MalformedRequestError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    MethodNotAllowedError: 405,
    ConflictError: 409,
    ContentTooLargeError: 413,
    InvalidInputError: 422,
    RateLimitedError: 429,
    UnavailableError: 503,
    MemoriaError: 500,
}


class Problem(BaseModel):
    """Be the body of every answer that is no success."""

    code: str
    status: int
    message: str
    details: dict[str, Any]
    request_id: str


def status_of(error: MemoriaError) -> int:
    """Find the status of an error, by its nearest class in the table."""
    return next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)


def problem_response(error: MemoriaError, request_id: str, resource_metadata_url: str) -> Response:
    """Answer an error that was raised on purpose."""
    status = status_of(error)
    if status == 500:
        return internal_response(request_id)
    problem = Problem(
        code=error.code, status=status, message=error.message, details=dict(error.details), request_id=request_id
    )
    headers = {}
    if isinstance(error, UnauthorizedError):
        headers["www-authenticate"] = f'Bearer resource_metadata="{resource_metadata_url}"'
    elif isinstance(error, RateLimitedError):
        headers["retry-after"] = str(error.retry_after_seconds)
    elif isinstance(error, UnavailableError):
        headers["retry-after"] = str(UNAVAILABLE_RETRY_SECONDS)
    elif isinstance(error, MethodNotAllowedError):
        headers["allow"] = ", ".join(error.allowed)
    return Response(to_json(problem), status, headers, JSON)


def internal_response(request_id: str) -> Response:
    """Answer a fault of ours: the request id and nothing else."""
    problem = Problem(
        code=MemoriaError.code,
        status=500,
        message="Something went wrong on our side.",
        details={},
        request_id=request_id,
    )
    return Response(to_json(problem), 500, None, JSON)
