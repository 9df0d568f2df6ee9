"""Offer what tells about the service itself."""

from mcp_types import Tool

from server.mcp_rendering import Json, render_stats
from server.tools.calls import NoArguments, ToolCall, ToolDefinition
from server.tools.schemas import READ, integer, root, text
from server.wire.filters import NamespaceQuery
from server.wire.parsing import parse_model

HEALTH = Tool(
    name="health",
    title="Health",
    description="Say whether the memory service and its store answer.",
    input_schema=root({}),
    output_schema=root({"status": text(), "version": text()}, "status"),
    annotations=READ,
)

STATS = Tool(
    name="stats",
    title="Statistics",
    description="Count a namespace's memories by tier, type and state, and its edges by type.",
    input_schema=root({"namespace": text()}),
    output_schema=root({"namespace": text(), "memories": integer()}, "namespace", "memories"),
    annotations=READ,
)


async def _health(call: ToolCall) -> Json:
    parse_model(NoArguments, call.arguments)
    await call.engine.ping()
    return {"status": "ok"}


async def _stats(call: ToolCall) -> Json:
    namespace = parse_model(NamespaceQuery, call.arguments).namespace or call.namespace
    return render_stats(await call.engine.stats(call.principal, namespace=namespace))


INTROSPECTION_TOOLS = (
    ToolDefinition("admin", HEALTH, _health),
    ToolDefinition("admin", STATS, _stats),
)
