"""Take archived memories back into recall, by request or because they were sent again."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memoria import memories
from memoria.database import Connection
from memoria.memory_events import NewEvent, record_events
from memoria.succession import take_place_again
from memoria.vocabulary import MemoryState

SENT_AGAIN = "the same content was sent again"


async def restore(
    connection: Connection,
    org_id: UUID,
    ids: Sequence[int],
    now: datetime,
    *,
    key_id: UUID | None,
    why: str | None = None,
) -> int:
    """Restore those of the memories that are archived, with their parts, and return how many there were.

    They go back to the state they were archived from: what was superseded or quarantined stays so, and what they had
    superseded is so again. Restoring counts as use, so that no policy archives them again at once.
    """
    archived = await memories.lock_archived(connection, org_id, ids)
    if not archived:
        return 0
    for state in {state for _, state in archived.values()}:
        chosen = [memory_id for memory_id, (_, before) in archived.items() if before is state]
        await memories.restore_memories(connection, org_id, chosen, state, now)
    fields = {"state_before": MemoryState.ARCHIVED.value} | ({"why": why} if why else {})
    events = [NewEvent(memory_id, "restored", version, fields) for memory_id, (version, _) in archived.items()]
    await record_events(connection, org_id, events, at=now, key_id=key_id)
    await take_place_again(connection, org_id, sorted(archived), now)
    return len(archived)
