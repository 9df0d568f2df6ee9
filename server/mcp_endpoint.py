"""Answer `/v1/mcp`: ready each request for the MCP SDK, then hand it to the wire that its client speaks.

One `Server` stands behind two session managers. Revisions up to 2025-11-25 (initialize, then calls) are served without
sessions and answered in plain JSON; later ones are self-contained POSTs, answered in JSON unless a tool reports
progress. No state outlives a request, so any process answers any call.

Clients in the field, and `curl`, leave headers out or pad them, and the SDK is strict. The endpoint puts right what
can have one meaning only, and refuses the rest.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from memoria.errors import ForbiddenError
from server.auth import Guarded
from server.edge import MAX_BODY_BYTES
from server.mcp_tools import read_toolsets
from server.problems import MethodNotAllowedError
from server.state import state_of

PATH = "/v1/mcp"
JSON = "application/json"
JSON_AND_EVENTS = "application/json, text/event-stream"


class McpEndpoint:
    """Be the ASGI application of `/v1/mcp`. `run()` must be open while it serves, and opens once."""

    def __init__(self, server: Server[Any], allowed_hosts: Iterable[str]) -> None:
        self._hosts = frozenset(allowed_hosts)
        self._legacy, self._modern = (
            StreamableHTTPSessionManager(
                app=server,
                stateless=True,
                json_response=json_response,
                max_request_body_size=MAX_BODY_BYTES,
            )
            for json_response in (True, False)
        )

    def routes(self) -> list[Route]:
        """List its routes: with a slash at the end too, because a redirect would lose the body of a POST.

        The key's ordinary limit is told inside the answer to a call; only a flood is answered with 429.
        """
        return [Route(path, endpoint=Guarded(self, flood=True)) for path in (PATH, f"{PATH}/")]

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Hold both managers open."""
        async with self._legacy.run(), self._modern.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of a client that is already authenticated.

        Raises MethodNotAllowedError, ForbiddenError for a foreign host name or origin, and InvalidInputError for
        a toolset that does not exist.
        """
        # The HTTP parser keeps spaces around a value, and the SDK compares it with the body to the letter.
        headers = MutableHeaders(raw=[(name, value.strip()) for name, value in scope["headers"]])
        state_of(scope)["route"] = PATH
        self._check_names(headers)
        if scope["method"] != "POST":
            raise MethodNotAllowedError(scope["method"], ("POST",))
        read_toolsets(Request(scope).query_params.get("tools"))
        body = await Request(scope, receive).body()
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
        is_legacy = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
        if is_legacy and (malformed := _refuse_malformed(body)) is not None:
            await malformed(scope, receive, send)
            return
        _complete(headers, body)
        manager = self._legacy if is_legacy else self._modern
        ready_scope = {**scope, "path": PATH, "raw_path": PATH.encode(), "headers": headers.raw}
        await manager.handle_request(ready_scope, _replay(body, receive), send)

    def _check_names(self, headers: Headers) -> None:
        """Answer to the service's own names, and to pages that were served from them: against DNS rebinding."""
        host, origin = _host_of(f"//{headers.get('host', '')}"), headers.get("origin")
        own = {host} if "*" in self._hosts else self._hosts
        if host is None or host not in own:
            raise ForbiddenError(
                "The service does not go by this host name; its operator lists them in MEMORIA_ALLOWED_HOSTS."
            )
        if origin is not None and _host_of(origin) not in own:
            raise ForbiddenError("Pages of this origin may not call the service.")


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _refuse_malformed(body: bytes) -> Response | None:
    """Refuse what is no JSON-RPC message in our own words: the SDK's answer repeats the parser's error text."""
    try:
        jsonrpc_message_adapter.validate_python(from_json(body), by_name=False)
    except ValidationError:
        return _protocol_error(INVALID_REQUEST, "The body must be one JSON-RPC 2.0 message; batches are not taken.")
    except ValueError:
        return _protocol_error(PARSE_ERROR, "The body is not JSON.")
    return None


def _protocol_error(code: int, message: str) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}, 400)


def _complete(headers: MutableHeaders, body: bytes) -> None:
    """Name the two types that every client of this endpoint can read, and the type of a body that is JSON."""
    accepted = headers.get("accept", "")
    if not all(name in accepted for name in (JSON, "text/event-stream")):
        headers["accept"] = JSON_AND_EVENTS
    if body.lstrip()[:1] in (b"{", b"["):
        headers["content-type"] = JSON


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body again, then whatever follows it: the client's going away cancels the call."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again
