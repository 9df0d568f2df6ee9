"""Offer what tidies up a namespace."""

from mcp_types import Tool

from server.mcp_rendering import Json
from server.tools.calls import ToolCall, ToolDefinition, done
from server.tools.schemas import CHANGE, an_object, integer, number, root, text
from server.wire.parsing import parse_model
from server.wire.retention import PruneBody, render_pruned

PRUNE = Tool(
    name="prune_memories",
    title="Prune",
    description="Apply the namespace's retention policy now: move memories between tiers, archive the faded ones, "
    "delete what is due. Values given here replace the policy's this once.",
    input_schema=root(
        {
            "namespace": text(),
            "dry_run": {"type": "boolean", "description": "only count"},
            "half_life_days": an_object("by tier: Buffer, Episodic, Semantic, Core"),
            "prune_threshold": number("archive below this retention"),
            "max_memories": integer("archive the least retained above it"),
            "delete_archived_after_days": integer(),
        }
    ),
    output_schema=root(
        {"migrated": an_object(), "archived": integer(), "deleted": integer(), "remaining": integer()},
        "archived",
        "deleted",
        "remaining",
    ),
    annotations=CHANGE,
)


async def _prune(call: ToolCall) -> Json:
    body = parse_model(PruneBody, call.arguments)
    result = await call.engine.upkeep.prune(
        call.principal, body.to_changes(), namespace=body.namespace or call.namespace, dry_run=body.dry_run
    )
    return render_pruned(done(result)).model_dump()


RETENTION_TOOLS = (ToolDefinition("admin", PRUNE, _prune),)
