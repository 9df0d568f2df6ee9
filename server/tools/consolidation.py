"""Offer consolidation."""

from mcp_types import Tool

from server.mcp_rendering import Json
from server.tools.calls import ToolCall, ToolDefinition, done
from server.tools.schemas import ADD, an_object, number, root, text
from server.wire.consolidation import ConsolidateBody, render_consolidation
from server.wire.parsing import parse_model

CONSOLIDATE = Tool(
    name="consolidate",
    title="Consolidate",
    description="Sum up what repeats in the namespace, join what happened or is recalled together, and mark what has "
    "changed. Also happens by itself once a day; every summary can be undone.",
    input_schema=root(
        {
            "namespace": text(),
            "window_hours": number("how far back, default 24"),
            "wait": {"type": "boolean", "description": "at once, if there is little to do; else a job does it"},
        }
    ),
    output_schema=root({"job_id": text(), "repetition": an_object(), "burst": an_object()}),
    annotations=ADD,
)


async def _consolidate(call: ToolCall) -> Json:
    body = parse_model(ConsolidateBody, call.arguments)
    answer = await call.engine.consolidation.consolidate(
        call.principal, namespace=body.namespace or call.namespace, window_hours=body.window_hours, wait=body.wait
    )
    return render_consolidation(done(answer)).model_dump(exclude_none=True)


CONSOLIDATION_TOOLS = (ToolDefinition("admin", CONSOLIDATE, _consolidate),)
