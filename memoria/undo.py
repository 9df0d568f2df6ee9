"""Undo a consolidation: the summary goes, its members are what they were, and the same is not made again."""

from datetime import datetime

from memoria import consolidations
from memoria.consolidation_records import Unconsolidated
from memoria.database import Connection
from memoria.errors import ConflictError
from memoria.forget import delete_released
from memoria.memories import lock_memories
from memoria.records import Principal
from memoria.release import release_summaries
from memoria.revise import lock_visible


async def unconsolidate(connection: Connection, principal: Principal, memory_id: int, now: datetime) -> Unconsolidated:
    """Undo one summary or episode. Raises NotFoundError, and ConflictError for a memory that somebody wrote."""
    await lock_visible(connection, principal, memory_id)
    made = await consolidations.read_provenances(connection, principal.org_id, [memory_id])
    if memory_id not in made:
        raise ConflictError("This memory was not made by consolidation.", field="id")
    members = tuple(member.memory_id for member in made[memory_id].members)
    await lock_memories(connection, principal.org_id, sorted(members))
    restored = await release_summaries(connection, principal.org_id, [memory_id], now)
    await delete_released(connection, principal.org_id, [memory_id])
    return Unconsolidated(memory_id, members, tuple(restored))
