"""Answer the calls about the service itself and about what a namespace holds."""

from importlib.metadata import version

from memoria.errors import UnavailableError
from server.call import Answer, Call
from server.services import Services
from server.wire.filters import NamespaceQuery, PageQuery
from server.wire.rendering import render_namespace, render_stats
from server.wire.responses import HealthOut, NamespacePageOut, ReadyOut

DISTRIBUTION = "memoria-engine"


async def read_stats(call: Call[NamespaceQuery]) -> Answer:
    """Count what a namespace holds."""
    stats = await call.engine.stats(call.principal, call.input.namespace or call.namespace)
    return Answer.of(render_stats(stats))


async def list_namespaces(call: Call[PageQuery]) -> Answer:
    """List the organization's namespaces."""
    page = await call.engine.list_namespaces(call.principal, limit=call.input.limit, cursor=call.input.cursor)
    items = [render_namespace(namespace) for namespace in page.items]
    return Answer.of(NamespacePageOut(items=items, next_cursor=page.next_cursor, total=page.total))


async def read_health(services: Services) -> Answer:
    """Say that this process answers."""
    return Answer.of(HealthOut(status="ok", version=version(DISTRIBUTION)))


async def read_readiness(services: Services) -> Answer:
    """Say which parts answer; without the database nothing can be served, without Redis everything."""
    try:
        await services.engine.ping()
        database = "ok"
    except UnavailableError:
        database = "away"
    redis = "ok" if await services.limiter.ping() else "away"
    ready = ReadyOut(
        status="ok" if database == "ok" else "unavailable",
        database=database,
        redis=redis,
        limiter="shared" if services.limiter.is_shared else "local",
    )
    return Answer.of(ready, 200 if database == "ok" else 503)
