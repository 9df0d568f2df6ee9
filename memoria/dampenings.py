"""Store for which queries a memory did not help."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoria.database import Connection
from memoria.transfer_records import CarriedDampening
from memoria.vocabulary import SIMILAR_QUERY_COSINE

SIMILAR_DISTANCE = 1.0 - SIMILAR_QUERY_COSINE  # pgvector compares by cosine distance


@dataclass(frozen=True, slots=True)
class Asked:
    """Be a query that a mark is about, its vector in the form that queries take."""

    query: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class Dampening:
    """Be the count of unhelpful marks of a memory for queries of one kind."""

    id: int
    marks: int


async def find_dampening(connection: Connection, org_id: UUID, memory_id: int, asked: Asked) -> Dampening | None:
    """Read what dampens a memory for queries like this one."""
    row = await connection.fetch_row(
        "find_dampening", org_id=org_id, memory_id=memory_id, vector=asked.vector, distance=SIMILAR_DISTANCE
    )
    return None if row is None else Dampening(row["dampening_id"], row["marks"])


async def find_known(connection: Connection, org_id: UUID, memory_ids: Sequence[int]) -> set[tuple[int, str]]:
    """Find for which queries some memories are dampened: memory and query."""
    rows = await connection.fetch("list_known_dampenings", org_id=org_id, ids=memory_ids)
    return {(row["memory_id"], row["query"]) for row in rows}


async def list_whole(
    connection: Connection, org_id: UUID, namespace_id: int, *, after: tuple[int, int], last: int, limit: int
) -> list[tuple[int, CarriedDampening]]:
    """Read a page of a namespace's dampenings with their ids, after one given by its memory and id."""
    rows = await connection.fetch(
        "list_whole_dampenings",
        org_id=org_id,
        namespace_id=namespace_id,
        after_memory=after[0],
        after_id=after[1],
        last=last,
        limit=limit,
    )
    return [
        (row["dampening_id"], CarriedDampening(row["memory_id"], row["query"], row["marks"], row["updated_at"]))
        for row in rows
    ]


async def insert_dampening(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    memory_id: int,
    asked: Asked,
    begun: Dampening,
    now: datetime,
) -> None:
    """Begin to count for queries like this one. Call it last: it locks the row that a namespace's writers share."""
    await connection.execute(
        "insert_dampening",
        org_id=org_id,
        namespace_id=namespace_id,
        memory_id=memory_id,
        dampening_id=begun.id,
        query=asked.query,
        vector=asked.vector,
        marks=begun.marks,
        now=now,
    )
    await connection.execute("note_dampenings", org_id=org_id, namespace_id=namespace_id)


async def set_marks(
    connection: Connection, org_id: UUID, memory_id: int, dampening: Dampening, marks: int, now: datetime
) -> None:
    """Move a count; at 0 it is deleted."""
    which = {"memory_id": memory_id, "dampening_id": dampening.id}
    if marks:
        await connection.execute("set_dampening_marks", org_id=org_id, marks=marks, now=now, **which)
    else:
        await connection.execute("delete_dampening", org_id=org_id, **which)
