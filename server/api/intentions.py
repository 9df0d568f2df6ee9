"""Answer the calls of prospective memory: what to be reminded of, when, and that it is done."""

from collections.abc import Sequence

from memoria.intention_records import Intention
from server.call import Answer, Call
from server.wire.filters import NoQuery
from server.wire.intentions import (
    CheckBody,
    IntentionBody,
    IntentionPageOut,
    IntentionPatchBody,
    IntentionsQuery,
    TriggeredOut,
    render_intention,
)
from server.wire.responses import DeletedOut


async def create_intention(call: Call[IntentionBody]) -> Answer:
    """Store what to be reminded of, and what triggers it."""
    new = call.input.to_record(call.namespace)
    return await call.write(
        lambda once: call.engine.intentions.create(call.principal, new, once=once),
        lambda intention: Answer.of(render_intention(intention), 201),
    )


async def list_intentions(call: Call[IntentionsQuery]) -> Answer:
    """List the intentions of a namespace, the highest priority first and of equal ones the newest."""
    asked = call.input
    page = await call.engine.intentions.list(
        call.principal,
        statuses=asked.to_statuses(),
        namespace=asked.namespace or call.namespace,
        limit=asked.limit,
        cursor=asked.cursor,
    )
    items = [render_intention(intention) for intention in page.items]
    return Answer.of(IntentionPageOut.model_construct(items=items, next_cursor=page.next_cursor, total=page.total))


async def get_intention(call: Call[NoQuery]) -> Answer:
    """Read an intention."""
    return _show(await call.engine.intentions.get(call.principal, call.id))


async def update_intention(call: Call[IntentionPatchBody]) -> Answer:
    """Change an intention: a new trigger arms an open one again, `Pending` any, and `Cancelled` ends it."""
    return _show(await call.engine.intentions.update(call.principal, call.id, call.input.to_patch()))


async def delete_intention(call: Call[NoQuery]) -> Answer:
    """Delete an intention for good."""
    await call.engine.intentions.delete(call.principal, call.id)
    return Answer.of(DeletedOut(deleted=True))


async def check_intentions(call: Call[CheckBody]) -> Answer:
    """Trigger what a text, an event or the time meets; each intention is told of once."""
    asked = call.input.to_record(call.namespace)
    return await call.write(
        lambda once: call.engine.intentions.check(call.principal, asked, once=once), _show_triggered
    )


async def complete_intention(call: Call[NoQuery]) -> Answer:
    """Say that it is done: it ends, or waits for its next occurrence."""
    return await call.write(lambda once: call.engine.intentions.complete(call.principal, call.id, once=once), _show)


def _show(intention: Intention) -> Answer:
    return Answer.of(render_intention(intention))


def _show_triggered(triggered: Sequence[Intention]) -> Answer:
    return Answer.of(TriggeredOut.model_construct(triggered=[render_intention(intention) for intention in triggered]))
