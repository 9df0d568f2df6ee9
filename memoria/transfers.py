"""Read and write whole rows of a namespace, as exports and imports carry them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from memoria.database import Connection
from memoria.memories import MemoryRow
from memoria.transfer_records import (
    CarriedEdge,
    CarriedEvent,
    CarriedMember,
    CarriedMemory,
    CarriedPart,
    CarriedRefusal,
    CarriedStanding,
    CarriedSummary,
    TransferCounts,
)
from memoria.vocabulary import Detector, EdgeType, MemoryState, MemoryType, Source, Tier

EdgeKey = tuple[int, int, str]
SUMMARY_TIMES = ("started_at", "made_at", "updated_at", "adopted_at")
STANDING_TIMES = ("created_at", "updated_at", "last_accessed_at", "tier_since")


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """Be one row to insert as it was exported."""

    row: MemoryRow
    standing: CarriedStanding


async def find_last_id(connection: Connection, org_id: UUID, namespace_id: int) -> int:
    """Find the newest memory of a namespace; 0 when it is empty."""
    last: int = await connection.fetch_value("find_last_memory_id", org_id=org_id, namespace_id=namespace_id)
    return last


async def count_transferable(connection: Connection, org_id: UUID, namespace_id: int, last: int) -> TransferCounts:
    """Count memories (documents with their parts once), events and edges."""
    row = await connection.fetch_row("count_transferable", org_id=org_id, namespace_id=namespace_id, last=last)
    return TransferCounts(**dict(row or {}))


async def list_memories(
    connection: Connection, org_id: UUID, namespace_id: int, *, after: int, last: int, limit: int
) -> list[CarriedMemory]:
    """Read a page of memories by id, documents with their parts."""
    rows = await connection.fetch(
        "list_whole_memories", org_id=org_id, namespace_id=namespace_id, after=after, last=last, limit=limit
    )
    documents = [row["memory_id"] for row in rows]
    parts: dict[int, list[CarriedPart]] = defaultdict(list)
    for part in await connection.fetch("list_parts_with_edges", org_id=org_id, documents=documents):
        parts[part["part_of"]].append(_part(part))
    return [_memory(row, tuple(parts[row["memory_id"]])) for row in rows]


def _memory(row: asyncpg.Record, parts: tuple[CarriedPart, ...]) -> CarriedMemory:
    return CarriedMemory(
        id=row["memory_id"],
        content=row["content"],
        type=MemoryType(row["type"]),
        confidence=row["confidence"],
        title=row["title"],
        tags=tuple(row["tags"]),
        category=row["category"],
        source=Source(row["source"]) if row["source"] else None,
        url=row["url"],
        related_urls=tuple(row["related_urls"]),
        project=row["project"],
        context=row["context"],
        metadata=row["metadata"],
        pinned=row["pinned"],
        occurred_at=row["occurred_at"],
        expires_at=row["expires_at"],
        standing=_standing(row),
        parts=parts,
        summary=_summary(row),
    )


def _summary(row: asyncpg.Record) -> CarriedSummary | None:
    if row["detector"] is None:
        return None
    return CarriedSummary(
        detector=Detector(row["detector"]),
        cosine=row["summary_cosine"],
        writer=row["writer"],
        scope=row["scope"],
        started_at=row["started_at"],
        made_at=row["made_at"],
        updated_at=row["summary_updated_at"],
        adopted_at=row["adopted_at"],
    )


def _part(row: asyncpg.Record) -> CarriedPart:
    weight, joined_at = row["part_weight"], row["joined_at"]
    return CarriedPart(
        id=row["memory_id"],
        content=row["content"],
        standing=_standing(row),
        weight=1.0 if weight is None else weight,
        joined_at=joined_at or row["created_at"],
    )


def _standing(row: asyncpg.Record) -> CarriedStanding:
    return CarriedStanding(
        tier=Tier(row["tier"]),
        state=MemoryState(row["state"]),
        salience=row["salience"],
        utility=row["utility"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        last_accessed_at=row["last_accessed_at"],
        tier_since=row["tier_since"],
        access_count=row["access_count"],
        useful_count=row["useful_count"],
        version=row["version"],
    )


async def list_members(
    connection: Connection, org_id: UUID, namespace_id: int, *, after: tuple[int, int], last: int, limit: int
) -> list[CarriedMember]:
    """Read a page of the members of summaries, after one given by its summary and itself."""
    rows = await connection.fetch(
        "list_namespace_members",
        org_id=org_id,
        namespace_id=namespace_id,
        after_summary=after[0],
        after_member=after[1],
        last=last,
        limit=limit,
    )
    return [
        CarriedMember(
            row["summary_id"], row["member_id"], MemoryState(row["state_before"]), row["cosine"], row["joined_at"]
        )
        for row in rows
    ]


async def list_events(
    connection: Connection, org_id: UUID, namespace_id: int, *, after: tuple[int, int], last: int, limit: int
) -> list[CarriedEvent]:
    """Read a page of histories, after an event given by its memory and number."""
    rows = await connection.fetch(
        "list_namespace_events",
        org_id=org_id,
        namespace_id=namespace_id,
        after_memory=after[0],
        after_number=after[1],
        last=last,
        limit=limit,
    )
    return [
        CarriedEvent(
            row["memory_id"],
            row["event_number"],
            row["event"],
            row["version"],
            row["at"],
            row["key_id"],
            row["fields"],
        )
        for row in rows
    ]


async def list_edges(
    connection: Connection, org_id: UUID, namespace_id: int, *, after: EdgeKey, last: int, limit: int
) -> list[CarriedEdge]:
    """Read a page of edges, after one given by its ends and type; those of parts to their documents are left out."""
    rows = await connection.fetch(
        "list_namespace_edges",
        org_id=org_id,
        namespace_id=namespace_id,
        after_source=after[0],
        after_target=after[1],
        after_type=after[2],
        last=last,
        limit=limit,
    )
    return [
        CarriedEdge(
            row["source_id"],
            row["target_id"],
            EdgeType(row["type"]),
            row["weight"],
            row["created_at"],
            row["linked"],
        )
        for row in rows
    ]


async def import_memories(
    connection: Connection, org_id: UUID, namespace_id: int, rows: Sequence[ImportedRow]
) -> set[int]:
    """Store memories as they were exported; returns the ids of those that went in."""
    inserted = await connection.fetch(
        "import_memories", org_id=org_id, namespace_id=namespace_id, memories=[_as_json(row) for row in rows]
    )
    return {row["memory_id"] for row in inserted}


def _as_json(imported: ImportedRow) -> dict[str, Any]:
    row, standing = imported.row, imported.standing
    values = {name: getattr(row.fields, name) for name in row.fields.__slots__}
    values |= {name: getattr(standing, name) for name in standing.__slots__}
    for name in ("content_hash", "duplicate_hash"):
        values[name] = values[name].hex()
    for name in ("occurred_at", "expires_at", *STANDING_TIMES):
        values[name] = _moment(values[name])
    return values | {
        "memory_id": row.memory_id,
        "part_of": row.part_of,
        "terms": row.terms,
        "term_count": row.term_count,
    }


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


async def import_summaries(
    connection: Connection, org_id: UUID, namespace_id: int, summaries: Mapping[int, CarriedSummary]
) -> None:
    """Note of memories, by id, what made them."""
    rows = [
        {
            "summary_id": summary_id,
            "detector": summary.detector.value,
            "cosine": summary.cosine,
            "writer": summary.writer,
            "scope": summary.scope,
            **{name: _moment(getattr(summary, name)) for name in SUMMARY_TIMES},
        }
        for summary_id, summary in summaries.items()
    ]
    await connection.execute("import_summaries", org_id=org_id, namespace_id=namespace_id, summaries=rows)


async def import_members(
    connection: Connection, org_id: UUID, namespace_id: int, members: Sequence[CarriedMember]
) -> set[tuple[int, int]]:
    """Add members to summaries; returns summary and member of those that are new."""
    rows = await connection.fetch(
        "import_members",
        org_id=org_id,
        namespace_id=namespace_id,
        summaries=[member.summary_id for member in members],
        members=[member.member_id for member in members],
        states=[member.state_before.value for member in members],
        cosines=[member.cosine for member in members],
        times=[member.joined_at for member in members],
    )
    return {(row["summary_id"], row["member_id"]) for row in rows}


async def find_known_members(
    connection: Connection, org_id: UUID, members: Sequence[CarriedMember]
) -> set[tuple[int, int]]:
    """Find those of the members that are there."""
    rows = await connection.fetch(
        "list_known_members",
        org_id=org_id,
        summaries=[member.summary_id for member in members],
        members=[member.member_id for member in members],
    )
    return {(row["summary_id"], row["member_id"]) for row in rows}


async def import_events(
    connection: Connection, org_id: UUID, namespace_id: int, events: Sequence[CarriedEvent]
) -> set[tuple[int, int]]:
    """Add events to histories as they were exported; returns memory and number of those that went in."""
    rows = [
        {
            "memory_id": event.memory_id,
            "event_number": event.number,
            "event": event.event,
            "version": event.version,
            "at": _moment(event.at),
            "key_id": None if event.key_id is None else str(event.key_id),
            "fields": dict(event.fields),
        }
        for event in events
    ]
    inserted = await connection.fetch("import_events", org_id=org_id, namespace_id=namespace_id, events=rows)
    return {(row["memory_id"], row["event_number"]) for row in inserted}


async def import_edges(
    connection: Connection, org_id: UUID, namespace_id: int, edges: Sequence[CarriedEdge]
) -> set[EdgeKey]:
    """Join memories as they were when exported; returns ends and type of the edges that are new."""
    inserted = await connection.fetch(
        "import_edges",
        org_id=org_id,
        namespace_id=namespace_id,
        sources=[edge.source_id for edge in edges],
        targets=[edge.target_id for edge in edges],
        types=[edge.type.value for edge in edges],
        weights=[edge.weight for edge in edges],
        times=[edge.created_at for edge in edges],
        linked=[edge.linked for edge in edges],
    )
    return {(row["source_id"], row["target_id"], row["type"]) for row in inserted}


async def find_known_edges(connection: Connection, org_id: UUID, edges: Sequence[CarriedEdge]) -> set[EdgeKey]:
    """Find those of the edges that are there, whatever they weigh."""
    rows = await connection.fetch(
        "list_known_edges",
        org_id=org_id,
        sources=[edge.source_id for edge in edges],
        targets=[edge.target_id for edge in edges],
        types=[edge.type.value for edge in edges],
    )
    return {(row["source_id"], row["target_id"], row["type"]) for row in rows}


async def list_refusals(
    connection: Connection, org_id: UUID, namespace_id: int, *, after: tuple[int, int], last: int, limit: int
) -> list[CarriedRefusal]:
    """Read a page of what must not be merged again, after one given by its group and memory."""
    rows = await connection.fetch(
        "list_namespace_refusals",
        org_id=org_id,
        namespace_id=namespace_id,
        after_refusal=after[0],
        after_memory=after[1],
        last=last,
        limit=limit,
    )
    return [CarriedRefusal(row["refusal_id"], row["memory_id"], Detector(row["detector"]), row["at"]) for row in rows]


async def import_refusals(
    connection: Connection, org_id: UUID, namespace_id: int, refusals: Sequence[CarriedRefusal]
) -> set[tuple[int, int]]:
    """Remember what must not be merged again; returns group and memory of those that are new."""
    inserted = await connection.fetch(
        "import_refusals",
        org_id=org_id,
        namespace_id=namespace_id,
        refusals=[refusal.group for refusal in refusals],
        ids=[refusal.memory_id for refusal in refusals],
        detectors=[refusal.detector.value for refusal in refusals],
        times=[refusal.at for refusal in refusals],
    )
    return {(row["refusal_id"], row["memory_id"]) for row in inserted}
