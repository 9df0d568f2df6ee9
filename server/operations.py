"""Describe an operation of the REST surface once, for serving it and for the OpenAPI document."""

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memoria.identifiers import IdKind, parse_id
from server.abandonment import while_connected
from server.auth import Guarded
from server.call import (
    LINES,
    Answer,
    Call,
    StreamedAnswer,
    digest_request,
    read_expected_version,
    read_idempotency_key,
    read_namespace,
)
from server.problems import MalformedRequestError, MethodNotAllowedError
from server.state import services_of, state_of
from server.wire.filters import NoQuery
from server.wire.parsing import parse_json, parse_model, parse_query

NAME = "{name}"  # where a path holds a namespace's name
JSON_TYPE = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json", re.IGNORECASE)
LINES_TYPES = (LINES, "application/ndjson", "application/jsonl")

Handler = Callable[[Call[Any]], Coroutine[Any, Any, Answer | StreamedAnswer]]


@dataclass(frozen=True, slots=True)
class Operation:
    """Be one method of one path.

    `body` and `query` are the models of what it takes, `answers` those of its successes by status. `writes` says
    that it honours `Idempotency-Key`, `conditional` that it honours `If-Match`. `id_kind` is what an `{id}` in the path
    names. With `takes_lines` the body is a stream of JSON objects, a line each, and with `sends_lines` the answer is.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    answers: Mapping[int, type[BaseModel]]
    body: type[BaseModel] | None = None
    query: type[BaseModel] = NoQuery
    parse: type[BaseModel] | None = None
    writes: bool = False
    conditional: bool = False
    id_kind: IdKind = IdKind.MEMORY
    takes_lines: bool = False
    sends_lines: bool = False

    @property
    def name(self) -> str:
        """The operation's id: its handler's name."""
        return self.handler.__name__

    @property
    def has_id(self) -> bool:
        """Tell whether the path holds an id."""
        return "{id}" in self.path

    @property
    def has_name(self) -> bool:
        """Tell whether the path holds a namespace's name."""
        return NAME in self.path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read and check the request, let the handler answer it."""
        request = Request(scope, receive)
        query = parse_model(self.query, parse_query(scope["query_string"]))
        if self.takes_lines:
            require_lines(request)
        value = await read_json(request) if self.body else None
        checked = parse_model(self.parse or self.body, value) if self.body else query
        handling = self.handler(self._call(request, value, checked))
        answer = await (while_connected(handling, receive) if self.body else handling)
        response = answer.to_response()
        if scope["method"] == "HEAD" and self.sends_lines:
            response = Response(None, response.status_code, response.headers)  # nothing is read for nobody
        await response(scope, receive, send)

    def _call(self, request: Request, value: Any, checked: Any) -> Call[Any]:
        headers = request.headers
        namespace = read_namespace(headers)
        return Call(
            services=services_of(request.scope),
            principal=state_of(request.scope)["principal"],
            input=checked,
            id=parse_id(request.path_params["id"], self.id_kind) if self.has_id else 0,
            name=request.path_params.get("name", ""),
            namespace=namespace,
            expected_version=read_expected_version(headers) if self.conditional else None,
            idempotency_key=read_idempotency_key(headers) if self.writes else None,
            request_digest=digest_request(self.method, request.url.path, namespace, value) if self.writes else b"",
            body=request.stream() if self.takes_lines else None,
        )


def require_lines(request: Request) -> None:
    """Refuse a body that is not declared as lines of JSON. Raises MalformedRequestError."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared not in LINES_TYPES:
        raise MalformedRequestError(f"Send a JSON object a line, and say so: Content-Type: {LINES}.")


async def read_json(request: Request) -> Any:
    """Read a JSON body. Raises MalformedRequestError for another content type, or none."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip()
    if not JSON_TYPE.fullmatch(declared):
        raise MalformedRequestError("Send JSON, and say so: Content-Type: application/json.")
    return parse_json(await request.body())


class Resource:
    """Serve one path: choose the operation by method, and refuse other methods in the words of every error."""

    def __init__(self, path: str, methods: Mapping[str, ASGIApp]) -> None:
        self._path = path
        self._methods = dict(methods)
        if "GET" in self._methods:
            self._methods["HEAD"] = self._methods["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Raises MethodNotAllowedError."""
        state_of(scope)["route"] = self._path
        operation = self._methods.get(scope["method"])
        if operation is None:
            raise MethodNotAllowedError(scope["method"], tuple(sorted(self._methods)))
        await operation(scope, receive, send)

    def route(self) -> Route:
        """Make the route; this class, not the router, decides about methods."""
        route = NamedRoute(self._path, endpoint=self) if NAME in self._path else Route(self._path, endpoint=self)
        route.methods = None
        return route


class NamedRoute(Route):
    """Match a path that holds a namespace's name, whose slashes a server shows decoded.

    What follows the name must stand in the path as it was sent: in `/v1/namespaces/a%2Fpolicy` it belongs to the name.
    """

    def __init__(self, path: str, endpoint: ASGIApp) -> None:
        super().__init__(path.replace(NAME, "{name:path}"), endpoint=endpoint)
        # A line break is as wrong in a name as a space: the engine says so, not the router.
        self.path_regex = re.compile(self.path_regex.pattern, re.DOTALL)
        self._ending = path.partition(NAME)[2].encode()

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the decoded path, and its ending as it was sent."""
        sent: bytes = scope.get("raw_path") or scope["path"].encode()
        return super().matches(scope) if sent.endswith(self._ending) else (Match.NONE, {})


def make_routes(operations: Sequence[Operation]) -> list[Route]:
    """Group operations by path; fixed paths come before those with an id, and longer ones before those with a name."""
    by_path: dict[str, dict[str, ASGIApp]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = Guarded(operation)
    order = sorted(by_path, key=lambda path: ("{" in path, NAME in path and -len(path), path))
    return [Resource(path, by_path[path]).route() for path in order]
