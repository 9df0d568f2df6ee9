"""List the tools by toolset.

A tool holds no rule of its own: it reads its arguments with the models of REST, calls one engine method and renders the
answer. The toolsets only decide what is listed; every tool can be called, whatever was listed, so that a client that
was configured narrowly still understands what it is told about.
"""

from mcp_types import Tool

from memoria.errors import InvalidInputError
from server.tools.bulk import BULK_TOOLS
from server.tools.calls import ToolDefinition
from server.tools.consolidation import CONSOLIDATION_TOOLS
from server.tools.intentions import INTENTION_TOOLS
from server.tools.introspection import INTROSPECTION_TOOLS
from server.tools.learning import FEEDBACK_TOOLS, LINK_TOOLS
from server.tools.memories import MEMORY_TOOLS
from server.tools.retention import RETENTION_TOOLS

DEFAULT_TOOLSETS = ("memory",)
TOOLS: dict[str, ToolDefinition] = {
    definition.tool.name: definition
    for definition in (
        *MEMORY_TOOLS,
        *FEEDBACK_TOOLS,
        *INTENTION_TOOLS,
        *BULK_TOOLS,
        *LINK_TOOLS,
        *CONSOLIDATION_TOOLS,
        *RETENTION_TOOLS,
        *INTROSPECTION_TOOLS,
    )
}
TOOLSETS = tuple(dict.fromkeys(definition.toolset for definition in TOOLS.values()))


def listed_tools(chosen: str | None) -> list[Tool]:
    """Return the tools of the toolsets named in `?tools=`, in a stable order; `memory` without it.

    Raises InvalidInputError for a toolset that does not exist.
    """
    toolsets = read_toolsets(chosen)
    return [definition.tool for definition in TOOLS.values() if definition.toolset in toolsets]


def read_toolsets(chosen: str | None) -> tuple[str, ...]:
    """Read `?tools=`: names with commas between them. Raises InvalidInputError for one that does not exist."""
    if chosen is None:
        return DEFAULT_TOOLSETS
    names = tuple(name.strip() for name in chosen.split(","))
    unknown = [name for name in names if name not in TOOLSETS]
    if unknown:
        message = f"There is no toolset named {unknown[0][:50]!r}; there are {', '.join(TOOLSETS)}."
        raise InvalidInputError(message, field="tools", allowed=list(TOOLSETS))
    return names
