"""Offer what touches many memories at once."""

from mcp_types import Tool

from server.mcp_rendering import Json, render_outcome
from server.tools.calls import ToolCall, ToolDefinition, done
from server.tools.schemas import ADD, CHANGE, integer, list_of, root, text
from server.wire.batches import read_batch
from server.wire.parsing import parse_model
from server.wire.requests import DeleteByContextBody, LooseBatchBody

BATCH_ENCODE = Tool(
    name="batch_encode",
    title="Remember many",
    description="Store up to 500 memories at once: all or none, or item by item with atomic false.",
    input_schema=root(
        {
            "memories": list_of("object", "each as the arguments of encode_memory"),
            "namespace": text("for items that name none"),
            "atomic": {"type": "boolean"},
        },
        "memories",
    ),
    output_schema=root({"items": list_of("object"), "encoded": integer()}, "items", "encoded"),
    annotations=ADD,
)

DELETE_BY_CONTEXT = Tool(
    name="delete_by_context",
    title="Forget by context",
    description="Delete for good every memory of the namespace whose context holds this pair, "
    'for example user_id "john-123".',
    input_schema=root({"key": text(), "value": text(), "namespace": text()}, "key", "value"),
    output_schema=root({"deleted_count": integer()}, "deleted_count"),
    annotations=CHANGE,
)


async def _batch_encode(call: ToolCall) -> Json:
    batch = parse_model(LooseBatchBody, call.arguments)
    items = read_batch(batch, call.namespace)
    memories = tuple(items.memories.values())
    stored = await call.engine.encode_batch(call.principal, memories, atomic=batch.atomic) if memories else ()
    rendered = [render_outcome(outcome) for outcome in items.outcomes(done(stored))]
    return {"items": rendered, "encoded": sum("id" in item for item in rendered)}


async def _delete_by_context(call: ToolCall) -> Json:
    pair = parse_model(DeleteByContextBody, call.arguments)
    namespace = pair.namespace or call.namespace
    count = await call.engine.delete_by_context(call.principal, pair.key, pair.value, namespace=namespace)
    return {"deleted_count": done(count)}


BULK_TOOLS = (
    ToolDefinition("admin", BATCH_ENCODE, _batch_encode),
    ToolDefinition("admin", DELETE_BY_CONTEXT, _delete_by_context),
)
