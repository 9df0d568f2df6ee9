"""Build the descriptions that a model reads: what a tool is for, what it takes and what it answers.

A client pays for every word here in every conversation, so a definition stays under 250 tokens: one flat object of
arguments, a description only where the name does not say it, no nested schema. What an argument may hold exactly is
checked by the models in `server.wire`, whose refusals name the field and the rule.
"""

from collections.abc import Mapping
from typing import Any

from mcp_types import ToolAnnotations

Schema = dict[str, Any]

TYPES = ["episodic", "semantic", "procedural", "prospective"]


def text(description: str = "") -> Schema:
    """Describe a string."""
    return {"type": "string", "description": description} if description else {"type": "string"}


def number(description: str = "") -> Schema:
    """Describe a number."""
    return text(description) | {"type": "number"}


def integer(description: str = "") -> Schema:
    """Describe a whole number."""
    return text(description) | {"type": "integer"}


def an_object(description: str = "") -> Schema:
    """Describe an object."""
    return text(description) | {"type": "object"}


def list_of(of: str, description: str = "") -> Schema:
    """Describe a list."""
    return text(description) | {"type": "array", "items": {"type": of}}


def root(properties: Mapping[str, Schema], *required: str) -> Schema:
    """Describe one flat object, of whose properties some are required."""
    schema: Schema = {"type": "object", "properties": dict(properties)}
    return schema | {"required": list(required)} if required else schema


FILTERS = "type, tier, tags_any, tags_all, tags_none, category, source, site, context, created_after, created_before"

# What an answer holds for certain; the rest is there when it has a value.
MEMORY_OUT = root({"id": text(), "version": integer()}, "id", "version")
PAGE_OUT = root({"items": list_of("object"), "total": integer()}, "items", "total")

READ = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADD = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
LEARN = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
CHANGE = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
