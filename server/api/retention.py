"""Answer the calls about what a namespace keeps for how long."""

from server.call import Answer, Call
from server.wire.filters import NoQuery
from server.wire.retention import PolicyBody, PruneBody, render_policy, render_pruned


async def read_policy(call: Call[NoQuery]) -> Answer:
    """Read the retention policy that holds in a namespace."""
    return Answer.of(render_policy(await call.engine.upkeep.policy(call.principal, call.name)))


async def set_policy(call: Call[PolicyBody]) -> Answer:
    """Set a namespace's retention policy, in place of the one that it had."""
    changes = call.input.to_changes()
    return Answer.of(render_policy(await call.engine.upkeep.set_policy(call.principal, changes, namespace=call.name)))


async def prune_memories(call: Call[PruneBody]) -> Answer:
    """Apply a namespace's retention policy now."""
    body = call.input
    namespace = body.namespace or call.namespace
    return await call.write(
        lambda once: call.engine.upkeep.prune(
            call.principal, body.to_changes(), namespace=namespace, dry_run=body.dry_run, once=once
        ),
        lambda result: Answer.of(render_pruned(result)),
    )
