"""Offer memories as resources, for clients that let a person attach them: the recent ones, and each by its id."""

from typing import Any

from mcp_types import Resource, ResourceTemplate

from memoria.engine import Engine
from memoria.identifiers import parse_id
from memoria.records import Principal
from server.mcp_rendering import render_memory, render_page

SCHEME = "memory://"
RECENT_LIMIT = 20
JSON = "application/json"

RECENT = Resource(
    uri=f"{SCHEME}recent",
    name="recent",
    title="Recent memories",
    description=f"The {RECENT_LIMIT} newest memories of the namespace.",
    mime_type=JSON,
)

ONE_MEMORY = ResourceTemplate(
    uri_template=f"{SCHEME}{{id}}",
    name="memory",
    title="One memory",
    description="A memory by its id, as recall_memories and list_memories give it.",
    mime_type=JSON,
)


async def read_resource(engine: Engine, principal: Principal, namespace: str | None, uri: str) -> dict[str, Any]:
    """Read what a URI names. Raises NotFoundError for what this tenant does not have."""
    if uri == RECENT.uri:
        return render_page(await engine.list_memories(principal, namespace=namespace, limit=RECENT_LIMIT))
    return render_memory(await engine.get(principal, parse_id(uri.removeprefix(SCHEME))))
