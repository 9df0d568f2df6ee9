"""What a client pays for the definitions of the tools, and that they are true."""

import json
import re

import pytest
from mcp_types import Tool

from server.mcp_server import INSTRUCTIONS
from server.mcp_tools import TOOLS, listed_tools
from server.tools.intentions import CompleteArguments
from server.tools.memories import ListArguments
from server.wire.consolidation import ConsolidateBody
from server.wire.filters import FiltersBody, NamespaceQuery
from server.wire.intentions import CheckBody, IntentionBody
from server.wire.learning import EdgeBody, FeedbackBody
from server.wire.requests import ContextBody, DeleteByContextBody, EncodeBody, LooseBatchBody, PatchBody, RecallBody
from server.wire.retention import PruneBody

TOKEN_LIMIT = 250
# Measured on these definitions with o200k_base and cl100k_base: 4.1 to 4.8 characters a token.
CHARACTERS_PER_TOKEN = 4

MODELS = {
    "encode_memory": set(EncodeBody.model_fields),
    "recall_memories": set(RecallBody.model_fields),
    "build_context": set(ContextBody.model_fields),
    "update_memory": {"id", *PatchBody.model_fields},
    "forget_memory": {"id"},
    "list_memories": set(ListArguments.model_fields),
    "feedback": {"id", *FeedbackBody.model_fields},
    "create_intention": set(IntentionBody.model_fields),
    "check_intentions": set(CheckBody.model_fields),
    "complete_intention": set(CompleteArguments.model_fields),
    "link_memories": set(EdgeBody.model_fields),
    "batch_encode": set(LooseBatchBody.model_fields),
    "delete_by_context": set(DeleteByContextBody.model_fields),
    "consolidate": set(ConsolidateBody.model_fields),
    "prune_memories": set(PruneBody.model_fields) - {"enabled"},
    "health": set(),
    "stats": set(NamespaceQuery.model_fields),
}

all_tools = pytest.mark.parametrize(
    "tool", [definition.tool for definition in TOOLS.values()], ids=lambda tool: tool.name
)


@all_tools
def test_a_whole_definition_costs_under_250_tokens(tool: Tool) -> None:
    definition = json.dumps(tool.model_dump(by_alias=True, mode="json", exclude_none=True), separators=(",", ":"))
    assert len(definition) / CHARACTERS_PER_TOKEN < TOKEN_LIMIT


@all_tools
def test_every_argument_is_one_that_the_model_takes(tool: Tool) -> None:
    properties = tool.input_schema["properties"]
    assert set(properties) <= MODELS[tool.name]
    assert set(tool.input_schema.get("required", [])) <= set(properties)
    described = properties.get("filters", {}).get("description", "")
    assert set(re.findall(r"\w+", described)) <= set(FiltersBody.model_fields)


@all_tools
def test_definitions_are_complete_and_flat(tool: Tool) -> None:
    assert tool.title
    assert tool.description
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is not None
    assert tool.annotations.open_world_hint is False
    assert tool.output_schema is not None
    assert tool.output_schema["type"] == tool.input_schema["type"] == "object"
    for schema in tool.input_schema["properties"].values():
        assert "properties" not in schema
        assert "properties" not in schema.get("items", {})


def test_what_deletes_or_changes_says_so() -> None:
    destructive = {
        name
        for name, definition in TOOLS.items()
        if definition.tool.annotations and definition.tool.annotations.destructive_hint
    }
    assert destructive == {"update_memory", "forget_memory", "delete_by_context", "prune_memories"}


def test_the_order_of_the_list_is_fixed() -> None:
    names = [tool.name for tool in listed_tools(None)]
    assert names == [
        "encode_memory",
        "recall_memories",
        "build_context",
        "update_memory",
        "forget_memory",
        "list_memories",
        "feedback",
    ]
    assert [tool.name for tool in listed_tools("admin,intentions,memory")] == list(TOOLS)


def test_the_instructions_are_under_100_words() -> None:
    assert 50 < len(INSTRUCTIONS.split()) < 100
