"""Store intentions: write, read, find what an occasion may trigger, and what the clock does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np

from memoria.database import Connection, encode_half_vector
from memoria.errors import NotFoundError
from memoria.intention_records import EventTrigger, Intention, KeywordTrigger, Trigger
from memoria.maintenance import PLACES_A_ROUND
from memoria.transfer_records import CarriedIntention
from memoria.triggers import event_key, pack_trigger, unpack_trigger
from memoria.vocabulary import IntentionStatus

CARRIED_AS_THEY_ARE = (
    "content",
    "priority",
    "next_at",
    "is_told",
    "triggered_count",
    "triggered_at",
    "completed_at",
    "expires_at",
    "created_at",
    "updated_at",
)

Position = tuple[float, int]  # priority and id of the last one of a page


@dataclass(frozen=True, slots=True)
class Occasion:
    """Be what may trigger intentions: words, with their direction (d,), an event, and the time that has come.

    `not_expired_at` is the moment that an intention must outlast.
    """

    now: datetime
    not_expired_at: datetime
    text: str = ""
    vector: np.ndarray | None = None
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Be an intention that an occasion triggers; with `keywords` only if their words are in the text."""

    intention_id: int
    keywords: KeywordTrigger | None


@dataclass(frozen=True, slots=True)
class NewRow:
    """Be an intention to insert; `vector` is the direction (d,) of a Semantic trigger's text."""

    intention_id: int
    namespace_id: int
    content: str
    priority: float
    trigger: Trigger
    next_at: datetime | None
    expires_at: datetime | None
    vector: np.ndarray | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class KnownIntention:
    """Be what tells an intention that is there from one that is not."""

    id: int
    namespace_id: int
    content: str
    trigger: Trigger
    created_at: datetime


def no_such_intention() -> NotFoundError:
    """Make the error for an id under which the principal has no intention."""
    return NotFoundError("There is no intention with this id.")


async def insert_intention(connection: Connection, org_id: UUID, row: NewRow, now: datetime) -> None:
    """Store a new intention."""
    await connection.execute(
        "insert_intention",
        org_id=org_id,
        intention_id=row.intention_id,
        namespace_id=row.namespace_id,
        content=row.content,
        priority=row.priority,
        next_at=row.next_at,
        expires_at=row.expires_at,
        now=now,
        **_trigger_columns(row.trigger, row.vector),
    )


def _trigger_columns(trigger: Trigger, vector: np.ndarray | None) -> dict[str, Any]:
    return {
        "kind": trigger.type.value,
        "trigger": pack_trigger(trigger),
        "event": event_key(trigger.name) if isinstance(trigger, EventTrigger) else None,
        "embedding": None if vector is None else encode_half_vector(vector),
    }


async def lock_namespace(connection: Connection, org_id: UUID, namespace_id: int) -> str | None:
    """Keep others from adding to a namespace until this transaction ends; returns its embedder, None if it is gone."""
    embedder: str | None = await connection.fetch_value(
        "lock_namespace_intentions", org_id=org_id, namespace_id=namespace_id
    )
    return embedder


async def count_open(connection: Connection, org_id: UUID, namespace_id: int, now: datetime) -> int:
    """Count the open intentions of a namespace."""
    count: int = await connection.fetch_value(
        "count_open_intentions", org_id=org_id, namespace_id=namespace_id, now=now
    )
    return count


async def read_intentions(connection: Connection, org_id: UUID, ids: Sequence[int], now: datetime) -> list[Intention]:
    """Read intentions as they stand at a moment, the highest priority first and of equal ones the oldest."""
    rows = await connection.fetch("read_intentions", org_id=org_id, intention_ids=ids, now=now)
    return [_intention(row) for row in rows]


async def lock_intentions(connection: Connection, org_id: UUID, ids: Sequence[int], now: datetime) -> list[Intention]:
    """Read intentions and keep others from changing them until this transaction ends."""
    await connection.fetch("lock_intentions", org_id=org_id, intention_ids=ids)
    return await read_intentions(connection, org_id, ids, now)


async def list_intentions(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    *,
    statuses: Sequence[IntentionStatus],
    before: Position | None,
    limit: int,
    now: datetime,
) -> tuple[list[Intention], int]:
    """Read a page of a namespace's intentions, the highest priority first, and how many there are in all."""
    place = {"org_id": org_id, "namespace_id": namespace_id, "statuses": list(statuses), "now": now}
    priority, intention_id = before or (None, None)
    rows = await connection.fetch(
        "list_intentions", before_priority=priority, before_id=intention_id, limit=limit, **place
    )
    total: int = await connection.fetch_value("count_intentions", **place)
    return [_intention(row) for row in rows], total


async def list_met(
    connection: Connection, org_id: UUID, namespace_id: int, occasion: Occasion, only: Sequence[int] | None = None
) -> list[Found]:
    """Find what an occasion triggers or, of keywords, may trigger: the highest priority first."""
    rows = await connection.fetch(
        "list_met_intentions",
        org_id=org_id,
        namespace_id=namespace_id,
        now=occasion.now,
        not_expired_at=occasion.not_expired_at,
        has_text=bool(occasion.text),
        vector=None if occasion.vector is None else encode_half_vector(occasion.vector),
        event=None if occasion.event is None else event_key(occasion.event),
        intention_ids=only,
    )
    return [Found(row["intention_id"], None if row["is_met"] else _keywords(row["trigger"])) for row in rows]


