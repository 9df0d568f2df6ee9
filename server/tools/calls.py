"""Define what a tool is, and what its function is called with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp_types import Tool

from memoria.engine import Engine
from memoria.errors import ConflictError
from memoria.records import Principal, Replay
from server.mcp_rendering import Json
from server.wire.fields import Body, Text
from server.wire.parsing import parse_model

Result = TypeVar("Result")


class IdArguments(Body):
    """Name one memory."""

    id: Text


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


def take_id(arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Part the id of a memory from the other arguments. Raises InvalidInputError when it is missing or no text."""
    rest = dict(arguments)
    named = {"id": rest.pop("id")} if "id" in rest else {}
    return parse_model(IdArguments, named).id, rest


def done(result: Result | Replay) -> Result:
    """Take the result of a write; only one with an idempotency key is ever answered from an earlier one."""
    if isinstance(result, Replay):
        raise ConflictError("The call was answered from an earlier one.")
    return result
