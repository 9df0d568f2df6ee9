"""Forget: delete memories for good, with their postings, vectors, edges, history and parts."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import asyncpg

from memoria import embeddings, memories, namespaces, postings
from memoria.database import Connection
from memoria.errors import ConflictError
from memoria.memories import no_such_memory
from memoria.namespaces import may_use
from memoria.records import Filters, ForgetResult, Principal
from memoria.release import release_members, release_summaries
from memoria.succession import give_back
from memoria.validation import INCLUDABLE

SLICE_MEMORIES = 5_000  # deleted by one statement: each stays well within its time limit


async def forget_visible(connection: Connection, principal: Principal, ids: Sequence[int], now: datetime) -> list[int]:
    """Delete those of the given memories that the principal may touch, and return their ids.

    Parts go with their document. Raises ConflictError for a part whose document is not among the ids: the
    document would still hold its text.
    """
    homes = await memories.find_homes(connection, principal.org_id, ids)
    allowed = sorted(memory_id for memory_id, (_, name) in homes.items() if may_use(principal, name))
    found = await memories.read_memories(connection, principal.org_id, allowed)
    for memory in found.values():
        if memory.part_of is not None and memory.part_of not in found:
            raise ConflictError("This is a part of a document: delete the document instead.", field="id")
    deleted = await delete_everywhere(connection, principal.org_id, allowed, now)
    return [memory_id for memory_id in allowed if memory_id in deleted]


async def forget_one(connection: Connection, principal: Principal, memory_id: int, now: datetime) -> None:
    """Delete one memory. Raises NotFoundError."""
    if not await forget_visible(connection, principal, [memory_id], now):
        raise no_such_memory()


async def forget_matching(
    connection: Connection, principal: Principal, namespace_name: str, filters: Filters, *, dry_run: bool, now: datetime
) -> ForgetResult:
    """Delete every memory of a namespace that passes the filters, also hidden ones; a dry run only names them."""
    namespace = await namespaces.find_namespace(connection, principal.org_id, namespace_name)
    if namespace is None:
        return ForgetResult((), dry_run)
    found = await memories.list_matching_ids(
        connection, principal.org_id, namespace.id, filters, INCLUDABLE, now, with_parts=False
    )
    ids = tuple(found.tolist())
    if dry_run:
        return ForgetResult(ids, dry_run)
    deleted = await delete_everywhere(connection, principal.org_id, ids, now)
    return ForgetResult(tuple(memory_id for memory_id in ids if memory_id in deleted), dry_run)


async def delete_everywhere(connection: Connection, org_id: UUID, ids: Sequence[int], now: datetime) -> set[int]:
    """Delete memories and their parts, everywhere, and return the ids of all that went.

    A summary that quotes one of them goes too, and its other members are active again; so are the members of a summary
    that is deleted itself, and what a deleted memory had superseded. Rows are locked in order, so that two deletions
    never deadlock; what the other deleted meanwhile is not returned.
    """
    await memories.lock_memories(connection, org_id, ids)
    await give_back(connection, org_id, ids, now, why="the newer memory was deleted")
    quoting = await release_members(connection, org_id, ids, now)
    await release_summaries(connection, org_id, ids, now)
    return await delete_released(connection, org_id, [*ids, *quoting])


async def delete_released(connection: Connection, org_id: UUID, ids: Sequence[int]) -> set[int]:
    """Delete memories that no summary quotes, and their parts; returns the ids of all that went."""
    by_namespace: dict[int, list[asyncpg.Record]] = defaultdict(list)
    for row in await memories.lock_deletable(connection, org_id, ids):
        by_namespace[row["namespace_id"]].append(row)
    for namespace_id, rows in sorted(by_namespace.items()):
        removed = 0
        for first in range(0, len(rows), SLICE_MEMORIES):
            removed += await _delete_slice(connection, org_id, namespace_id, rows[first : first + SLICE_MEMORIES])
        await namespaces.grow_namespace(
            connection,
            org_id,
            namespace_id,
            memories=-len(rows),
            terms=-sum(row["term_count"] for row in rows),
            embeddings=-removed,
        )
    return {row["memory_id"] for rows in by_namespace.values() for row in rows}


async def _delete_slice(connection: Connection, org_id: UUID, namespace_id: int, rows: list[asyncpg.Record]) -> int:
    """Delete some locked memories of one namespace and return how many vectors they had."""
    doomed = [row["memory_id"] for row in rows]
    terms = sorted({term for row in rows for term in row["terms"]})
    await postings.delete_postings(connection, org_id, namespace_id, terms, doomed)
    removed = await embeddings.delete_embeddings(connection, org_id, namespace_id, doomed)
    await memories.delete_memories(connection, org_id, doomed)
    return removed