def _keywords(packed: Mapping[str, Any]) -> KeywordTrigger:
    return KeywordTrigger(tuple(packed["any"]), tuple(packed["all"]))


async def has_semantic(connection: Connection, org_id: UUID, namespace_id: int) -> bool:
    """Say whether a meaning may trigger anything in a namespace: else no text has to be embedded."""
    return bool(await connection.fetch_value("has_semantic_intentions", org_id=org_id, namespace_id=namespace_id))


async def set_intentions(connection: Connection, org_id: UUID, intentions: Sequence[Intention]) -> None:
    """Store what has become of intentions that are locked: their status and what goes with it."""
    await connection.execute(
        "set_intentions",
        org_id=org_id,
        intention_ids=[intention.id for intention in intentions],
        statuses=[intention.status.value for intention in intentions],
        told=[intention.is_told for intention in intentions],
        next_times=[intention.next_at for intention in intentions],
        counts=[intention.triggered_count for intention in intentions],
        triggered_times=[intention.triggered_at for intention in intentions],
        completed_times=[intention.completed_at for intention in intentions],
    )


async def rewrite(
    connection: Connection, org_id: UUID, intention: Intention, trigger: Trigger | None, vector: np.ndarray | None
) -> None:
    """Store what a client has changed; `trigger` is None where it stays, `vector` the direction of its text."""
    await set_intentions(connection, org_id, [intention])
    await connection.execute(
        "rewrite_intention",
        org_id=org_id,
        intention_id=intention.id,
        content=intention.content,
        priority=intention.priority,
        expires_at=intention.expires_at,
        now=intention.updated_at,
    )
    if trigger is not None:
        await connection.execute(
            "rewrite_trigger", org_id=org_id, intention_id=intention.id, **_trigger_columns(trigger, vector)
        )


async def list_known(
    connection: Connection, org_id: UUID, namespace_id: int, *, ids: Sequence[int], times: Sequence[datetime]
) -> list[KnownIntention]:
    """Find what has one of the ids, in any namespace, and what was made in this one at one of the times."""
    rows = await connection.fetch(
        "list_known_intentions", org_id=org_id, namespace_id=namespace_id, intention_ids=ids, times=times
    )
    return [
        KnownIntention(
            row["intention_id"],
            row["namespace_id"],
            row["content"],
            unpack_trigger(row["kind"], row["trigger"]),
            row["created_at"],
        )
        for row in rows
    ]


async def import_intention(
    connection: Connection, org_id: UUID, namespace_id: int, carried: CarriedIntention, vector: np.ndarray | None
) -> bool:
    """Store an intention as it was exported; False when its id is taken."""
    columns = {name: getattr(carried, name) for name in CARRIED_AS_THEY_ARE}
    inserted = await connection.execute(
        "import_intention",
        org_id=org_id,
        intention_id=carried.id,
        namespace_id=namespace_id,
        status=carried.status.value,
        **columns,
        **_trigger_columns(carried.trigger, vector),
    )
    return inserted == 1


async def list_whole(
    connection: Connection, org_id: UUID, namespace_id: int, *, after: int, limit: int
) -> list[CarriedIntention]:
    """Read a page of a namespace's intentions by id."""
    rows = await connection.fetch(
        "list_whole_intentions", org_id=org_id, namespace_id=namespace_id, after=after, limit=limit
    )
    return [
        CarriedIntention(
            id=row["intention_id"],
            trigger=unpack_trigger(row["kind"], row["trigger"]),
            status=IntentionStatus(row["status"]),
            **{name: row[name] for name in CARRIED_AS_THEY_ARE},
        )
        for row in rows
    ]


async def delete_intention(connection: Connection, org_id: UUID, intention_id: int) -> None:
    """Delete an intention."""
    await connection.execute("delete_intention", org_id=org_id, intention_id=intention_id)


# The clock


async def find_due_intentions(connection: Connection, now: datetime) -> list[UUID]:
    """Find organizations with intentions that are due or have expired."""
    rows = await connection.fetch("find_due_intentions", now=now, wanted=PLACES_A_ROUND)
    return [row["org_id"] for row in rows]


async def lock_due(connection: Connection, org_id: UUID, now: datetime, limit: int) -> list[Intention]:
    """Read some due intentions and keep others from changing them; those that others are at are left to them."""
    rows = await connection.fetch("lock_due_intentions", org_id=org_id, now=now, limit=limit)
    return await read_intentions(connection, org_id, [row["intention_id"] for row in rows], now)


async def expire(connection: Connection, org_id: UUID, now: datetime, limit: int) -> int:
    """Mark some intentions that have expired, and return how many."""
    return await connection.execute("expire_intentions", org_id=org_id, now=now, limit=limit)


def _intention(row: asyncpg.Record) -> Intention:
    return Intention(
        id=row["intention_id"],
        namespace_id=row["namespace_id"],
        namespace=row["namespace"],
        content=row["content"],
        trigger=unpack_trigger(row["kind"], row["trigger"]),
        priority=row["priority"],
        status=IntentionStatus(row["status"]),
        next_at=row["next_at"],
        is_told=row["is_told"],
        triggered_count=row["triggered_count"],
        triggered_at=row["triggered_at"],
        completed_at=row["completed_at"],
        expires_at=row["expires_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
