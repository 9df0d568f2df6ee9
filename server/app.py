"""Compose the application: the one place where its parts are made and opened."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import Receive, Scope, Send

from accounts.embedders import open_embedder
from accounts.environment import SettingsError
from accounts.key_uses import KeyUses
from accounts.language import open_writer
from accounts.logs import configure_logging
from accounts.metrics import serve_metrics
from memoria.embedding import Embedder
from memoria.engine import Engine
from memoria.errors import NotFoundError, UnavailableError
from server.edge import Edge
from server.limits import RateLimiter
from server.mcp_endpoint import McpEndpoint
from server.mcp_server import make_mcp_server
from server.metrics import Metrics
from server.openapi import describe_api
from server.operations import make_routes
from server.public import public_routes
from server.routes import OPERATIONS
from server.services import Services, utc_now
from server.settings import Settings

KEY_USE_SECONDS = 30.0
PLAN_SECONDS = 60.0


def create_app(settings: Settings, clock: Callable[[], datetime] = utc_now) -> Starlette:
    """Make the application; its lifespan opens the database, Redis and the embedder, and closes them."""
    configure_logging(settings.log_level)
    document = describe_api(OPERATIONS, settings.public_url)
    mcp = McpEndpoint(make_mcp_server(version("memoria-engine")), allowed_hosts=settings.allowed_hosts)
    app = Starlette(
        routes=[*public_routes(document), *make_routes(OPERATIONS), *mcp.routes()],
        middleware=[_edge(settings)],
        lifespan=lambda app: _lifespan(app, settings, clock, mcp),
    )
    app.router.redirect_slashes = False
    app.router.default = _no_such_route
    return app


def _edge(settings: Settings) -> Middleware:
    streams = frozenset(operation.path for operation in OPERATIONS if operation.takes_lines)
    return Middleware(Edge, resource_metadata_url=resource_metadata_url(settings), unbounded_paths=streams)


def resource_metadata_url(settings: Settings) -> str:
    """Name the document that describes the authorization of the MCP endpoint (RFC 9728)."""
    return f"{settings.public_url}/.well-known/oauth-protected-resource/v1/mcp"


@asynccontextmanager
async def _lifespan(
    app: Starlette, settings: Settings, clock: Callable[[], datetime], mcp: McpEndpoint
) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        embedder = open_embedder(settings.embedder, settings.home)
        services = await _open_services(stack, settings, embedder, clock)
        app.state.services = services
        if settings.metrics_port is not None and settings.processes == 1:
            stack.callback(serve_metrics(services.metrics.registry, settings.host, settings.metrics_port))
        await stack.enter_async_context(mcp.run())
        loops = [asyncio.create_task(loop(services)) for loop in (_write_key_uses, _plan_reembedding)]
        try:
            yield
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await services.key_uses.flush(services.engine.database)


async def _open_services(
    stack: contextlib.AsyncExitStack, settings: Settings, embedder: Embedder, clock: Callable[[], datetime]
) -> Services:
    if settings.database_url is None:
        raise SettingsError("DATABASE_URL is not set.")
    before = settings.previous_embedder
    writer = open_writer(settings.language)
    if writer is not None:
        stack.push_async_callback(writer.close)
    engine = await Engine.open(
        settings.database_url,
        embedder,
        clock=clock,
        pool_size=settings.pool_size,
        previous=None if before is None else open_embedder(before, settings.home),
        writer=writer,
    )
    stack.push_async_callback(engine.close)
    await asyncio.to_thread(engine.warm_up)
    limiter = RateLimiter.open(settings.redis_url)
    stack.push_async_callback(limiter.close)
    return Services(engine, limiter, Metrics(), KeyUses(), clock)


async def _write_key_uses(services: Services) -> None:
    while True:
        await asyncio.sleep(KEY_USE_SECONDS)
        await services.key_uses.flush(services.engine.database)


async def _plan_reembedding(services: Services) -> None:
    """Have the namespaces re-embedded that another embedder has embedded."""
    while True:
        # The next round is soon enough for a database that is away.
        planned = 0
        with contextlib.suppress(UnavailableError):
            planned = await services.engine.jobs.plan_reembedding()
        await asyncio.sleep(0 if planned else PLAN_SECONDS)


async def _no_such_route(scope: Scope, receive: Receive, send: Send) -> Any:
    if scope["type"] == "http":
        raise NotFoundError("There is nothing at this path.")
