"""Store the history of memories: their earlier versions and their moves between tiers and states."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoria.database import Connection
from memoria.records import HistoryEntry, JsonObject


@dataclass(frozen=True, slots=True)
class NewEvent:
    """Be one event to add to a memory's history; `version` is the memory's after it."""

    memory_id: int
    event: str
    version: int
    fields: JsonObject


async def record_event(
    connection: Connection,
    org_id: UUID,
    memory_id: int,
    *,
    event: str,
    version: int,
    at: datetime,
    key_id: UUID | None,
    fields: JsonObject,
) -> None:
    """Add one event; `version` is the memory's after it. The caller holds the memory's row lock."""
    await connection.execute(
        "insert_memory_event",
        org_id=org_id,
        memory_id=memory_id,
        event=event,
        version=version,
        at=at,
        key_id=key_id,
        fields=fields,
    )


async def record_events(
    connection: Connection, org_id: UUID, events: Sequence[NewEvent], *, at: datetime, key_id: UUID | None
) -> None:
    """Add one event to each of several histories. The caller holds the memories' row locks."""
    last = await connection.fetch("list_last_event_numbers", org_id=org_id, ids=sorted(new.memory_id for new in events))
    numbers = {row["memory_id"]: row["event_number"] for row in last}
    rows = [
        {
            "memory_id": new.memory_id,
            "event_number": numbers.get(new.memory_id, 0) + 1,
            "event": new.event,
            "version": new.version,
            "fields": dict(new.fields),
        }
        for new in events
    ]
    await connection.execute("insert_memory_events", org_id=org_id, events=rows, at=at, key_id=key_id)


async def list_events(connection: Connection, org_id: UUID, memory_id: int) -> list[HistoryEntry]:
    """Read a memory's events, oldest first."""
    rows = await connection.fetch("list_memory_events", org_id=org_id, memory_id=memory_id)
    return [HistoryEntry(row["event"], row["version"], row["at"], row["key_id"], row["fields"]) for row in rows]
