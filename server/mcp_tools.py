"""Run the tools: read the arguments with the models of REST, call one engine method, render its answer.

A tool holds no rule of its own. The toolsets only decide what is listed; every tool can be called, whatever was
listed, so that a client that was configured narrowly still understands what it is told about.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp_types import Tool

from memoria.engine import Engine
from memoria.errors import ConflictError, InvalidInputError
from memoria.identifiers import format_id, parse_id
from memoria.records import Principal, Replay
from server import mcp_schemas as schemas
from server.mcp_rendering import (
    Json,
    render_context,
    render_encoded,
    render_memory,
    render_outcome,
    render_page,
    render_recall,
    render_stats,
)
from server.wire.batches import read_batch
from server.wire.fields import Body, Text
from server.wire.filters import FiltersBody, NamespaceQuery, PageQuery
from server.wire.parsing import parse_model
from server.wire.requests import ContextBody, DeleteByContextBody, EncodeBody, LooseBatchBody, PatchBody, RecallBody

Result = TypeVar("Result")

DEFAULT_TOOLSETS = ("memory",)


class IdArguments(Body):
    """Name one memory."""

    id: Text


class ListArguments(PageQuery, NamespaceQuery):
    """Choose a page of memories."""

    filters: FiltersBody = FiltersBody()


class NoArguments(Body):
    """Take nothing."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Be one call: by whom, on which engine, with what arguments; `namespace` is the header's, if there is one."""

    engine: Engine
    principal: Principal
    arguments: Mapping[str, Any]
    namespace: str | None


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """Tie a tool's description to the toolset that lists it and the function that runs it."""

    toolset: str
    tool: Tool
    run: Callable[[ToolCall], Awaitable[Json]]


async def _encode_memory(call: ToolCall) -> Json:
    new = parse_model(EncodeBody, call.arguments).to_record(call.namespace)
    return render_encoded(_done(await call.engine.encode(call.principal, new)))


async def _recall_memories(call: ToolCall) -> Json:
    request = parse_model(RecallBody, call.arguments).to_request(call.namespace)
    return render_recall(await call.engine.recall(call.principal, request))


async def _build_context(call: ToolCall) -> Json:
    request = parse_model(ContextBody, call.arguments).to_request(call.namespace)
    return render_context(await call.engine.build_context(call.principal, request))


async def _update_memory(call: ToolCall) -> Json:
    fields = dict(call.arguments)
    named = {"id": fields.pop("id")} if "id" in fields else {}
    memory_id = parse_id(parse_model(IdArguments, named).id)
    patch = parse_model(PatchBody, fields).to_patch(expected_version=None)
    return render_memory(await call.engine.update(call.principal, memory_id, patch))


async def _forget_memory(call: ToolCall) -> Json:
    memory_id = parse_id(parse_model(IdArguments, call.arguments).id)
    await call.engine.forget(call.principal, memory_id)
    return {"id": format_id(memory_id), "deleted": True}


async def _list_memories(call: ToolCall) -> Json:
    asked = parse_model(ListArguments, call.arguments)
    page = await call.engine.list_memories(
        call.principal,
        namespace=asked.namespace or call.namespace,
        filters=asked.filters.to_filters(),
        limit=asked.limit,
        cursor=asked.cursor,
    )
    return render_page(page)


async def _batch_encode(call: ToolCall) -> Json:
    batch = parse_model(LooseBatchBody, call.arguments)
    items = read_batch(batch, call.namespace)
    memories = tuple(items.memories.values())
    stored = await call.engine.encode_batch(call.principal, memories, atomic=batch.atomic) if memories else ()
    rendered = [render_outcome(outcome) for outcome in items.outcomes(_done(stored))]
    return {"items": rendered, "encoded": sum("id" in item for item in rendered)}


async def _delete_by_context(call: ToolCall) -> Json:
    pair = parse_model(DeleteByContextBody, call.arguments)
    namespace = pair.namespace or call.namespace
    count = await call.engine.delete_by_context(call.principal, pair.key, pair.value, namespace=namespace)
    return {"deleted_count": _done(count)}


async def _health(call: ToolCall) -> Json:
    parse_model(NoArguments, call.arguments)
    await call.engine.ping()
    return {"status": "ok"}


async def _stats(call: ToolCall) -> Json:
    namespace = parse_model(NamespaceQuery, call.arguments).namespace or call.namespace
    return render_stats(await call.engine.stats(call.principal, namespace=namespace))


def _done(result: Result | Replay) -> Result:
    """Take the result of a write; only one with an idempotency key is ever answered from an earlier one."""
    if isinstance(result, Replay):
        raise ConflictError("The call was answered from an earlier one.")
    return result


TOOLS: dict[str, ToolDefinition] = {
    definition.tool.name: definition
    for definition in (
        ToolDefinition("memory", schemas.ENCODE_MEMORY, _encode_memory),
        ToolDefinition("memory", schemas.RECALL_MEMORIES, _recall_memories),
        ToolDefinition("memory", schemas.BUILD_CONTEXT, _build_context),
        ToolDefinition("memory", schemas.UPDATE_MEMORY, _update_memory),
        ToolDefinition("memory", schemas.FORGET_MEMORY, _forget_memory),
        ToolDefinition("memory", schemas.LIST_MEMORIES, _list_memories),
        ToolDefinition("admin", schemas.BATCH_ENCODE, _batch_encode),
        ToolDefinition("admin", schemas.DELETE_BY_CONTEXT, _delete_by_context),
        ToolDefinition("admin", schemas.HEALTH, _health),
        ToolDefinition("admin", schemas.STATS, _stats),
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
