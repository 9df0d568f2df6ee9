"""Store memories: insert, read, filter, change and delete their rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np

from memoria.database import Connection, encode_half_vector, unpack_ids
from memoria.errors import NotFoundError
from memoria.memory_fields import MemoryFields
from memoria.records import Filters, Memory
from memoria.temporal import Moment, StoredAround
from memoria.vocabulary import INITIAL_UTILITY, SIMILAR_QUERY_COSINE, MemoryState, MemoryType, Source, Tier

EXPIRED = "expired"  # not a state of its own: a memory whose expires_at has passed
SENT_EPOCH = np.datetime64("2000-01-01", "us")  # what Postgres counts microseconds from
CANDIDATE = np.dtype(
    [
        ("position", "i8"),  # in the list of ids, from 1
        ("memory_id", "i8"),
        ("part_of", "i8"),
        ("salience", "f8"),
        ("utility", "f8"),
        ("access_count", "i8"),
        ("useful_count", "i8"),
        ("term_count", "i8"),
        ("occurred_at", "i8"),
        ("created_at", "i8"),
        ("last_accessed_at", "i8"),
        ("contradicted", "i8"),  # by a newer memory
        ("superseded", "i8"),
    ]
)
CANDIDATE_SENT = CANDIDATE.newbyteorder(">")
DAMPENING_SENT = np.dtype([("memory_id", ">i8"), ("marks", ">i8")])
COSINE_SENT = np.dtype([("memory_id", ">i8"), ("cosine", ">f8")])
_TIERS = {tier.value: tier for tier in Tier}
HIDDEN_BY_DEFAULT = (MemoryState.ARCHIVED, MemoryState.QUARANTINED)


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """Be one row to insert."""

    memory_id: int
    part_of: int | None
    fields: MemoryFields
    terms: tuple[int, ...]
    term_count: int


@dataclass(frozen=True, slots=True)
class CandidateRows:
    """Hold what the scores of candidates are made of, a column each; `numbers` has the fields of `CANDIDATE`.

    `part_of` is 0 for none. `contexts` are there only where they have a key that names an author. `unhelpful` holds the
    marks of memories that did not help with queries like this one, by id, `cosines` those of the compared memories.
    """

    numbers: np.ndarray
    tiers: Sequence[Tier]
    sessions: Sequence[str | None]
    urls: Sequence[str | None]
    sites: Sequence[str | None]
    openings: Sequence[str]
    contexts: Sequence[Mapping[str, str]]
    unhelpful: Mapping[int, int] = field(default_factory=dict)
    cosines: Mapping[int, float] = field(default_factory=dict)

    def times(self, name: str) -> np.ndarray:
        """Read a column of times, datetime64[us] in UTC."""
        since: np.ndarray = self.numbers[name].astype("timedelta64[us]")
        return SENT_EPOCH + since


def no_such_memory() -> NotFoundError:
    """Make the one answer for ids that do not exist, are another tenant's, or lie outside the key's namespaces."""
    return NotFoundError("There is no memory with this id.")


def memory_from_row(row: asyncpg.Record) -> Memory:
    """Build a Memory from a row of `memories` joined with its namespace's name."""
    return Memory(
        id=row["memory_id"],
        namespace=row["namespace"],
        content=row["content"],
        type=MemoryType(row["type"]),
        tier=Tier(row["tier"]),
        state=MemoryState(row["state"]),
        salience=row["salience"],
        utility=row["utility"],
        confidence=row["confidence"],
        title=row["title"],
        tags=tuple(row["tags"]),
        category=row["category"],
        source=Source(row["source"]) if row["source"] else None,
        url=row["url"],
        site=row["site"],
        related_urls=tuple(row["related_urls"]),
        project=row["project"],
        context=row["context"],
        metadata=row["metadata"],
        pinned=row["pinned"],
        part_of=row["part_of"],
        occurred_at=row["occurred_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        last_accessed_at=row["last_accessed_at"],
        expires_at=row["expires_at"],
        access_count=row["access_count"],
        version=row["version"],
        content_hash=row["content_hash"],
    )


async def insert_memories(
    connection: Connection, org_id: UUID, namespace_id: int, rows: Sequence[MemoryRow], now: datetime
) -> int:
    """Store rows and return how many went in: fewer than given when an equal memory has arrived meanwhile."""
    inserted = await connection.fetch(
        "insert_memories",
        org_id=org_id,
        namespace_id=namespace_id,
        memories=[_as_json(row) for row in rows],
        utility=INITIAL_UTILITY,
        now=now,
    )
    return len(inserted)


def _as_json(row: MemoryRow) -> dict[str, Any]:
    fields = {name: getattr(row.fields, name) for name in row.fields.__slots__}
    for name in ("content_hash", "duplicate_hash"):
        fields[name] = fields[name].hex()
    for name in ("occurred_at", "expires_at"):
        fields[name] = fields[name].isoformat() if fields[name] else None
    return fields | {
        "memory_id": row.memory_id,
        "part_of": row.part_of,
        "terms": row.terms,
        "term_count": row.term_count,
    }


async def find_duplicates(
    connection: Connection, org_id: UUID, namespace_id: int, hashes: Sequence[bytes]
) -> dict[bytes, int]:
    """Find which duplicate hashes are stored already, and under which ids."""
    rows = await connection.fetch("find_duplicates", org_id=org_id, namespace_id=namespace_id, hashes=hashes)
    return {row["duplicate_hash"]: row["memory_id"] for row in rows}


async def touch_memories(
    connection: Connection, org_id: UUID, expiries: Mapping[int, datetime | None], now: datetime
) -> None:
    """Note that memories were sent again, each by id with the expiry that was asked for now.

    One that had expired lives on until then: otherwise what was sent would be acknowledged and never recalled.
    """
    ids = sorted(expiries)
    await connection.execute(
        "touch_memories", org_id=org_id, ids=ids, expiries=[expiries[memory_id] for memory_id in ids], now=now
    )


async def record_accesses(connection: Connection, org_id: UUID, accesses: Mapping[int, int], now: datetime) -> None:
    """Raise access counts by how often each memory was recalled."""
    ids = sorted(accesses)
    await connection.execute(
        "record_accesses", org_id=org_id, ids=ids, counts=[accesses[memory_id] for memory_id in ids], now=now
    )


async def read_memories(connection: Connection, org_id: UUID, ids: Sequence[int]) -> dict[int, Memory]:
    """Read whole memories; ids that do not exist are absent."""
    rows = await connection.fetch("read_memories", org_id=org_id, ids=ids)
    return {row["memory_id"]: memory_from_row(row) for row in rows}


async def find_homes(connection: Connection, org_id: UUID, ids: Sequence[int]) -> dict[int, tuple[int, str]]:
    """Read the ids and names of the namespaces that memories live in; ids that do not exist are absent."""
    rows = await connection.fetch("list_ids_in_namespaces", org_id=org_id, ids=ids)
    return {row["memory_id"]: (row["namespace_id"], row["namespace"]) for row in rows}


async def lock_memory(connection: Connection, org_id: UUID, memory_id: int) -> asyncpg.Record | None:
    """Read one row and keep others from changing it until the transaction ends."""
    return await connection.fetch_row("lock_memory", org_id=org_id, memory_id=memory_id)


async def list_hidden_ids(connection: Connection, org_id: UUID, namespace_id: int, now: datetime) -> np.ndarray:
    """List the ids (int64) that recall leaves out unless asked: archived, quarantined and expired memories."""
    packed = await connection.fetch_value("list_hidden_ids", org_id=org_id, namespace_id=namespace_id, now=now)
    return unpack_ids(packed)


def visible_states(filters: Filters, include: Sequence[str]) -> list[str]:
    """Say which states pass: those the filter names, else all but the hidden ones that `include` does not name."""
    if filters.states:
        return [state.value for state in filters.states]
    return [state.value for state in MemoryState if state not in HIDDEN_BY_DEFAULT or state.value in include]


async def list_matching_ids(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    filters: Filters,
    include: Sequence[str],
    now: datetime,
    *,
    with_parts: bool = True,
) -> np.ndarray:
    """List the ids (int64, newest first) of the memories that pass the filters, with or without parts."""
    packed = await connection.fetch_value(
        "list_matching_ids",
        org_id=org_id,
        namespace_id=namespace_id,
        now=now,
        states=visible_states(filters, include),
        with_expired=EXPIRED in include,
        with_parts=with_parts,
        types=[memory_type.value for memory_type in filters.types],
        tiers=[tier.value for tier in filters.tiers],
        tags_any=filters.tags_any,
        tags_all=filters.tags_all,
        tags_none=filters.tags_none,
        category=filters.category,
        source=filters.source.value if filters.source else None,
        site=filters.site,
        url=filters.url,
        project=filters.project,
        context=dict(filters.context),
        created_after=filters.created_after,
        created_before=filters.created_before,
        occurred_after=filters.occurred_after,
        occurred_before=filters.occurred_before,
        salience_min=filters.salience_min,
        salience_max=filters.salience_max,
    )
    return unpack_ids(packed)


async def read_candidates(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    ids: Sequence[int],
    author_keys: Sequence[str],
    viewpoint: datetime,
    vector: np.ndarray | None = None,
    *,
    dampened: bool = False,
    compared: Sequence[int] = (),
) -> CandidateRows:
    """Read what the scores of candidates are made of, in the order of `ids`; those that do not exist are absent.

    What happened after `viewpoint` neither contradicts nor supersedes. `vector` is the query's; `dampened` says
    that memories of the namespace may be dampened for queries near it, `compared` names those whose cosines are wanted.
    """
    sent = None if vector is None else encode_half_vector(vector)
    row = await connection.fetch_row(
        "read_candidates",
        org_id=org_id,
        namespace_id=namespace_id,
        ids=ids,
        author_keys=author_keys,
        viewpoint=viewpoint,
        dampened_by=sent if dampened else None,
        dampening_distance=1.0 - SIMILAR_QUERY_COSINE,
        vector=sent,
        compared=compared if vector is not None else (),
    )
    if row is None or row["numbers"] is None:
        return CandidateRows(np.empty(0, CANDIDATE), [], [], [], [], [], [])
    return CandidateRows(
        numbers=np.frombuffer(row["numbers"], CANDIDATE_SENT).astype(CANDIDATE),
        tiers=[_TIERS[tier] for tier in row["tiers"]],
        sessions=row["sessions"],
        urls=row["urls"],
        sites=row["sites"],
        openings=row["openings"],
        contexts=[context or {} for context in row["contexts"]],
        unhelpful=_most_marks(row["dampenings"]),
        cosines=dict(np.frombuffer(row["cosines"] or b"", COSINE_SENT).tolist()),
    )


def _most_marks(packed: bytes | None) -> dict[int, int]:
    """Read packed ids and marks; of several kinds of queries near this one the most marks count."""
    most: dict[int, int] = {}
    for memory_id, marks in np.frombuffer(packed or b"", DAMPENING_SENT).tolist():
        most[memory_id] = max(marks, most.get(memory_id, 0))
    return most


async def list_page(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    *,
    url: str,
    site: str,
    states: Sequence[str],
    limit: int,
) -> dict[int, bool]:
    """List the memories bound to a page (True), then those bound to its site (False), newest first."""
    rows = await connection.fetch(
        "list_page_ids", org_id=org_id, namespace_id=namespace_id, url=url, site=site, states=states, limit=limit
    )
    return {row["memory_id"]: row["same_page"] for row in rows}


async def read_terms(connection: Connection, org_id: UUID, ids: Sequence[int]) -> dict[int, frozenset[int]]:
    """Read the hashed terms under which memories stand in the lexical index."""
    rows = await connection.fetch("read_terms", org_id=org_id, ids=ids)
    return {row["memory_id"]: frozenset(row["terms"]) for row in rows}


async def list_ids_with_terms(
    connection: Connection, org_id: UUID, namespace_id: int, terms: Sequence[int]
) -> np.ndarray:
    """List the ids (int64) of the memories that hold at least one of the hashed terms."""
    packed = await connection.fetch_value("list_ids_with_terms", org_id=org_id, namespace_id=namespace_id, terms=terms)
    return unpack_ids(packed)


async def list_ids_by_salience(
    connection: Connection, org_id: UUID, namespace_id: int, ids: np.ndarray, *, limit: int, offset: int
) -> list[int]:
    """Order ids by salience, then newest first, and return one page of them."""
    rows = await connection.fetch(
        "list_ids_by_salience",
        org_id=org_id,
        namespace_id=namespace_id,
        ids=ids.tolist(),
        limit=limit,
        offset=offset,
    )
    return [row["memory_id"] for row in rows]


async def find_temporal_neighbors(
    connection: Connection, org_id: UUID, namespace_id: int, moments: Sequence[Moment], minutes: int
) -> dict[int, StoredAround]:
    """Find, for each new memory, the stored ones just before and after it in its conversation."""
    rows = await connection.fetch(
        "find_temporal_neighbors",
        org_id=org_id,
        namespace_id=namespace_id,
        new_ids=[moment.memory_id for moment in moments],
        sessions=[moment.session for moment in moments],
        occurred=[moment.occurred_at for moment in moments],
        minutes=minutes,
    )
    around: dict[int, StoredAround] = {}
    for row in rows:
        found = Moment(row["memory_id"], row["session"], row["occurred_at"])
        known = around.get(row["new_id"], StoredAround())
        around[row["new_id"]] = replace(known, before=found) if row["is_earlier"] else replace(known, after=found)
    return around


async def update_memory(connection: Connection, org_id: UUID, row: MemoryRow, *, version: int, now: datetime) -> None:
    """Write a memory's new version. Raises asyncpg.UniqueViolationError when it now equals another memory."""
    fields = {name: getattr(row.fields, name) for name in row.fields.__slots__}
    await connection.execute(
        "update_memory",
        org_id=org_id,
        memory_id=row.memory_id,
        version=version,
        now=now,
        terms=row.terms,
        term_count=row.term_count,
        **fields,
    )


async def set_state(
    connection: Connection, org_id: UUID, ids: Sequence[int], state: MemoryState, now: datetime
) -> None:
    """Move memories to another state."""
    await connection.execute("set_memory_state", org_id=org_id, ids=ids, state=state.value, now=now)


async def lock_archived(connection: Connection, org_id: UUID, ids: Sequence[int]) -> dict[int, tuple[int, MemoryState]]:
    """Lock those that are archived, and return the version of each and the state that it was archived from."""
    rows = await connection.fetch("lock_archived", org_id=org_id, ids=ids)
    return {row["memory_id"]: (row["version"], MemoryState(row["state"])) for row in rows}


async def restore_memories(
    connection: Connection, org_id: UUID, ids: Sequence[int], state: MemoryState, now: datetime
) -> None:
    """Put locked memories, with their parts, into a state, as used now."""
    parts = await connection.fetch("list_parts", org_id=org_id, ids=ids)
    everything = sorted([*ids, *(row["memory_id"] for row in parts)])
    await connection.execute("restore_memories", org_id=org_id, ids=everything, state=state.value, now=now)


async def list_documents(connection: Connection, org_id: UUID, ids: Sequence[int]) -> dict[int, int]:
    """Find the documents of those memories that are parts, by the ids of the parts."""
    rows = await connection.fetch("list_documents", org_id=org_id, ids=ids)
    return {row["memory_id"]: row["part_of"] for row in rows}


async def align_parts(connection: Connection, org_id: UUID, memory_id: int) -> None:
    """Give the parts of a document its tier, salience and state."""
    await connection.execute("align_parts", org_id=org_id, memory_id=memory_id)


async def list_part_ids(connection: Connection, org_id: UUID, memory_id: int) -> list[int]:
    """List the parts of a document, in reading order; none for an ordinary memory."""
    rows = await connection.fetch("list_part_ids", org_id=org_id, memory_id=memory_id)
    return [row["memory_id"] for row in rows]


async def lock_memories(connection: Connection, org_id: UUID, ids: Sequence[int]) -> None:
    """Keep others from changing memories until the transaction ends; rows are locked in order."""
    await connection.execute("lock_memories", org_id=org_id, ids=ids)


async def lock_deletable(connection: Connection, org_id: UUID, ids: Sequence[int]) -> list[asyncpg.Record]:
    """Lock memories and their parts for deletion; the rows hold what their index entries are found by.

    Parts are looked for once the memories themselves are locked: an edit under way may just have replaced them.
    """
    await connection.execute("lock_memories", org_id=org_id, ids=ids)
    return await connection.fetch("lock_deletable", org_id=org_id, ids=ids)


async def delete_memories(connection: Connection, org_id: UUID, ids: Sequence[int]) -> int:
    """Delete rows; edges and events go with them. Returns how many went."""
    return await connection.execute("delete_memories", org_id=org_id, ids=ids)


async def teach_memory(
    connection: Connection, org_id: UUID, memory_id: int, *, utility: float, salience: float, useful: bool
) -> None:
    """Write what feedback taught about a memory. The caller holds its row lock."""
    await connection.execute(
        "teach_memory", org_id=org_id, memory_id=memory_id, utility=utility, salience=salience, useful=int(useful)
    )
