"""Store how memories stand: read what decides whether they move, and move them between tiers and out of recall."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from memoria.database import Connection
from memoria.records import Policy
from memoria.tiers import OUT, TIERS, Standing, half_lives
from memoria.vocabulary import EXEMPT_CONFIDENCE, MOVE_REST_DAYS, MemoryState

SENT_EPOCH = np.datetime64("2000-01-01", "us")  # what Postgres counts microseconds from
MICROSECONDS_A_DAY = 86_400e6
STANDING = np.dtype(
    [
        ("memory_id", ">i8"),
        ("tier", ">i2"),
        ("superseded", ">i2"),
        ("exempt", ">i2"),
        ("rested", ">i2"),
        ("version", ">i4"),
        ("access_count", ">i8"),
        ("last_accessed_at", ">i8"),
        ("salience", ">f8"),
        ("utility", ">f8"),
    ]
)
TIER_NAMES = [tier.value for tier in TIERS]


@dataclass(frozen=True, slots=True)
class Standings:
    """Hold some memories of a namespace in the order of their ids, and what decides whether they move."""

    ids: np.ndarray
    versions: np.ndarray
    standing: Standing

    def __len__(self) -> int:
        """Count them."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Move:
    """Move one memory to a tier, or archive it (`OUT`); `version` is the one that was looked at."""

    memory_id: int
    version: int
    place: int


async def read_standings(
    connection: Connection, org_id: UUID, namespace_id: int, now: datetime, *, after: int, limit: int
) -> Standings:
    """Read the memories after an id that a policy may move; parts follow their document and are not among them."""
    packed = await connection.fetch_value(
        "read_standings",
        org_id=org_id,
        namespace_id=namespace_id,
        now=now,
        after=after,
        limit=limit,
        tiers=TIER_NAMES,
        exempt_confidence=EXEMPT_CONFIDENCE,
        rested_since=now - timedelta(days=MOVE_REST_DAYS),
    )
    rows = np.frombuffer(packed or b"", STANDING)
    accessed = SENT_EPOCH + rows["last_accessed_at"].astype(np.int64).astype("timedelta64[us]")
    idle = (np.datetime64(now.astimezone(UTC).replace(tzinfo=None), "us") - accessed).astype(np.float64)
    return Standings(
        ids=rows["memory_id"].astype(np.int64),
        versions=rows["version"].astype(np.int64),
        standing=Standing(
            tiers=rows["tier"].astype(np.int64),
            salience=rows["salience"].astype(np.float64),
            utility=rows["utility"].astype(np.float64),
            accesses=rows["access_count"].astype(np.float64),
            idle_days=np.maximum(idle / MICROSECONDS_A_DAY, 0.0),
            exempt=rows["exempt"].astype(np.bool_),
            rested=rows["rested"].astype(np.bool_),
            superseded=rows["superseded"].astype(np.bool_),
        ),
    )


async def count_retained(connection: Connection, org_id: UUID, namespace_id: int, now: datetime) -> int:
    """Count the memories that a policy counts: neither hidden nor parts nor code."""
    count: int = await connection.fetch_value("count_retained", org_id=org_id, namespace_id=namespace_id, now=now)
    return count


async def list_least_retained(
    connection: Connection, org_id: UUID, namespace_id: int, policy: Policy, now: datetime, limit: int
) -> list[Move]:
    """List the memories of least retention, as moves out of recall; those that are exempt are never among them."""
    rows = await connection.fetch(
        "list_least_retained",
        org_id=org_id,
        namespace_id=namespace_id,
        now=now,
        limit=limit,
        tiers=TIER_NAMES,
        half_life_days=half_lives(policy).tolist(),
        exempt_confidence=EXEMPT_CONFIDENCE,
    )
    return [Move(row["memory_id"], row["version"], OUT) for row in rows]


async def lock_movable(
    connection: Connection, org_id: UUID, moves: Sequence[Move], now: datetime
) -> dict[int, MemoryState]:
    """Lock the memories that may still move and return the state of each.

    One that was edited, hidden or used since it was looked at is absent.
    """
    rows = await connection.fetch(
        "lock_movable", org_id=org_id, ids=[move.memory_id for move in moves], accessed_by=now
    )
    versions = {move.memory_id: move.version for move in moves}
    return {row["memory_id"]: MemoryState(row["state"]) for row in rows if row["version"] == versions[row["memory_id"]]}


async def move_memories(connection: Connection, org_id: UUID, moves: Sequence[Move], now: datetime) -> None:
    """Move locked memories, and the parts of documents with them.

    One statement a destination, each by a plain list of ids: a join would be planned by statistics that do not know a
    tenant that has just arrived.
    """
    family: dict[int, list[int]] = {move.memory_id: [move.memory_id] for move in moves}
    for row in await connection.fetch("list_parts", org_id=org_id, ids=sorted(family)):
        family[row["part_of"]].append(row["memory_id"])
    by_place: dict[int, list[int]] = defaultdict(list)
    for move in moves:
        by_place[move.place] += family[move.memory_id]
    for place, ids in sorted(by_place.items()):
        if place == OUT:
            await connection.execute(
                "set_memory_state", org_id=org_id, ids=sorted(ids), state=MemoryState.ARCHIVED, now=now
            )
        else:
            await connection.execute("move_to_tier", org_id=org_id, ids=sorted(ids), tier=TIER_NAMES[place], now=now)


async def list_outlived_archived(
    connection: Connection, org_id: UUID, namespace_id: int, *, unused_since: datetime, limit: int
) -> list[int]:
    """List archived memories that neither changed nor were recalled since a time; never those that are exempt."""
    rows = await connection.fetch(
        "list_outlived_archived",
        org_id=org_id,
        namespace_id=namespace_id,
        unused_since=unused_since,
        limit=limit,
        exempt_confidence=EXEMPT_CONFIDENCE,
    )
    return [row["memory_id"] for row in rows]


async def count_outlived_archived(
    connection: Connection, org_id: UUID, namespace_id: int, *, unused_since: datetime
) -> int:
    """Count what `list_outlived_archived` lists."""
    count: int = await connection.fetch_value(
        "count_outlived_archived",
        org_id=org_id,
        namespace_id=namespace_id,
        unused_since=unused_since,
        exempt_confidence=EXEMPT_CONFIDENCE,
    )
    return count


async def list_outlived_expired(connection: Connection, org_id: UUID, *, expired_by: datetime, limit: int) -> list[int]:
    """List memories that expired by a time; never pinned ones."""
    rows = await connection.fetch("list_outlived_expired", org_id=org_id, expired_by=expired_by, limit=limit)
    return [row["memory_id"] for row in rows]
