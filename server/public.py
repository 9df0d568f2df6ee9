"""Serve what needs no key: health, the OpenAPI document, and the page that shows it from our own files."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_json
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from server.api.introspection import read_health, read_readiness
from server.call import Answer
from server.operations import Resource
from server.problems import JSON
from server.services import Services
from server.state import services_of

STATIC = Path(__file__).parent / "static"
PAGE = STATIC / "docs.html"
ASSETS: Mapping[str, str] = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "docs.js": "text/javascript",
}
# The page loads its own files and calls its own server; nothing else, and no inline script.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class _Asked:
    """Answer a GET from the application's services alone."""

    def __init__(self, answer: Callable[[Services], Awaitable[Answer]]) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(services_of(scope))
        await answer.to_response()(scope, receive, send)


def public_routes(document: Mapping[str, Any]) -> list[Route]:
    """List the routes that need no key."""
    policy = {"content-security-policy": PAGE_POLICY, "cache-control": "no-cache"}
    apps: dict[str, ASGIApp] = {
        "/v1/health": _Asked(read_health),
        "/v1/health/ready": _Asked(read_readiness),
        "/v1/openapi.json": Response(to_json(document), 200, None, JSON),
        "/v1/docs": FileResponse(PAGE, headers=policy, media_type="text/html"),
    }
    for name, media_type in ASSETS.items():
        kept = {"cache-control": "public, max-age=86400"}
        apps[f"/v1/docs/{name}"] = FileResponse(STATIC / name, headers=kept, media_type=media_type)
    return [Resource(path, {"GET": app}).route() for path, app in apps.items()]
