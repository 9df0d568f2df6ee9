"""Offer what teaches: feedback, and links between memories."""

from mcp_types import Tool

from memoria.identifiers import format_id, parse_id
from server.mcp_rendering import DIGITS, Json
from server.tools.calls import ToolCall, ToolDefinition, done, take_id
from server.tools.schemas import ADD, LEARN, number, root, text
from server.wire.fields import CLIENT_EDGE_NAMES
from server.wire.learning import EdgeBody, FeedbackBody
from server.wire.parsing import parse_model

FEEDBACK = Tool(
    name="feedback",
    title="Say what helped",
    description="Mark a recalled memory as useful or not, so that the next recalls rank it better. Deletes nothing.",
    input_schema=root(
        {
            "id": text(),
            "useful": {"type": "boolean"},
            "recall_id": text("of the recall that returned it; counts once"),
            "query": text("what was asked, without recall_id"),
        },
        "id",
        "useful",
    ),
    output_schema=root({"id": text(), "counted": {"type": "boolean"}, "utility": number()}, "id", "counted"),
    annotations=LEARN,
)

LINK_MEMORIES = Tool(
    name="link_memories",
    title="Link two memories",
    description="Join two memories of one namespace, source to target (cause to effect). Recall follows the edge.",
    input_schema=root(
        {
            "source_id": text(),
            "target_id": text(),
            "type": text() | {"enum": [name.lower() for name in CLIENT_EDGE_NAMES]},
            "weight": number("0.01-1, default 1"),
        },
        "source_id",
        "target_id",
        "type",
    ),
    output_schema=root({"source_id": text(), "target_id": text(), "type": text(), "weight": number()}, "type"),
    annotations=ADD,
)


async def _feedback(call: ToolCall) -> Json:
    memory_id, rest = take_id(call.arguments)
    given = parse_model(FeedbackBody, rest).to_record(parse_id(memory_id))
    result = done(await call.engine.learning.feedback(call.principal, given))
    return {
        "id": format_id(result.memory_id),
        "counted": result.counted,
        "utility": round(result.utility, DIGITS),
        "salience": round(result.salience, DIGITS),
        "dampening": round(result.dampening, DIGITS),
    }


async def _link_memories(call: ToolCall) -> Json:
    wanted = parse_model(EdgeBody, call.arguments).to_record()
    edge, is_new = done(await call.engine.learning.link(call.principal, wanted))
    return {
        "source_id": format_id(edge.source_id),
        "target_id": format_id(edge.target_id),
        "type": edge.type.lower(),
        "weight": edge.weight,
        "is_new": is_new,
    }


FEEDBACK_TOOLS = (ToolDefinition("memory", FEEDBACK, _feedback),)
LINK_TOOLS = (ToolDefinition("admin", LINK_MEMORIES, _link_memories),)
