"""Be the outermost layer: give each request its id, its one log line and its numbers, and every error its answer."""

import re
import time
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from accounts.logs import describe_fault
from memoria.errors import ContentTooLargeError, MemoriaError
from server.problems import internal_response, problem_response
from server.state import services_of, state_of

MAX_BODY_BYTES = 32 * 1024 * 1024
REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
NO_ROUTE = "unmatched"
CLIENT_GONE = 499  # never sent: the client went away before it was answered


class Edge:
    """Wrap the application. `resource_metadata_url` is named to clients that show no good key.

    What is sent to `unbounded_paths` may have any size: it is read as it comes, and never held whole.
    """

    def __init__(self, app: ASGIApp, resource_metadata_url: str, unbounded_paths: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._resource_metadata_url = resource_metadata_url
        self._unbounded_paths = unbounded_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, whatever happens inside."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, is_bounded=scope["path"] not in self._unbounded_paths)
        with structlog.contextvars.bound_contextvars(request_id=exchange.request_id):
            try:
                await self._serve(exchange)
            finally:
                exchange.record()

    async def _serve(self, exchange: "_Exchange") -> None:
        try:
            await self._app(exchange.scope, exchange.receive, exchange.send)
        except MemoriaError as error:
            if exchange.status is not None:
                raise
            exchange.code = error.code
            if error.__cause__ is not None:
                structlog.get_logger().warning("request_refused", code=error.code, **describe_fault(error))
            response = problem_response(error, exchange.request_id, self._resource_metadata_url)
            await response(exchange.scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            return
        except Exception as error:
            structlog.get_logger().error("request_failed", **describe_fault(error))
            if exchange.status is not None:
                raise
            await internal_response(exchange.request_id)(exchange.scope, exchange.receive, exchange.send)


class _Exchange:
    """Be one request and its answer, as they pass the edge."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, is_bounded: bool) -> None:
        self.scope = scope
        self._is_bounded = is_bounded
        self.status: int | None = None
        self.code: str | None = None
        self._receive, self._send = receive, send
        self._body_bytes = 0
        self._begin = time.perf_counter()
        self._headers = Headers(scope=scope)
        shown = self._headers.get("x-request-id", "")
        self.request_id = shown if REQUEST_ID.fullmatch(shown) else uuid4().hex
        # A dictionary of its own: servers hand the same one to every request.
        scope["state"] = {**scope.get("state", {}), "request_id": self.request_id}

    async def receive(self) -> Message:
        """Pass a part of the body on. Raises ContentTooLargeError once there is more than the limit."""
        if not self._is_bounded:
            return await self._receive()
        declared = self._headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared[:20]) > MAX_BODY_BYTES:
            raise _too_large(int(declared[:20]))
        message = await self._receive()
        self._body_bytes += len(message.get("body", b""))
        if self._body_bytes > MAX_BODY_BYTES:
            raise _too_large(self._body_bytes)
        return message

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self.request_id
            headers.setdefault("x-content-type-options", "nosniff")
            headers.setdefault("cache-control", "no-store")
            if allowance := state_of(self.scope).get("allowance"):
                headers.update(allowance.headers())
        await self._send(message)

    def record(self) -> None:
        """Write the one line of this request, and count it."""
        seconds = time.perf_counter() - self._begin
        state, status = state_of(self.scope), self.status or CLIENT_GONE
        route, method = state.get("route", NO_ROUTE), _known_method(self.scope["method"])
        principal = state.get("principal")
        structlog.get_logger().info(
            "request",
            method=method,
            route=route,
            status=status,
            code=self.code,
            ms=round(seconds * 1000, 2),
            org_id=str(principal.org_id) if principal else None,
            key_id=str(principal.key_id) if principal else None,
        )
        services_of(self.scope).metrics.observe(method, route, status, seconds)


def _too_large(size: int) -> ContentTooLargeError:
    return ContentTooLargeError(
        f"The body has more than {MAX_BODY_BYTES // 1024 // 1024} MiB.",
        limit_bytes=MAX_BODY_BYTES,
        size_bytes=size,
    )


def _known_method(method: str) -> str:
    known = ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS")
    return method if method in known else "OTHER"
